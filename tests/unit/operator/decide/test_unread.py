"""What is decided where the API server, or the kubelet behind it, did not answer."""

from typing import Any

import pytest
from baselines import asked, finished, seen, slower
from passes import Passes
from plans import quickstart
from runs import pod, snapshot, summary
from sshload_operator.state import PodFacts, Role

UNREAD = "500, message='Internal Server Error'"
PODS = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))
DEADLINE_S = 600
ENDED = pod(Role.MASTER, phase="Succeeded", exit_code=0)


@pytest.fixture
def running() -> Passes:
    """Return a test whose load runs."""
    passes = Passes(quickstart(startTimeout="60s", deadline=f"{DEADLINE_S}s"))
    passes.run()
    passes.run(*PODS, after_s=3, snapshot=snapshot())
    return passes


def blindly(passes: Passes, *pods: PodFacts, **facts: Any) -> None:
    """Do a pass in which not all could be read."""
    passes.unread = UNREAD
    passes.run(*pods, **facts)
    passes.unread = ""


def test_the_status_says_what_could_not_be_read(running: Passes) -> None:
    blindly(running, *PODS, after_s=1)
    assert running.status["message"].endswith(f". Not all could be read: {UNREAD}")
    running.run(*PODS, after_s=1, snapshot=snapshot())
    assert "read" not in running.status["message"]


def test_the_deadline_ends_a_run_whose_log_cannot_be_read(running: Passes) -> None:
    blindly(running, *PODS, after_s=DEADLINE_S - 4)
    assert "verdict" not in running.status
    blindly(running, *PODS, after_s=1)
    assert running.said() == ("Error", "DeadlineExceeded")
    assert f"not all could be read: {UNREAD}" in running.status["message"]


def test_an_abort_ends_a_run_whose_log_cannot_be_read(running: Passes) -> None:
    running.edit(abort=True)
    blindly(running, *PODS, after_s=1)
    assert running.said() == ("Aborted", "AbortRequested")


@pytest.mark.parametrize(
    "pods",
    [(), PODS[1:], (*PODS[:1], ENDED, *PODS[2:]), (*PODS[:2], pod(Role.WORKER, phase="Failed"))],
    ids=["no pod", "no target", "a master that has ended", "a failed worker"],
)
def test_old_or_missing_facts_end_no_run(running: Passes, pods: tuple[PodFacts, ...]) -> None:
    for _ in range(2):
        blindly(running, *pods, after_s=100)
    assert "verdict" not in running.status
    for _ in range(2):
        running.run(*pods, after_s=100)
    assert "verdict" in running.status


def test_a_start_that_could_not_be_followed_does_not_time_out() -> None:
    passes = Passes(quickstart(startTimeout="60s", deadline="10m"))
    passes.run()
    blindly(passes, *PODS, after_s=120)
    assert "verdict" not in passes.status
    passes.run(*PODS, after_s=1, summary=summary())
    assert passes.said() == ("Passed", "NoThresholds")


def following(**changes: Any) -> Passes:
    """Return a run that has a baseline, and has ended."""
    passes = Passes(asked(**changes))
    passes.run()
    return passes


def test_results_wait_for_a_baseline_that_could_not_be_read() -> None:
    passes = following()
    blindly(passes, after_s=60, summary=slower(1.0))
    assert "verdict" not in passes.status
    passes.beside = seen(finished(slower(1.0)))
    passes.run(after_s=1, summary=slower(1.0))
    assert passes.said() == ("Passed", "ThresholdsMet")


def test_results_are_judged_without_their_baseline_at_the_deadline() -> None:
    passes = following(deadline=f"{DEADLINE_S}s")
    blindly(passes, after_s=DEADLINE_S, summary=slower(1.0))
    assert passes.said() == ("Inconclusive", "NoBaseline")
    assert UNREAD in passes.status["message"]


def test_results_whose_baseline_was_read_wait_for_nothing_else_that_could_not_be_read() -> None:
    passes = following()
    passes.beside = seen(finished(slower(1.0)))
    blindly(passes, after_s=60, summary=slower(1.0))
    assert passes.said() == ("Passed", "ThresholdsMet")
