"""make_plan: one run with all names and numbers settled."""

from dataclasses import replace
from typing import Any

import pytest
from plans import INSTALLATION
from specs.external import EXTERNAL_BURST, EXTERNAL_USERS
from specs.managed import MANAGED_ARRIVALS
from specs.relative import RELATIVE
from specs.search import SEARCH_ARRIVALS
from specs.small import SMALL
from specs.spec import Spec, changed
from specs.tables import WHOLE
from sshload_operator.api.load_test import parse
from sshload_operator.api.status.installed import InstalledResources, PodResources
from sshload_operator.api.status.load_test import TestHead
from sshload_operator.planning.plan import (
    TestIdentity,
    applier,
    as_begun,
    is_of_generation,
    is_same_spec,
    make_plan,
    run_id,
    spec_hash,
)
from sshload_operator.state import Role

TEST = TestIdentity(namespace="default", name="quickstart", uid="6b1f5c1e-0000-4000-8000-000000000000", generation=3)


def test_a_plan_says_what_it_was_made_from() -> None:
    spec = parse(SMALL)
    plan = make_plan(TEST, spec, INSTALLATION, run=2)
    assert (plan.test, plan.run, plan.spec, plan.installation) == (TEST, 2, spec, INSTALLATION)
    assert plan.run_id == run_id(TEST.uid, 2)
    assert plan.spec_hash == spec_hash(spec)


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        pytest.param(SMALL, 5 + 30, id="arrivals"),
        pytest.param(EXTERNAL_USERS, 5 + 30 + 10, id="users"),
        pytest.param(EXTERNAL_BURST, 10 * 30, id="bursts"),
    ],
)
def test_a_load_lasts_for_its_warm_up_and_its_stages(spec: Spec, seconds: float) -> None:
    assert make_plan(TEST, parse(spec), INSTALLATION, run=1).load_s == seconds


def test_a_pod_has_the_image_that_the_spec_states_or_else_the_installations() -> None:
    own = changed(changed(SMALL, "workers.image", "own/worker:1"), "target.managed.image", "own/target:1")
    stated, left = (make_plan(TEST, parse(spec), INSTALLATION, run=1) for spec in (own, SMALL))
    assert {role: stated.image(role) for role in (Role.TARGET, Role.MASTER, Role.WORKER)} == {
        Role.TARGET: "own/target:1",
        Role.MASTER: "own/worker:1",
        Role.WORKER: "own/worker:1",
    }
    assert {role: left.image(role) for role in Role} == {role: INSTALLATION.image(role) for role in Role}
    external = make_plan(TEST, parse(EXTERNAL_USERS), INSTALLATION, run=1)
    assert external.image(Role.TARGET) == INSTALLATION.target_image


@pytest.mark.parametrize(
    ("workers", "default", "each"),
    [
        pytest.param({"processesPerPod": 3, "resources": {"limits": {"cpu": "2"}}}, {}, 3, id="stated"),
        pytest.param({"resources": {"limits": {"cpu": "2900m"}, "requests": {"cpu": "1"}}}, {}, 2, id="limit"),
        pytest.param({"resources": {"requests": {"cpu": "2"}}}, {"limits": {"cpu": "9"}}, 2, id="request"),
        pytest.param({"resources": {"limits": {"cpu": "100m"}}}, {}, 1, id="less than one"),
        pytest.param({}, {"requests": {"cpu": "4"}}, 4, id="installation"),
        pytest.param({}, {"requests": {"memory": "1Gi"}}, 1, id="no CPU"),
    ],
)
def test_a_worker_pod_runs_one_process_for_each_whole_cpu_of_its_limit_or_its_request(
    workers: Spec, default: Spec, each: int
) -> None:
    run = {**SMALL, "workers": {"replicas": 5, **workers}}
    plan = make_plan(TEST, parse(run), replace(INSTALLATION, worker_resources=default), run=1)
    assert (plan.processes_per_pod, plan.workers) == (each, 5 * each)


def test_a_plan_names_the_resources_that_the_spec_leaves_to_the_installation() -> None:
    given = replace(
        INSTALLATION,
        worker_resources={"requests": {"memory": "1Gi", "cpu": "1"}, "limits": {}},
        run_pods=replace(INSTALLATION.run_pods, master_resources={}),
    )
    own = changed(SMALL, "target.managed.resources", {"limits": {"cpu": "1"}})
    plan = make_plan(TEST, parse(own), given, run=1)
    found = InstalledResources(
        worker=PodResources(given="requests cpu 1, memory 1Gi; limits none"), master=PodResources(given="none")
    )
    assert plan.installed == found
    assert make_plan(TEST, parse(own), replace(given, one_address=True), run=1).installed is None
    assert as_begun(plan, TestHead(installed=None)).installed is None
    assert as_begun(replace(plan, installed=None), TestHead(installed=found)).installed == found


@pytest.mark.parametrize(
    ("spec_hash", "observed", "generation", "is_same"),
    [
        ("a", 1, 2, True),
        ("of another release", 2, 2, True),
        ("of another spec", 1, 2, False),
        ("", 2, 2, False),
        ("of another spec", 0, None, False),
        ("a", 0, None, True),
    ],
)
def test_a_status_is_of_a_spec_by_its_hash_or_by_the_generation_that_it_was_written_for(
    spec_hash: str, observed: int, generation: int | None, *, is_same: bool
) -> None:
    status = TestHead(spec_hash=spec_hash, observed_generation=observed)
    assert is_same_spec("a", generation, status) is is_same
    assert is_of_generation(generation, status) is (observed == generation)


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({}, ""),
        ({"annotations": None, "labels": None}, ""),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "a"}}, "Argo CD"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "a", "argocd.argoproj.io/hook": "Sync"}}, ""),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "a"}}, "Flux"),
        ({"labels": {"argocd.argoproj.io/tracking-id": "a"}}, ""),
    ],
)
def test_who_applies_a_test_again_is_known_by_what_he_marks_it_with(metadata: dict[str, Any], name: str) -> None:
    assert applier(metadata) == name


def test_a_run_id_is_ten_hexadecimal_digits() -> None:
    assert len(run_id("uid", 1)) == 10
    assert int(run_id("uid", 1), base=16) >= 0


def test_run_ids_differ_by_object_and_by_run() -> None:
    assert len({run_id(uid, run) for uid in ("a", "b", "a1", "b1") for run in range(1, 50)}) == 4 * 49


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("small", "39d582691af92e94"),
        ("managed-arrivals", "78d26c49b99b0acc"),
        ("external-users", "3188d0a26476ede8"),
        ("external-burst", "6965447770c7502f"),
    ],
)
def test_the_hash_of_a_spec_never_changes_between_versions(name: str, known: str) -> None:
    """An upgrade starts no load in any case, but a baseline would no longer be known as the same measurement."""
    assert spec_hash(parse(WHOLE[name])) == known


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("abort", True),
        ("ttlAfterFinished", {"passed": "1s"}),
        ("warmUp", "5s"),
        ("warmUp", "5000ms"),
        ("workers", {"replicas": 1}),
        ("client", {"timeouts": {"step": "60s"}}),
        ("target.managed.sshd", {"perSourcePenalties": "no"}),
        ("thresholds", []),
        ("triggers", {}),
        ("loginBeforeLoad", True),
    ],
)
def test_the_hash_does_not_cover_what_is_not_measured_nor_how_it_is_written(path: str, value: Any) -> None:
    assert spec_hash(parse(changed(SMALL, path, value))) == spec_hash(parse(SMALL))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("warmUp", "6s"),
        ("workers.replicas", 2),
        ("workers.affinity", {"podAffinity": {}}),
        ("workers.tolerations", [{}]),
        ("target.managed.image", "other"),
        ("target.managed.sshd.maxStartups", "1:1:1"),
        ("target.managed.fixtures.spare", "1Gi"),
        ("client.auth", "certificate"),
        ("workers.processesPerPod", 2),
        ("target.managed.sshd.useDNS", False),
        ("target.managed.sshd.extraConfig", {"Banner": "none"}),
        ("scenario.steps.0.exec.command", "true"),
        ("scenario.steps", []),
        ("scenario.steps.0.exec.expectExitCode", 1),
        ("load.arrivals.stages.0.rate", 21),
        ("load.arrivals.process", "poisson"),
        ("load.arrivals.seed", 0),
        ("client.quickAck", False),
        ("client.networkDelay", "10ms"),
        ("loginBeforeLoad", False),
        ("deadline", "31m"),
        ("thresholds", [{"errorRate": {"below": "1%"}}]),
        ("triggers", {"server": "openssh-server 1:10.2p1"}),
    ],
)
def test_the_hash_covers_what_is_measured(path: str, value: Any) -> None:
    assert spec_hash(parse(changed(SMALL, path, value))) != spec_hash(parse(SMALL))


@pytest.mark.parametrize(
    ("steps", "others"),
    [
        pytest.param([{"sftpRead": {"path": "x"}}], [{"scpRead": {"path": "x"}}], id="sftp and scp"),
        pytest.param([{"sftpStat": {"path": "x"}}], [{"sftpRemove": {"path": "x"}}], id="stat and remove"),
    ],
)
def test_steps_of_different_kinds_have_different_hashes(steps: list[Spec], others: list[Spec]) -> None:
    one, other = changed(SMALL, "scenario.steps", steps), changed(SMALL, "scenario.steps", others)
    assert spec_hash(parse(one)) != spec_hash(parse(other))


def test_the_hash_covers_the_name_and_the_key_of_a_locustfile() -> None:
    refs = [{"configMapRef": {"name": name}, "key": key} for name in ("a", "b") for key in ("x.py", "y.py")]
    specs = [{**SMALL, "scenario": {"locustfile": ref}} for ref in refs]
    assert len({spec_hash(parse(spec)) for spec in specs}) == 4


def test_thresholds_of_different_kinds_have_different_hashes() -> None:
    specs = [
        changed(MANAGED_ARRIVALS, "thresholds", [{"errorRate": {"below": "100%"}}]),
        changed(MANAGED_ARRIVALS, "thresholds", [{"throughput": {"above": 1}}]),
        {**RELATIVE, "thresholds": [{"throughput": {"within": "10%"}}]},
        {**RELATIVE, "thresholds": [{"latency": {"step": "total", "percentile": 50, "within": "10%"}}]},
        {**RELATIVE, "thresholds": [{"latency": {"step": "total", "percentile": 50, "below": "100ms"}}]}
        | {"baseline": None},
    ]
    assert len({spec_hash(parse(spec)) for spec in specs}) == len(specs)


def test_the_hash_covers_what_a_test_is_held_against() -> None:
    baselines = [{"testRef": {"name": "a"}}, {"testRef": {"name": "b"}}, {"lastPassed": True}]
    assert len({spec_hash(parse({**RELATIVE, "baseline": baseline})) for baseline in baselines}) == 3


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("arrivals.min", 11),
        ("arrivals.max", 501),
        ("arrivals.duration", "31s"),
        ("precision", "5%"),
        ("confirm", 0),
    ],
)
def test_the_hash_covers_what_is_searched(path: str, value: Any) -> None:
    other = changed(SEARCH_ARRIVALS, f"load.capacity.{path}", value)
    assert spec_hash(parse(other)) != spec_hash(parse(SEARCH_ARRIVALS))


def test_a_search_differs_from_its_least_load() -> None:
    arrivals = {"stages": [{"rate": 50, "duration": "30s"}]}
    search = {"arrivals": {"min": 50, "max": 50, "duration": "30s"}}
    thresholds = [{"errorRate": {"below": "1%"}}]
    specs = [
        {**SMALL, "thresholds": thresholds, "load": load} for load in ({"arrivals": arrivals}, {"capacity": search})
    ]
    assert len({spec_hash(parse(spec)) for spec in specs}) == 2


def test_the_hash_covers_the_budget_of_a_search_by_what_it_follows_from() -> None:
    spec = parse(SEARCH_ARRIVALS)
    assert spec_hash(parse(changed(SEARCH_ARRIVALS, "deadline", "31m"))) != spec_hash(spec)
