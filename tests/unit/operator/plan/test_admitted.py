"""What a cluster gives the pods of a run besides what was asked for: what counts as other, and whose pods tell it."""

from dataclasses import replace

import pytest
from plans import plan, quickstart
from runs import RUN_ID, pod
from sshload_operator.api.status.installed import InstalledResources
from sshload_operator.planning.admitted import as_admitted
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Amount, PodFacts, Role

ASKED = {"requests": {"cpu": "80m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}}
RUN = replace(plan(quickstart(target={"managed": {"resources": ASKED}})), installed=InstalledResources())


def target(*amounts: tuple[str, str, str], run_id: str = RUN_ID) -> PodFacts:
    return pod(Role.TARGET, run_id=run_id, resources=tuple(Amount(*amount) for amount in amounts))


def set_besides(*pods: PodFacts, run: Plan = RUN) -> str | None:
    installed = as_admitted(run, pods).installed
    assert installed is not None
    return None if installed.target is None else installed.target.set_by_cluster


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (("limits", "cpu", "1000m"), None),
        (("limits", "cpu", "500m"), "limits cpu 500m"),
        (("limits", "memory", "65536Ki"), None),
        (("limits", "memory", "128Mi"), "limits memory 128Mi"),
        (("requests", "memory", "65536Ki"), None),
        (("requests", "memory", "128Mi"), "requests memory 128Mi"),
        (("requests", "cpu", "79m"), None),
        (("requests", "ephemeral-storage", "1Gi"), "requests ephemeral-storage 1Gi"),
        (("limits", "memory", "a lot"), "limits memory a lot"),
    ],
)
def test_what_a_pod_has_otherwise_is_set_by_the_cluster_but_for_a_cpu_request_that_the_kubelet_rounds(
    amount: tuple[str, str, str], told: str | None
) -> None:
    assert set_besides(target(amount)) == told


def test_only_pods_of_this_run_and_role_that_tell_their_resources_count() -> None:
    other = ("limits", "cpu", "500m")
    assert set_besides(target(other, run_id="another")) is None
    assert set_besides(replace(target(other), role=Role.WORKER)) is None
    assert set_besides(target(), target(other)) == "limits cpu 500m"


def test_a_run_whose_resources_are_not_remembered_is_left_as_it_is() -> None:
    unknown = replace(RUN, installed=None)
    assert as_admitted(unknown, (target(("limits", "cpu", "500m")),)) == unknown
