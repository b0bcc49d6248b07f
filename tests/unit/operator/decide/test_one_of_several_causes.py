"""Of several things that are wrong at once, which one a run ends with, and which signs of a loss suffice alone."""

from collections.abc import Callable
from typing import Any

import pytest
from passes import Passes
from plans import quickstart
from runs import pod, snapshot, summary
from sshload_contract.wire.master_log import Stage
from sshload_operator.state import Role

SPEC = quickstart(workers={"replicas": 2}, startTimeout="60s", deadline="10m")
THROUGH_A_PROXY = {**SPEC, "target": {"managed": {"proxy": {"kind": "haproxy"}}}}
TARGET, MASTER, PROXY = pod(Role.TARGET), pod(Role.MASTER), pod(Role.PROXY)
WORKERS = (pod(Role.WORKER, name="worker-0"), pod(Role.WORKER, name="worker-1"))
ALL = (TARGET, MASTER, *WORKERS)
NO_IMAGE = {"ready": False, "phase": "Pending", "waiting_reason": "ImagePullBackOff", "waiting_message": "not found"}


def a_pass(*before: Any, spec: Any = SPEC) -> Passes:
    """Return a test whose run has been started, and goes on if pods are there."""
    passes = Passes(spec)
    passes.run()
    if before:
        passes.run(*before, after_s=3, snapshot=snapshot())
        assert passes.status["phase"] == "Running"
    return passes


SIGNS: dict[str, dict[str, Any]] = {
    "it restarted, and runs again": {"restarts": 1},
    "it ended": {"exit_code": 1, "ready": False},
    "it ended well": {"exit_code": 0, "ready": False},
    "it failed": {"phase": "Failed", "ready": False},
}


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS.keys())
@pytest.mark.parametrize("role", [Role.TARGET, Role.PROXY])
def test_each_sign_of_an_end_is_one_before_the_load_and_while_it_runs(role: Role, sign: dict[str, Any]) -> None:
    others = tuple(one for one in (TARGET, PROXY) if one.role is not role)
    before = a_pass(spec=THROUGH_A_PROXY)
    before.run(pod(role, **sign), *others, MASTER, after_s=1)
    assert before.said() == ("Error", "TargetFailed")
    assert f"the {role} (pod quickstart-{role}) ended before the load began" in before.status["message"]
    during = a_pass(*ALL, PROXY, spec=THROUGH_A_PROXY)
    during.run(pod(role, **sign), *others, MASTER, *WORKERS, after_s=1, snapshot=snapshot())
    assert during.said() == ("Error", "TargetLost")
    assert f"the {'proxy in the path' if role is Role.PROXY else 'target'} was lost" in during.status["message"]


def test_a_pod_that_is_deleted_before_the_load_is_no_failure_however_it_ended() -> None:
    passes = a_pass()
    passes.run(pod(Role.TARGET, deleting=True, ready=False, exit_code=143), MASTER, after_s=1)
    assert "verdict" not in passes.status


def test_only_the_targets_exit_code_says_that_sshd_rejects_its_configuration() -> None:
    passes = a_pass(spec=THROUGH_A_PROXY)
    passes.run(TARGET, pod(Role.PROXY, ready=False, exit_code=78, restarts=1), MASTER, after_s=1)
    assert passes.said() == ("Error", "TargetFailed")


def test_of_what_ends_together_the_first_by_name_is_named_and_while_the_load_runs_the_target() -> None:
    ended = {"ready": False, "exit_code": 1, "termination_message": "out of memory"}
    before = a_pass(spec=THROUGH_A_PROXY)
    before.run(pod(Role.PROXY, **ended), pod(Role.TARGET, **ended), MASTER, after_s=1)
    assert "the proxy (pod quickstart-proxy) ended" in before.status["message"]
    during = a_pass(*ALL, PROXY, spec=THROUGH_A_PROXY)
    during.run(pod(Role.PROXY, **ended), pod(Role.TARGET, **ended), MASTER, *WORKERS, after_s=1, snapshot=snapshot())
    assert "the target was lost while the load ran: pod quickstart-target ended" in during.status["message"]
    crashed = a_pass(*ALL)
    going = pod(Role.TARGET, **ended, deleting=True)
    crashed.run(going, MASTER, *WORKERS, after_s=1, snapshot=snapshot())
    assert "ended with exit code 1: out of memory" in crashed.status["message"]


Case = Callable[[], Passes]


def with_everything_wrong(after_s: float, **more: Any) -> Passes:
    """A load during which target, master and workers are gone, after so long."""
    passes = a_pass(*ALL)
    passes.run(after_s=after_s, **more)
    return passes


def test_results_that_are_there_are_judged_whatever_else_is_wrong() -> None:
    passes = with_everything_wrong(3_600, summary=summary())
    assert passes.said() == ("Passed", "NoThresholds")


def test_the_deadline_comes_before_what_is_lost_and_says_what_was_seen_last() -> None:
    assert with_everything_wrong(3_600).said() == ("Error", "DeadlineExceeded")
    waits = a_pass()
    waits.run(pod(Role.TARGET, **NO_IMAGE), pod(Role.MASTER, **NO_IMAGE), after_s=600)
    assert waits.said() == ("Error", "DeadlineExceeded")
    assert "last seen: pod quickstart-target" in waits.status["message"]
    assert "quickstart-master" not in waits.status["message"]


def test_the_target_is_lost_before_the_master_is_and_the_master_before_a_worker_is() -> None:
    assert with_everything_wrong(1).said() == ("Error", "TargetLost")
    passes = a_pass(*ALL)
    passes.run(TARGET, after_s=1)
    assert passes.said() == ("Error", "MasterLost")


def test_a_target_that_ended_comes_before_a_worker_without_its_image() -> None:
    passes = a_pass()
    blocked = pod(Role.WORKER, name="worker-0", **NO_IMAGE)
    passes.run(pod(Role.TARGET, ready=False, exit_code=1), MASTER, blocked, after_s=30)
    assert passes.said() == ("Error", "TargetFailed")


def test_of_a_target_and_a_worker_without_their_images_the_target_is_named() -> None:
    passes = a_pass()
    for after_s in (1, 20):
        passes.run(pod(Role.TARGET, **NO_IMAGE), MASTER, pod(Role.WORKER, **NO_IMAGE), after_s=after_s)
    assert passes.said() == ("Error", "ImageUnavailable")
    assert passes.condition("TargetReady")["reason"] == "ImageUnavailable"
    assert "pod quickstart-target" in passes.status["message"]


def test_at_the_start_timeout_a_target_that_is_not_ready_comes_before_workers_that_are_missing() -> None:
    passes = a_pass()
    passes.run(pod(Role.TARGET, ready=False), MASTER, after_s=61, snapshot=snapshot(Stage.WAITING_FOR_WORKERS))
    assert passes.said() == ("Error", "TargetNeverReady")
    later = a_pass()
    waiting = snapshot(Stage.WAITING_FOR_WORKERS, workers_connected=1)
    later.run(TARGET, MASTER, WORKERS[0], after_s=61, snapshot=waiting)
    assert later.said() == ("Error", "WorkersMissing")
    assert "1 of 2 workers had connected" in later.status["message"]


@pytest.mark.parametrize(("after_s", "is_over"), [(59.0, False), (60.0, True)])
def test_the_start_times_out_at_its_timeout_and_not_before(after_s: float, is_over: bool) -> None:  # noqa: FBT001
    passes = a_pass()
    passes.run(pod(Role.TARGET, ready=False), MASTER, after_s=after_s)
    assert ("verdict" in passes.status) is is_over


@pytest.mark.parametrize(("after_s", "is_over"), [(599.0, False), (600.0, True)])
def test_the_deadline_is_over_at_its_time_and_not_before(after_s: float, is_over: bool) -> None:  # noqa: FBT001
    passes = a_pass(*ALL)
    passes.run(*ALL, after_s=after_s - 3, snapshot=snapshot())
    assert ("verdict" in passes.status) is is_over


def test_while_not_all_could_be_read_only_what_is_certain_ends_a_run() -> None:
    passes = a_pass(*ALL)
    passes.unread = "no answer within 10 s"
    passes.run(MASTER, *WORKERS, after_s=1, snapshot=snapshot())
    passes.run(TARGET, *WORKERS, after_s=1)
    assert "verdict" not in passes.status
    passes.run(after_s=600)
    assert passes.said() == ("Error", "DeadlineExceeded")
    assert "not all could be read: no answer within 10 s" in passes.status["message"]
    passes = a_pass(*ALL)
    passes.unread = "no answer within 10 s"
    passes.run(*ALL, after_s=1, summary=summary())
    assert passes.said() == ("Passed", "NoThresholds")


def test_a_target_whose_pod_has_another_name_is_another_only_where_its_name_was_told_before() -> None:
    passes = a_pass(*ALL)
    renamed = pod(Role.TARGET, name="quickstart-target-2")
    passes.run(renamed, MASTER, *WORKERS, after_s=1, snapshot=snapshot())
    assert passes.said() == ("Error", "TargetLost")
    assert "its pod was replaced by another" in passes.status["message"]


def test_a_blocker_that_went_and_came_back_is_waited_for_anew() -> None:
    passes = a_pass()
    without = pod(Role.WORKER, name="worker-0", **NO_IMAGE)
    passes.run(TARGET, MASTER, without, after_s=1)
    passes.run(TARGET, MASTER, without, after_s=10)
    passes.run(TARGET, MASTER, WORKERS[0], after_s=10)
    passes.run(TARGET, MASTER, without, after_s=1)
    passes.run(TARGET, MASTER, without, after_s=10)
    assert "verdict" not in passes.status
    passes.run(TARGET, MASTER, without, after_s=6)
    assert passes.said() == ("Error", "ImageUnavailable")


def test_at_most_three_pods_that_are_not_ready_are_named() -> None:
    passes = a_pass()
    waiting = [pod(Role.WORKER, name=f"worker-{number}", ready=False, phase="Pending") for number in range(5)]
    passes.run(TARGET, MASTER, *waiting, after_s=61)
    message = passes.status["message"]
    assert [f"worker-{number}" in message for number in range(5)] == [True, True, True, False, False]


def test_what_ended_without_a_word_is_said_to_have_left_no_message_before_the_load_and_during_it() -> None:
    ended = pod(Role.TARGET, ready=False, exit_code=1, termination_message=" ")
    before, during = a_pass(), a_pass(*ALL)
    before.run(ended, MASTER, after_s=1)
    assert before.status["message"].endswith("ended before the load began with exit code 1: it left no message")
    during.run(ended, MASTER, *WORKERS, after_s=1, snapshot=snapshot())
    assert "ended with exit code 1: it left no message" in during.status["message"]


def test_a_load_goes_on_though_somebody_took_the_conditions_out_of_its_status() -> None:
    passes = a_pass(*ALL)
    passes.status = {**passes.status, "conditions": []}
    passes.run(*ALL, after_s=1, snapshot=snapshot())
    assert passes.said() == (None, "LoadRunning")
    assert passes.condition("TargetReady")["status"] == "True"


def test_at_the_start_timeout_it_is_said_how_many_workers_came_and_how_their_pods_are() -> None:
    nobody = a_pass()
    nobody.run(TARGET, MASTER, *WORKERS, after_s=61)
    assert nobody.said() == ("Error", "WorkersMissing")
    assert "0 of 2 workers had connected 60 s after the start" in nobody.status["message"]
    assert "pod worker-0 is Running and ready" in nobody.status["message"]
    silent = a_pass()
    silent.run(TARGET, MASTER, *WORKERS, after_s=61, snapshot=snapshot(Stage.WAITING_FOR_WORKERS, problem=""))
    assert silent.said() == ("Error", "TargetUnreachable")
    assert silent.status["message"].endswith(
        "could not begin the load 60 s after the start (spec.startTimeout): none of them says why"
    )


def test_at_the_deadline_at_most_three_pods_that_are_not_ready_are_named_and_one_without_a_phase_is_unknown() -> None:
    passes = a_pass(*ALL)
    lost = [pod(Role.WORKER, name=f"worker-{number}", ready=False, phase="") for number in range(5)]
    passes.run(TARGET, MASTER, *lost, after_s=600, snapshot=snapshot())
    message = passes.status["message"]
    assert [f"worker-{number} is Unknown and not ready" in message for number in range(5)] == [True] * 3 + [False] * 2


def test_a_pod_that_still_waits_to_be_made_is_said_to_lack_something_and_one_that_runs_is_not() -> None:
    passes = a_pass()
    made = pod(Role.WORKER, name="worker-0", ready=False, phase="Pending", waiting_reason="ContainerCreating")
    passes.run(TARGET, MASTER, made, pod(Role.WORKER, name="worker-1", ready=False), after_s=61)
    message = passes.status["message"]
    missing = "its image, or a Secret or ConfigMap that it mounts, is missing (kubectl describe pod worker-0)"
    assert f"pod worker-0 is Pending (ContainerCreating) and not ready: {missing}" in message
    assert message.endswith("pod worker-1 is Running and not ready")


def test_a_target_beside_which_another_pod_comes_is_not_replaced_while_it_is_there() -> None:
    passes = a_pass(*ALL)
    passes.run(*ALL, pod(Role.TARGET, name="another", phase="Pending", ready=False), after_s=1, snapshot=snapshot())
    assert passes.said()[0] is None
