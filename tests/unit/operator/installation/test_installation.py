"""read_installation: what the chart writes for the operator."""

import pytest
from sshload_operator.api.errors import SpecError
from sshload_operator.planning.installation import read_installation
from sshload_operator.planning.limits import Limits
from sshload_operator.planning.plan import AllowedTarget, Installation

WHOLE = """
workerImage: localhost/sshload-worker:1
targetImage: localhost/sshload-target:1
imagePullPolicy: Never
imagePullSecrets: [registry]
workerResources: {"requests": {"cpu": "1"}, "limits": {"cpu": 2}}
externalTargets:
  - host: "*.lab.example.com"
    ports: [22, 2222]
  - host: 192.0.2.0/24
"""
SMALL = "workerImage: w\ntargetImage: t\n"


def test_an_installation() -> None:
    assert read_installation(WHOLE) == Installation(
        worker_image="localhost/sshload-worker:1",
        target_image="localhost/sshload-target:1",
        image_pull_policy="Never",
        image_pull_secrets=("registry",),
        worker_resources={"requests": {"cpu": "1"}, "limits": {"cpu": 2}},
        allowed_targets=(AllowedTarget("*.lab.example.com", (22, 2222)), AllowedTarget("192.0.2.0/24", ())),
        one_address=False,
    )


def test_by_default_no_external_target_is_allowed() -> None:
    assert read_installation(SMALL).allowed_targets == ()
    assert read_installation(SMALL).image_pull_policy == "IfNotPresent"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("workerImage: w", "targetImage: is required", id="no-image"),
        pytest.param(SMALL + "extra: 1", "extra: unknown field", id="unknown-field"),
        pytest.param(
            SMALL + "externalTargets: [{host: 192.0.2.1/24}]", r"externalTargets\[0\].host: .*host bits", id="cidr"
        ),
        pytest.param(
            SMALL + "externalTargets: [{host: lab, ports: [0]}]", r"externalTargets\[0\].ports\[0\]", id="port"
        ),
        pytest.param(SMALL + "externalTargets: [lab]", r"externalTargets\[0\]: must be an object", id="no-object"),
        pytest.param(SMALL + "workerResources: {limits: {cpu: many}}", "workerResources.limits", id="resources"),
        pytest.param("[", "is not YAML", id="no-yaml"),
        pytest.param("", "must be an object, not null", id="nothing"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        read_installation(text)


def test_limits_that_are_null_or_absent_are_none() -> None:
    assert read_installation(SMALL).limits == Limits()
    text = "limits: {perTest: {workerPods: null, rate: 50, duration: 1h}, concurrentTests: 3}\npaused: true\n"
    installation = read_installation(SMALL + text)
    assert installation.limits == Limits(rate=50, duration_s=3600.0, tests=3)
    assert installation.paused


@pytest.mark.parametrize("limits", ["{perTest: {rate: 0}}", "{perTest: {pods: 1}}", "{concurrentTests: many}"])
def test_a_limit_that_is_none_is_refused_by_its_name(limits: str) -> None:
    with pytest.raises(SpecError, match="limits"):
        read_installation(f"{SMALL}limits: {limits}\n")
