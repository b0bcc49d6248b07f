"""What is said of a run under way: of its target, its workers and what blocks them, word for word."""

from dataclasses import replace
from typing import Any

import pytest
from passes import Passes
from plans import EXTERNAL, allowing, quickstart
from runs import pod, snapshot
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.master_log import MasterLog, Stage
from sshload_operator.decision.load_test.blockers import (
    BLOCKED_PATIENCE_S,
    LOG_PATIENCE_S,
    Blocker,
    target_blocker,
    worker_loss,
    workers_blocker,
)
from sshload_operator.decision.load_test.situation import Situation
from sshload_operator.state import Observed, PodFacts, Reason, Role

SPEC = quickstart(workers={"replicas": 2})
TARGET, MASTER, PROXY = pod(Role.TARGET), pod(Role.MASTER), pod(Role.PROXY)
WORKERS = (pod(Role.WORKER, name="w-0"), pod(Role.WORKER, name="w-1"))
ALL = (TARGET, MASTER, *WORKERS)
PROXIED = {**SPEC, "target": {"managed": {"proxy": {"kind": "haproxy"}}}}
WAITING = snapshot(Stage.WAITING_FOR_WORKERS, workers_connected=1)


def condition(passes: Passes, kind: str) -> tuple[str, str, str]:
    found = passes.condition(kind)
    return found["status"], found["reason"], found["message"]


def after(*pods: PodFacts, spec: Any = SPEC, **seen: Any) -> Passes:
    """Return a test whose run was started, and then seen so."""
    passes = Passes(spec, installation=allowing(AllowedTarget("*", (22,))))
    passes.run()
    passes.run(*pods, after_s=1, **seen)
    return passes


def test_a_target_that_is_ready_is_named_with_what_is_before_it() -> None:
    assert condition(after(*ALL), "TargetReady") == ("True", "TargetReady", "pod quickstart-target accepts logins")
    both = after(*ALL, PROXY, spec=PROXIED)
    assert condition(both, "TargetReady")[2] == ("pod quickstart-target accepts logins through pod quickstart-proxy")
    assert condition(after(*ALL, spec=PROXIED), "TargetReady") == (
        "Unknown",
        "TargetStarting",
        "the target is starting",
    )


def test_of_two_targets_the_first_by_name_is_named_and_one_that_goes_is_none() -> None:
    two = after(pod(Role.TARGET, name="b"), pod(Role.TARGET, name="a"), MASTER)
    assert condition(two, "TargetReady")[2] == "pod a accepts logins"
    going = after(pod(Role.TARGET, name="a", deleting=True), pod(Role.TARGET, name="b"), MASTER)
    assert condition(going, "TargetReady")[2] == "pod b accepts logins"


def test_a_target_whose_probe_is_not_answered_under_load_is_told_pod_by_pod() -> None:
    passes = after(*ALL, PROXY, spec=PROXIED, snapshot=snapshot())
    passes.run(replace(TARGET, ready=False), MASTER, *WORKERS, PROXY, after_s=1, snapshot=snapshot())
    assert condition(passes, "TargetReady") == (
        "False",
        "TargetNotReady",
        (
            "not all readiness probes are answered while the load runs: pod quickstart-proxy does, pod"
            " quickstart-target does not"
        ),
    )
    assert passes.status["message"] == passes.condition("TargetReady")["message"]


def test_a_pod_that_is_not_seen_under_load_is_not_said_to_answer_no_probe() -> None:
    passes = after(*ALL, PROXY, spec=PROXIED, snapshot=snapshot())
    passes.unread = "no answer within 10 s"
    passes.run(*ALL, after_s=1, snapshot=snapshot())
    assert condition(passes, "TargetReady") == ("Unknown", "TargetStarting", "the target is starting")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (SPEC, ("False", "RunFinished", "no run is under way, so there is no target")),
        (
            quickstart(target={"external": EXTERNAL}),
            ("Unknown", "TargetExternal", "the target is external, and no run is checking it"),
        ),
    ],
    ids=["managed", "external"],
)
def test_of_a_test_that_is_held_back_there_is_no_target_or_nobody_checks_it(
    spec: Any, said: tuple[str, str, str]
) -> None:
    passes = after(spec={**spec, "suspend": True})
    assert condition(passes, "TargetReady") == said
    assert condition(passes, "WorkersReady") == ("False", "RunFinished", "no run is under way, so there are no workers")


@pytest.mark.parametrize(
    ("stage", "connected", "said"),
    [
        (Stage.WAITING_FOR_WORKERS, 1, ("Unknown", "WorkersStarting", "1 of 2 workers are connected to the master")),
        (Stage.WAITING_FOR_WORKERS, 2, ("Unknown", "WorkersStarting", "2 of 2 workers are connected to the master")),
        (Stage.MEASURING, 1, ("Unknown", "WorkersStarting", "1 of 2 workers are connected to the master")),
        (Stage.MEASURING, 2, ("True", "WorkersConnected", "2 of 2 workers take part")),
    ],
)
def test_workers_take_part_once_all_are_connected_and_the_load_runs(
    stage: Stage, connected: int, said: tuple[str, str, str]
) -> None:
    passes = after(*ALL, snapshot=snapshot(stage, workers_connected=connected))
    assert condition(passes, "WorkersReady") == said


def test_without_a_snapshot_no_worker_is_connected_before_the_load_and_all_were_after_it() -> None:
    assert condition(after(*ALL), "WorkersReady")[2] == "0 of 2 workers are connected to the master"
    passes = after(*ALL, snapshot=snapshot())
    passes.run(*ALL, after_s=1)
    assert condition(passes, "WorkersReady")[0] == "True"


TO_EXTERNAL = {**SPEC, "target": {"external": EXTERNAL}}


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (
            {},
            (
                "Unknown",
                "TargetExternal",
                "bastion.example.com:22 is external: the workers find out whether it accepts logins",
            ),
        ),
        (
            {"snapshot": snapshot(Stage.WAITING_FOR_WORKERS, iterations=0, failures=0, problem="Connection refused")},
            (
                "False",
                "TargetUnreachable",
                "the workers try again to log in to bastion.example.com:22: Connection refused",
            ),
        ),
        (
            {"snapshot": snapshot(Stage.WAITING_FOR_WORKERS, iterations=0, failures=0)},
            (
                "Unknown",
                "TargetExternal",
                "bastion.example.com:22 is external: the workers find out whether it accepts logins",
            ),
        ),
        (
            {"snapshot": snapshot(iterations=3, failures=2)},
            ("True", "TargetExternal", "the workers log in to bastion.example.com:22"),
        ),
        (
            {"snapshot": snapshot(iterations=3, failures=3, problem="Connection refused")},
            (
                "Unknown",
                "TargetExternal",
                "bastion.example.com:22 is external: the workers find out whether it accepts logins",
            ),
        ),
    ],
    ids=["nothing seen", "tried again", "not tried", "one login", "under load"],
)
def test_what_is_known_of_an_external_target_is_what_the_workers_have_seen(
    seen: dict[str, Any], said: tuple[str, str, str]
) -> None:
    assert condition(after(MASTER, *WORKERS, spec=TO_EXTERNAL, **seen), "TargetReady") == said


def test_an_external_target_to_which_a_login_worked_stays_ready() -> None:
    passes = after(MASTER, *WORKERS, spec=TO_EXTERNAL, snapshot=snapshot(iterations=3, failures=2))
    passes.run(MASTER, *WORKERS, after_s=1, snapshot=snapshot(iterations=0, failures=0, problem="Connection refused"))
    assert condition(passes, "TargetReady")[0] == "True"


SEARCH = {"load": {"capacity": {"arrivals": {"min": 5, "max": 500, "duration": "30s"}}}}


@pytest.mark.parametrize(
    ("spec", "pods", "seen", "said"),
    [
        (SPEC, (), {}, ("TargetStarting", "the target, the master and the workers are starting")),
        (
            SPEC,
            ALL,
            {"snapshot": WAITING},
            ("WorkersStarting", "the workers (2) are starting and connecting to the master"),
        ),
        (SPEC, ALL, {"snapshot": snapshot()}, ("LoadRunning", "the load runs for 35 s, made by 2 workers")),
        (
            {**SPEC, **SEARCH, "thresholds": [{"errorRate": {"below": "1%"}}], "deadline": "2h"},
            ALL,
            {"snapshot": snapshot()},
            ("LoadRunning", "the capacity is searched from 5 to 500 arrivals/s, made by 2 workers"),
        ),
        (
            SPEC,
            ALL,
            {"snapshot": snapshot(Stage.DRAINING)},
            ("CollectingResults", "the load is over: its last iterations end, and the results are read"),
        ),
    ],
    ids=["preparing", "starting", "running", "searching", "collecting"],
)
def test_each_phase_has_its_headline(
    spec: Any, pods: tuple[PodFacts, ...], seen: dict[str, Any], said: tuple[str, str]
) -> None:
    passes = after(*pods, spec=spec, **seen)
    assert (passes.status["reason"], passes.status["message"]) == said
    assert (passes.condition("Complete")["status"], passes.condition("Passed")["message"]) == (
        "False",
        "there is no verdict before the end of the run",
    )


def test_what_blocks_is_the_headline_and_of_two_the_targets() -> None:
    held = {"phase": "Pending", "ready": False, "blocked_message": "0/3 nodes are available."}
    passes = after(pod(Role.TARGET, **held), pod(Role.MASTER, **held))
    assert passes.status["message"] == "pod quickstart-target cannot be scheduled: 0/3 nodes are available"
    assert condition(passes, "TargetReady")[:2] == ("Unknown", "Unschedulable")
    assert condition(passes, "WorkersReady")[2].startswith("pod quickstart-master cannot be scheduled")


def situation(
    *pods: PodFacts, phase: str = "", log: MasterLog | None = None, spec: Any = SPEC, **seen: Any
) -> Situation:
    """Return a pass over a run that was in this phase after the last one."""
    passes = Passes(spec)
    passes.run()
    if phase:
        passes.status = {**passes.status, "phase": phase}
    mine = tuple(replace(one, run_id=passes.run_id) for one in pods)
    return passes.subject(Observed(mine, log, seen.pop("rejected", ""), **seen)).situation


def blocked(found: Blocker | None) -> tuple[Reason, float | None, Verdict]:
    assert found is not None
    return found.final_reason, found.patience_s, found.verdict


WAITS = {"phase": "Pending", "ready": False}
IMAGE_REASONS = ("ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "RegistryUnavailable")
CONFIG_REASONS = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "FailedMount")


@pytest.mark.parametrize(
    ("why", "reason", "patience_s"),
    [
        *((why, Reason.IMAGE_UNAVAILABLE, BLOCKED_PATIENCE_S) for why in IMAGE_REASONS),
        *((why, Reason.POD_CONFIG_ERROR, BLOCKED_PATIENCE_S) for why in CONFIG_REASONS),
        ("InvalidImageName", Reason.IMAGE_UNAVAILABLE, 0.0),
    ],
)
@pytest.mark.parametrize("role", [Role.TARGET, Role.MASTER, Role.WORKER])
def test_each_reason_why_a_pod_waits_in_vain_blocks(role: Role, why: str, reason: Reason, patience_s: float) -> None:
    waits = situation(pod(role, **WAITS, waiting_reason=why, waiting_message="not found"))
    found = target_blocker(waits) if role is Role.TARGET else workers_blocker(waits)
    assert blocked(found) == (reason, patience_s, Verdict.ERROR)
    assert found is not None
    assert f"pod quickstart-{role} " in found.message
    assert f"{why}: not found. Check " in found.message


@pytest.mark.parametrize("why", ["ContainerCreating", "PodInitializing", "", "CrashLoopBackOff"])
def test_a_pod_that_is_only_being_made_does_not_block(why: str) -> None:
    waits = situation(pod(Role.TARGET, **WAITS, waiting_reason=why), pod(Role.MASTER, **WAITS, waiting_reason=why))
    assert (target_blocker(waits), workers_blocker(waits)) == (None, None)


@pytest.mark.parametrize(
    ("pods", "phase", "blocks"),
    [
        ((TARGET, MASTER, WORKERS[0]), "", (False, True)),
        ((TARGET, *WORKERS), "", (False, True)),
        ((MASTER, *WORKERS), "", (True, False)),
        (ALL, "", (False, False)),
        ((MASTER, WORKERS[0]), "Running", (False, False)),
    ],
)
def test_a_refusal_blocks_those_whose_pods_are_missing_before_the_load(
    pods: tuple[PodFacts, ...], phase: str, blocks: tuple[bool, bool]
) -> None:
    seen = situation(*pods, phase=phase, rejected="exceeded quota. ")
    found = (target_blocker(seen), workers_blocker(seen))
    assert tuple(one is not None and one.reason is Reason.POD_REJECTED for one in found) == blocks
    for one in found:
        if one is not None and one.reason is Reason.POD_REJECTED:
            assert one.message.startswith("pods are not admitted: exceeded quota. Raise the quota, lower resources or ")
            assert blocked(one) == (Reason.POD_REJECTED, BLOCKED_PATIENCE_S, Verdict.ERROR)


def log(**changes: Any) -> MasterLog:
    return replace(MasterLog(snapshot=None, summary=None, summary_lines=0, problem=""), **changes)


@pytest.mark.parametrize(
    ("seen", "is_unreadable"),
    [
        (log(summary_lines=2, problem="its SHA-256 is wrong"), True),
        (log(problem="its SHA-256 is wrong"), False),
        (log(summary_lines=2), False),
        (None, False),
    ],
)
def test_results_that_are_there_and_cannot_be_used_block(seen: MasterLog | None, *, is_unreadable: bool) -> None:
    found = workers_blocker(situation(*ALL, phase="Running", log=seen))
    assert (found is not None) is is_unreadable
    if found is not None:
        assert blocked(found) == (Reason.RESULTS_UNREADABLE, LOG_PATIENCE_S, Verdict.ERROR)
        assert found.message == (
            "the results in the master's log cannot be used: its SHA-256 is wrong. Run the test again"
        )


@pytest.mark.parametrize(
    ("end", "seen", "message", "reason", "patience_s"),
    [
        (
            {"exit_code": 0, "phase": "Succeeded"},
            log(),
            "the master (pod quickstart-master) has ended, and its results could not be read from its log",
            Reason.RESULTS_UNREADABLE,
            LOG_PATIENCE_S,
        ),
        (
            {"exit_code": 0, "phase": "Succeeded"},
            None,
            "the master (pod quickstart-master) has ended, and its results could not be read from its log",
            Reason.RESULTS_UNREADABLE,
            BLOCKED_PATIENCE_S,
        ),
        (
            {"exit_code": 70, "phase": "Failed", "termination_message": "out of memory", "disruption": "Evicted: low"},
            log(),
            (
                "the master (pod quickstart-master) ended with exit code 70 and left no results: out of memory; pod"
                " quickstart-master had the condition DisruptionTarget (Evicted: low)"
            ),
            Reason.MASTER_LOST,
            LOG_PATIENCE_S,
        ),
        (
            {"exit_code": None, "phase": "Failed"},
            None,
            "the master (pod quickstart-master) ended and left no results",
            Reason.MASTER_LOST,
            BLOCKED_PATIENCE_S,
        ),
    ],
    ids=["ended well", "ended well, no log", "failed", "failed without a word"],
)
def test_a_master_that_ended_without_results_is_told_with_its_end(
    end: dict[str, Any], seen: MasterLog | None, message: str, reason: Reason, patience_s: float
) -> None:
    found = workers_blocker(situation(TARGET, pod(Role.MASTER, **end), *WORKERS, phase="Running", log=seen))
    assert found is not None
    assert found.message == message
    assert blocked(found) == (reason, patience_s, Verdict.ERROR)


@pytest.mark.parametrize(
    ("masters", "is_blocked"),
    [
        (({"deleting": True, "disruption": "Evicted"},), True),
        (({"deleting": True},), False),
        (({"disruption": "Evicted"},), False),
        (({"deleting": True, "disruption": "Evicted"}, {}), False),
        ((), False),
    ],
)
def test_a_master_goes_with_its_results_only_if_each_is_deleted_after_a_disruption(
    masters: tuple[dict[str, Any], ...], *, is_blocked: bool
) -> None:
    pods = (pod(Role.MASTER, name=f"m-{number}", **one) for number, one in enumerate(masters))
    found = workers_blocker(situation(TARGET, *pods, *WORKERS, phase="Running"))
    assert (found is not None) is is_blocked
    if found is not None:
        assert blocked(found) == (Reason.MASTER_LOST, BLOCKED_PATIENCE_S, Verdict.ERROR)
        assert found.message == (
            "the master is being deleted, and its results with it; pod m-0 had the condition DisruptionTarget"
            " (Evicted). Run the test again"
        )


@pytest.mark.parametrize(
    ("workers", "phase", "said"),
    [
        (WORKERS, "Running", ""),
        ((pod(Role.WORKER, phase="Succeeded", exit_code=0), WORKERS[1]), "Running", ""),
        (WORKERS[:1], "", ""),
        (WORKERS[:1], "Running", "1 of 2 worker pods are gone"),
        ((), "Running", "2 of 2 worker pods are gone"),
        (
            (pod(Role.WORKER, name="w-0", phase="Failed", exit_code=137, termination_message=" OOMKilled\n"),),
            "",
            "pod w-0 ended with exit code 137: OOMKilled",
        ),
        ((pod(Role.WORKER, name="w-0", phase="Failed"), WORKERS[1]), "", "pod w-0 ended"),
        (
            (WORKERS[0], pod(Role.WORKER, name="w-1", deleting=True, disruption="Evicted")),
            "Running",
            "pod w-1 is being deleted; pod w-1 had the condition DisruptionTarget (Evicted)",
        ),
    ],
)
def test_how_a_worker_was_lost_is_told_as_far_as_its_pod_shows_it(
    workers: tuple[PodFacts, ...], phase: str, said: str
) -> None:
    seen = situation(TARGET, MASTER, *workers, phase=phase)
    assert worker_loss(seen) == said
    found = workers_blocker(seen)
    if not said:
        assert found is None
    elif phase:
        assert blocked(found) == (Reason.WORKER_LOST, BLOCKED_PATIENCE_S, Verdict.INVALID)
        assert found is not None
        assert found.message == f"a worker was lost while the load ran: {said}"
    else:
        assert blocked(found) == (Reason.WORKERS_MISSING, BLOCKED_PATIENCE_S, Verdict.ERROR)
        assert found is not None
        assert (found.reason, found.message) == (
            Reason.WORKER_LOST,
            f"a worker ended before the load began: {said}",
        )
