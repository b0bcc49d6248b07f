"""How a run ends: each fault in its own verdict and reason, with a message that names the place."""

from typing import Any

import pytest
from passes import UID, Passes
from plans import EXTERNAL, allowing, quickstart
from runs import pod, snapshot, summary
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import RunEnd
from sshload_contract.wire.master_log import MasterLog, Stage, snapshot_line
from sshload_operator.planning.plan import run_id
from sshload_operator.state import Role

TARGET, MASTER, WORKER = pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER, name="quickstart-worker-0")
SECOND_WORKER = pod(Role.WORKER, name="quickstart-worker-1")
ALL = (TARGET, MASTER, WORKER, SECOND_WORKER)
STARTING_TARGET = pod(Role.TARGET, ready=False)
SPEC = quickstart(workers={"replicas": 2}, startTimeout="60s", deadline="10m")
SILENT_LOG = MasterLog(snapshot=None, summary=None, summary_lines=0, problem="")


@pytest.fixture
def started() -> Passes:
    """Return a test whose run has been started."""
    passes = Passes(SPEC)
    passes.run()
    return passes


@pytest.fixture
def running(started: Passes) -> Passes:
    """Return a test whose load runs."""
    started.run(*ALL, after_s=3, snapshot=snapshot())
    assert started.status["phase"] == "Running"
    return started


def test_a_whole_summary_ends_the_run_with_its_verdict_and_results(running: Passes) -> None:
    decision = running.run(*ALL, after_s=30, snapshot=snapshot(Stage.DRAINING), summary=summary())
    assert running.said() == ("Passed", "NoThresholds")
    assert running.status["phase"] == "Finished"
    assert running.status["results"]["iterations"] == 600
    assert decision.store is not None
    assert decision.store["metadata"]["name"] == running.status["resultsConfigMap"]
    assert decision.sweep == (running.run_id,)


def test_the_summary_of_another_run_counts_for_nothing(running: Passes) -> None:
    log = MasterLog(snapshot=None, summary=summary(run_id="ffffffffff"), summary_lines=2, problem="")
    running.run(*ALL, after_s=1, log=log)
    assert running.status["phase"] != "Finished"


def test_the_snapshot_of_another_run_counts_for_nothing(started: Passes) -> None:
    log = MasterLog(snapshot=snapshot(run_id="ffffffffff"), summary=None, summary_lines=0, problem="")
    started.run(*ALL, after_s=1, log=log)
    assert started.status["phase"] == "StartingWorkers"
    assert "progress" not in started.status


def test_a_summary_that_comes_with_the_deadline_is_still_judged(running: Passes) -> None:
    running.run(*ALL, after_s=3_600, summary=summary())
    assert running.said() == ("Passed", "NoThresholds")


def test_the_deadline_ends_a_run_that_goes_on_and_on(running: Passes) -> None:
    running.run(*ALL, after_s=596, snapshot=snapshot())
    assert "verdict" not in running.status
    running.run(*ALL, after_s=1, snapshot=snapshot())
    assert running.said() == ("Error", "DeadlineExceeded")
    assert "spec.deadline" in running.status["message"]


def test_the_deadline_names_the_pods_that_are_not_ready(running: Passes) -> None:
    unreachable = pod(Role.MASTER, ready=False)
    running.run(TARGET, unreachable, WORKER, SECOND_WORKER, after_s=600, snapshot=snapshot())
    assert running.said() == ("Error", "DeadlineExceeded")
    assert f"last seen: pod {unreachable.name} is Running and not ready" in running.status["message"]


def test_the_deadline_names_the_phase_and_what_keeps_the_workers_from_running(running: Passes) -> None:
    unplaced = pod(Role.WORKER, phase="Pending", ready=False, blocked_message="0/1 nodes are available")
    running.run(TARGET, MASTER, unplaced, SECOND_WORKER, after_s=600, snapshot=snapshot())
    assert running.said() == ("Error", "DeadlineExceeded")
    assert " after its start in phase Running; last seen: " in running.status["message"]
    assert "0/1 nodes are available" in running.status["message"]


def test_a_quota_that_admits_some_of_the_workers_is_named(started: Passes) -> None:
    for after_s in (3, 16):
        started.run(TARGET, MASTER, WORKER, after_s=after_s, rejected="exceeded quota: few")
    assert started.said() == ("Error", "PodRejected")
    assert "exceeded quota: few" in started.status["message"]


def test_a_worker_lost_while_the_load_runs_is_not_blamed_on_an_old_quota(running: Passes) -> None:
    for _ in range(2):
        running.run(TARGET, MASTER, WORKER, after_s=16, snapshot=snapshot(), rejected="exceeded quota: few")
    assert running.said() == ("Invalid", "WorkerLost")


@pytest.mark.parametrize("begin", ["", "sshload target: "], ids=["by the target", "by the kubelet, from its log"])
def test_a_rejected_sshd_config_is_told_in_sshds_own_words(begin: str, started: Passes) -> None:
    words = "sshd refuses its configuration: sshd_config line 9: Bad configuration option: MaxStartup"
    broken = pod(Role.TARGET, ready=False, exit_code=78, restarts=1, termination_message=f"{begin}{words}\n")
    started.run(broken, MASTER, after_s=2)
    assert started.said() == ("Error", "SshdConfigRejected")
    assert words in started.status["message"]
    assert started.condition("TargetReady")["reason"] == "SshdConfigRejected"


def test_a_program_that_the_target_lacks_is_not_blamed_on_sshds_configuration(started: Passes) -> None:
    words = "there is no krb5kdc here: install krb5-kdc and krb5-admin-server"
    broken = pod(Role.TARGET, ready=False, exit_code=78, restarts=1, termination_message=f"{words}\n")
    started.run(broken, MASTER, after_s=2)
    assert started.said() == ("Error", "TargetFailed")
    assert started.status["message"] == f"the target cannot be made as the test has it: {words}"


def test_a_target_that_dies_before_the_load_is_an_error_with_its_last_words(started: Passes) -> None:
    started.run(pod(Role.TARGET, ready=False, exit_code=137, restarts=1, termination_message="OOMKilled"), after_s=2)
    assert started.said() == ("Error", "TargetFailed")
    assert "137: OOMKilled" in started.status["message"]


SYSTEM = {**SPEC, "target": {"managed": {"system": {}}}}
NO_NAMESPACE = "its uid_map is 0 0 4294967295"


def test_a_target_without_the_user_namespace_that_it_takes_is_an_error_that_says_what_would_have_one() -> None:
    passes = Passes(SYSTEM)
    passes.run()
    passes.run(pod(Role.TARGET, ready=False, exit_code=69, termination_message=f"{NO_NAMESPACE}\n"), after_s=2)
    assert passes.said() == ("Error", "NoUserNamespace")
    message = passes.status["message"]
    for words in (NO_NAMESPACE, "before anything in it was root", "Kubernetes 1.33", "permitted.systemTargets"):
        assert words in message


def test_a_node_without_user_namespaces_is_an_error_in_the_kubelets_words() -> None:
    passes = Passes(SYSTEM)
    passes.run()
    said = "runtime does not support user namespaces"
    stuck = pod(
        Role.TARGET, waiting_reason="FailedCreatePodSandBox", waiting_message=said, phase="Pending", ready=False
    )
    passes.run(stuck, after_s=1)
    passes.run(stuck, after_s=15)
    assert passes.said() == ("Error", "NoUserNamespace")
    assert f"the node of pod quickstart-target has none: {said}. Use a cluster" in passes.status["message"]


THROUGH_A_PROXY = {"managed": {"proxy": {"kind": "haproxy"}}}
PROXY = pod(Role.PROXY)


@pytest.fixture
def proxied() -> Passes:
    """Return a test through a proxy whose run has been started."""
    passes = Passes({**SPEC, "target": THROUGH_A_PROXY})
    passes.run()
    return passes


@pytest.mark.parametrize("pods", [(TARGET,), (TARGET, pod(Role.PROXY, ready=False)), (STARTING_TARGET, PROXY)])
def test_a_target_behind_a_proxy_takes_logins_when_both_are_ready(proxied: Passes, pods: tuple[Any, ...]) -> None:
    proxied.run(*pods, after_s=1)
    assert (proxied.status["phase"], proxied.condition("TargetReady")["status"]) == ("PreparingTarget", "Unknown")
    proxied.run(TARGET, PROXY, after_s=1)
    assert (proxied.status["phase"], proxied.condition("TargetReady")["status"]) == ("StartingWorkers", "True")
    assert (
        "quickstart-target accepts logins through pod quickstart-proxy" in proxied.condition("TargetReady")["message"]
    )


def test_a_proxy_that_never_becomes_ready_is_named(proxied: Passes) -> None:
    proxied.run(TARGET, pod(Role.PROXY, ready=False), after_s=61)
    assert proxied.said() == ("Error", "TargetNeverReady")
    assert "pod quickstart-proxy is Running and not ready" in proxied.status["message"]


def test_a_proxy_without_its_image_is_an_error_that_names_it(proxied: Passes) -> None:
    stuck = pod(Role.PROXY, waiting_reason="ErrImagePull", phase="Pending", ready=False)
    proxied.run(TARGET, stuck, after_s=1)
    proxied.run(TARGET, stuck, after_s=15)
    assert proxied.said() == ("Error", "ImageUnavailable")
    assert "image registry.example.com/sshload-proxy:1.2.3" in proxied.status["message"]


def test_a_proxy_that_ends_before_the_load_is_an_error_with_its_last_words(proxied: Passes) -> None:
    said = "Cannot raise FD limit to 40018, limit is 1024."
    proxied.run(TARGET, pod(Role.PROXY, ready=False, exit_code=1, restarts=1, termination_message=said), after_s=2)
    assert proxied.said() == ("Error", "TargetFailed")
    assert (
        f"the proxy (pod quickstart-proxy) ended before the load began with exit code 1: {said}"
        in proxied.status["message"]
    )


LOST_PROXIES = {
    "restarted": (pod(Role.PROXY, restarts=1, exit_code=137),),
    "deleted": (pod(Role.PROXY, deleting=True),),
    "gone": (),
    "its-successor-is-there-already": (pod(Role.PROXY, name="quickstart-proxy-2"),),
}


@pytest.mark.parametrize("proxy", LOST_PROXIES.values(), ids=LOST_PROXIES.keys())
def test_a_proxy_lost_while_the_load_runs_is_an_error(proxied: Passes, proxy: tuple[Any, ...]) -> None:
    proxied.run(TARGET, PROXY, MASTER, WORKER, SECOND_WORKER, after_s=3, snapshot=snapshot())
    assert proxied.status["phase"] == "Running"
    proxied.run(TARGET, *proxy, MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert proxied.said() == ("Error", "TargetLost")
    assert "the proxy in the path was lost while the load ran" in proxied.status["message"]


@pytest.mark.parametrize(
    ("target", "proxy"),
    [
        pytest.param(TARGET, pod(Role.PROXY, ready=False), id="proxy not ready"),
        pytest.param(pod(Role.TARGET, ready=False), PROXY, id="target not ready"),
        pytest.param(TARGET, pod(Role.PROXY, phase="Pending", ready=False), id="proxy told as Pending"),
        pytest.param(pod(Role.TARGET, phase="Pending", ready=False), PROXY, id="target told as Pending"),
    ],
)
def test_a_pod_whose_state_is_told_late_is_not_lost(proxied: Passes, target: Any, proxy: Any) -> None:
    """The master asks the pods itself, so the load may run before the kubelet has told that they are ready."""
    rest = (MASTER, WORKER, SECOND_WORKER)
    proxied.run(target, proxy, *rest, after_s=3, snapshot=snapshot())
    assert proxied.condition("TargetReady")["reason"] == "TargetNotReady"
    proxied.run(target, proxy, *rest, after_s=1, snapshot=snapshot())
    proxied.run(TARGET, PROXY, *rest, after_s=1, snapshot=snapshot())
    assert (proxied.status["phase"], proxied.condition("TargetReady")["reason"]) == ("Running", "TargetReady")


@pytest.mark.parametrize(
    ("role", "successor"), [(role, phase) for role in (Role.TARGET, Role.PROXY) for phase in ("Pending", "Running")]
)
def test_a_pod_that_is_replaced_before_all_are_ready_is_lost(proxied: Passes, role: Role, successor: str) -> None:
    rest = (MASTER, WORKER, SECOND_WORKER)
    proxied.run(TARGET, pod(Role.PROXY, ready=False), *rest, after_s=3, snapshot=snapshot())
    (stays,) = {TARGET, PROXY} - {pod(role)}
    proxied.run(stays, pod(role, name="successor", phase=successor), *rest, after_s=1, snapshot=snapshot())
    assert proxied.said() == ("Error", "TargetLost")
    assert "its pod was replaced by another" in proxied.status["message"]


@pytest.fixture
def before_a_gateway() -> Passes:
    """Return a test through a gateway whose run has been started."""
    steps = {"steps": [{"exec": {"command": "true"}}]}
    passes = Passes({**SPEC, "target": {"managed": {"gateway": {"policy": "pool"}}}, "scenario": steps})
    passes.run()
    return passes


def test_a_target_behind_a_gateway_takes_logins_when_both_are_ready(before_a_gateway: Passes) -> None:
    before_a_gateway.run(TARGET, pod(Role.GATEWAY, ready=False), after_s=1)
    assert before_a_gateway.condition("TargetReady")["status"] == "Unknown"
    before_a_gateway.run(TARGET, pod(Role.GATEWAY), after_s=1)
    ready = before_a_gateway.condition("TargetReady")
    assert (ready["status"], ready["message"]) == (
        "True",
        "pod quickstart-target accepts logins through pod quickstart-gateway",
    )


def test_a_gateway_without_its_image_is_an_error_that_names_it(before_a_gateway: Passes) -> None:
    stuck = pod(Role.GATEWAY, waiting_reason="ErrImagePull", phase="Pending", ready=False)
    before_a_gateway.run(TARGET, stuck, after_s=1)
    before_a_gateway.run(TARGET, stuck, after_s=15)
    assert before_a_gateway.said() == ("Error", "ImageUnavailable")
    assert "image registry.example.com/sshload-gateway:1.2.3" in before_a_gateway.status["message"]


def test_a_gateway_lost_while_the_load_runs_is_an_error(before_a_gateway: Passes) -> None:
    gateway = pod(Role.GATEWAY)
    before_a_gateway.run(TARGET, gateway, MASTER, WORKER, SECOND_WORKER, after_s=3, snapshot=snapshot())
    before_a_gateway.run(TARGET, MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert before_a_gateway.said() == ("Error", "TargetLost")
    assert "the gateway was lost while the load ran" in before_a_gateway.status["message"]


LOST_TARGETS = {
    "restarted": (pod(Role.TARGET, restarts=1, exit_code=137, termination_message="OOMKilled"),),
    "failed": (pod(Role.TARGET, phase="Failed", ready=False, termination_message="Evicted"),),
    "deleted": (pod(Role.TARGET, deleting=True),),
    "gone": (),
    "its-successor-is-not-there-yet": (pod(Role.TARGET, name="quickstart-target-2", phase="Pending", ready=False),),
    "its-successor-is-there-already": (pod(Role.TARGET, name="quickstart-target-2"),),
}


@pytest.mark.parametrize("target", LOST_TARGETS.values(), ids=LOST_TARGETS.keys())
def test_a_target_lost_while_the_load_runs_is_an_error(running: Passes, target: tuple[Any, ...]) -> None:
    running.run(*target, MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert running.said() == ("Error", "TargetLost")


def test_what_a_dead_master_printed_of_its_load_is_not_taken_for_its_last_words(running: Passes) -> None:
    words = f"{snapshot_line(snapshot())}\nKilled\n{snapshot_line(snapshot())}"
    dead = pod(Role.MASTER, phase="Failed", ready=False, exit_code=255, termination_message=words)
    for _ in range(3):
        running.run(TARGET, dead, WORKER, SECOND_WORKER, after_s=5, log=SILENT_LOG)
    assert running.said() == ("Error", "MasterLost")
    assert running.status["message"].endswith("ended with exit code 255 and left no results: Killed")


EVICTION = "EvictionByEvictionAPI: Eviction API: evicting"
EVICTED_TARGET = pod(Role.TARGET, deleting=True, disruption=EVICTION)


def assert_lost_by_eviction(passes: Passes) -> None:
    assert passes.said() == ("Error", "TargetLost")
    assert f"pod quickstart-target had the condition DisruptionTarget ({EVICTION})" in passes.status["message"]


def test_a_target_that_is_evicted_is_lost_by_what_its_pods_condition_says(running: Passes) -> None:
    running.run(EVICTED_TARGET, MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert_lost_by_eviction(running)


def test_a_target_that_is_gone_after_its_eviction_is_lost_by_the_same_words(running: Passes) -> None:
    running.disrupted = (EVICTED_TARGET,)
    running.run(MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert_lost_by_eviction(running)


def test_a_master_that_was_evicted_is_lost_by_what_its_pods_condition_says(running: Passes) -> None:
    evicted = pod(Role.MASTER, deleting=True, disruption=EVICTION)
    running.disrupted = (evicted,)
    running.run(TARGET, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert running.said() == ("Error", "MasterLost")
    assert EVICTION in running.status["message"]


def test_a_master_on_a_lost_node_is_lost_although_its_log_cannot_be_read_and_its_pod_seems_to_run(
    running: Passes,
) -> None:
    taken = pod(Role.MASTER, deleting=True, ready=False, disruption="DeletionByTaintManager: node is unreachable")
    running.unread = "no answer within 10 s"
    running.run(TARGET, taken, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    running.run(TARGET, taken, WORKER, SECOND_WORKER, after_s=14, snapshot=snapshot())
    assert "verdict" not in running.status
    running.run(TARGET, taken, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert running.said() == ("Error", "MasterLost")
    assert "DeletionByTaintManager: node is unreachable" in running.status["message"]


@pytest.mark.parametrize("end", [RunEnd.WORKER_LOST, RunEnd.STOPPED])
def test_what_the_master_finds_out_is_told_with_what_befell_the_pod(running: Passes, end: RunEnd) -> None:
    role = Role.WORKER if end is RunEnd.WORKER_LOST else Role.MASTER
    evicted = pod(role, name="quickstart-1", disruption=EVICTION)
    running.disrupted = (evicted,)
    running.run(TARGET, MASTER, WORKER, after_s=1, summary=summary(end=end, message="gone"))
    assert f"pod quickstart-1 had the condition DisruptionTarget ({EVICTION})" in running.status["message"]


def test_what_befell_a_pod_of_an_earlier_run_is_not_told(running: Passes) -> None:
    earlier = pod(Role.TARGET, run_id=run_id(UID, 7), disruption=EVICTION)
    running.disrupted = (earlier,)
    running.run(MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert running.said() == ("Error", "TargetLost")
    assert EVICTION not in running.status["message"]


def test_a_lost_worker_is_told_with_how_its_pod_ended(running: Passes) -> None:
    dead = pod(Role.WORKER, phase="Failed", exit_code=137, termination_message="OOMKilled")
    lost = summary(end=RunEnd.WORKER_LOST, message="worker 0 went silent")
    running.run(TARGET, MASTER, dead, SECOND_WORKER, after_s=1, summary=lost)
    assert running.said() == ("Invalid", "WorkerLost")
    assert "ended with exit code 137: OOMKilled" in running.status["message"]


def test_a_target_too_busy_for_its_probe_goes_on_being_measured(running: Passes) -> None:
    running.run(STARTING_TARGET, MASTER, WORKER, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert "verdict" not in running.status
    ready = running.condition("TargetReady")
    assert (ready["status"], ready["reason"]) == ("False", "TargetNotReady")
    running.run(*ALL, after_s=60, snapshot=snapshot())
    assert running.condition("TargetReady")["status"] == "True"


def test_a_master_that_died_gets_its_log_read_once_more_and_is_then_lost(running: Passes) -> None:
    dead = pod(Role.MASTER, phase="Failed", ready=False, exit_code=1, termination_message="ValueError: oh")
    running.run(TARGET, dead, WORKER, SECOND_WORKER, after_s=1, log=SILENT_LOG)
    assert running.status["phase"] == "Collecting"
    assert "verdict" not in running.status
    running.run(TARGET, dead, WORKER, SECOND_WORKER, after_s=4, log=SILENT_LOG)
    assert "verdict" not in running.status
    running.run(TARGET, dead, WORKER, SECOND_WORKER, after_s=1, log=SILENT_LOG)
    assert running.said() == ("Error", "MasterLost")
    assert "exit code 1" in running.status["message"]
    assert "ValueError: oh" in running.status["message"]


def test_a_master_whose_log_is_not_readable_gets_more_time(running: Passes) -> None:
    ended = pod(Role.MASTER, phase="Succeeded", ready=False, exit_code=0)
    running.run(TARGET, ended, after_s=1)
    running.run(TARGET, ended, after_s=14)
    assert running.status["phase"] == "Collecting"
    running.run(TARGET, ended, after_s=1)
    assert running.said() == ("Error", "ResultsUnreadable")


def test_results_that_come_late_count(running: Passes) -> None:
    ended = pod(Role.MASTER, phase="Succeeded", ready=False, exit_code=0)
    running.run(TARGET, ended, after_s=1)
    running.run(TARGET, ended, after_s=60, summary=summary())
    assert running.said() == ("Passed", "NoThresholds")


def test_a_target_that_goes_after_the_load_takes_no_results_with_it(running: Passes) -> None:
    ended = pod(Role.MASTER, phase="Succeeded", ready=False, exit_code=0)
    running.run(ended, after_s=1)
    assert running.status["phase"] == "Collecting"
    running.run(ended, after_s=1, summary=summary())
    assert running.said() == ("Passed", "NoThresholds")


def test_a_master_that_dies_while_the_target_still_starts_is_what_is_lost(started: Passes) -> None:
    dead = pod(Role.MASTER, phase="Failed", ready=False, exit_code=1)
    started.run(STARTING_TARGET, dead, WORKER, after_s=1, log=SILENT_LOG)
    started.run(STARTING_TARGET, dead, WORKER, after_s=5, log=SILENT_LOG)
    assert started.said() == ("Error", "MasterLost")


@pytest.mark.parametrize(
    ("masters", "seen"),
    [
        pytest.param((), None, id="gone"),
        pytest.param((pod(Role.MASTER, phase="Pending", ready=False),), None, id="its-successor-starts"),
        pytest.param((MASTER,), snapshot(Stage.WAITING_FOR_WORKERS), id="its-successor-waits-for-workers"),
    ],
)
def test_a_master_that_vanished_is_lost_at_once(running: Passes, masters: tuple[Any, ...], seen: Any) -> None:
    running.run(TARGET, *masters, WORKER, SECOND_WORKER, after_s=1, snapshot=seen)
    assert running.said() == ("Error", "MasterLost")


def test_results_that_cannot_be_used_are_said_to_be_so(running: Passes) -> None:
    broken = MasterLog(snapshot=None, summary=None, summary_lines=3, problem="the SHA-256 differs")
    running.run(*ALL, after_s=1, log=broken)
    assert running.status["phase"] == "Collecting"
    running.run(*ALL, after_s=5, log=broken)
    assert running.said() == ("Error", "ResultsUnreadable")
    assert "the SHA-256 differs" in running.status["message"]


PULLING = {"phase": "Pending", "ready": False, "waiting_message": "no such host"}
BLOCKED = {
    "target-image": (pod(Role.TARGET, waiting_reason="ErrImagePull", **PULLING), "TargetReady", "ImageUnavailable"),
    "target-backs-off": (
        pod(Role.TARGET, waiting_reason="ImagePullBackOff", **PULLING),
        "TargetReady",
        "ImageUnavailable",
    ),
    "worker-image": (pod(Role.WORKER, waiting_reason="ErrImagePull", **PULLING), "WorkersReady", "ImageUnavailable"),
    "master-image": (
        pod(Role.MASTER, waiting_reason="ErrImageNeverPull", **PULLING),
        "WorkersReady",
        "ImageUnavailable",
    ),
    "missing-secret": (
        pod(Role.WORKER, waiting_reason="CreateContainerConfigError", **PULLING),
        "WorkersReady",
        "PodConfigError",
    ),
}


@pytest.mark.parametrize(("stuck", "condition", "reason"), BLOCKED.values(), ids=BLOCKED.keys())
def test_a_pod_that_cannot_start_is_shown_at_once_and_is_an_error_after_15_s(
    started: Passes, stuck: Any, condition: str, reason: str
) -> None:
    others = [one for one in (TARGET, MASTER, WORKER) if one.role is not stuck.role]
    decision = started.run(stuck, *others, after_s=2)
    assert started.status["reason"] == reason
    assert "no such host" in started.status["message"]
    assert (started.condition(condition)["status"], started.condition(condition)["reason"]) == ("False", reason)
    assert [said.warning for said in decision.announcements] == [True]
    assert "verdict" not in started.status
    assert started.run(stuck, *others, after_s=14).announcements == ()
    assert "verdict" not in started.status
    started.run(stuck, *others, after_s=1)
    assert started.said() == ("Error", reason)
    assert stuck.name in started.status["message"]


def test_an_image_that_comes_after_all_clears_the_condition(started: Passes) -> None:
    stuck = pod(Role.TARGET, waiting_reason="ErrImagePull", **PULLING)
    started.run(stuck, after_s=2)
    started.run(STARTING_TARGET, after_s=10)
    assert started.condition("TargetReady")["status"] == "Unknown"
    started.run(stuck, after_s=10)
    assert "verdict" not in started.status


def test_the_image_is_named(started: Passes) -> None:
    started.edit(target={"managed": {"image": "localhost/no-such-image:1"}})
    started.run(after_s=1)
    started.run(pod(Role.TARGET, waiting_reason="ErrImagePull", phase="Pending", ready=False), after_s=1)
    assert "localhost/no-such-image:1" in started.status["message"]


def test_an_image_name_that_is_none_is_an_error_at_once(started: Passes) -> None:
    started.run(pod(Role.TARGET, waiting_reason="InvalidImageName", **PULLING), after_s=1)
    assert started.said() == ("Error", "ImageUnavailable")


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        pytest.param("Pod", "pods are not admitted: exceeded quota: few. ", id="pods"),
        pytest.param("Service", "a Service is not admitted: exceeded quota: few. ", id="service"),
        pytest.param("ReplicaSet", "a ReplicaSet is not admitted: exceeded quota: few. ", id="replica-set"),
    ],
)
def test_what_is_not_admitted_is_named(started: Passes, kind: str, begins: str) -> None:
    started.rejected_kind = kind
    for after_s in (3, 15):
        started.run(after_s=after_s, rejected="exceeded quota: few.")
    assert started.said() == ("Error", "PodRejected")
    assert started.status["message"].startswith(begins)


def test_pods_that_are_not_admitted_are_an_error_after_15_s(started: Passes) -> None:
    started.run(TARGET, MASTER, after_s=3, rejected="exceeded quota: few")
    assert started.status["reason"] == "PodRejected"
    started.run(TARGET, MASTER, after_s=15, rejected="exceeded quota: few")
    assert started.said() == ("Error", "PodRejected")
    assert "exceeded quota: few" in started.status["message"]


def test_a_pod_that_no_node_takes_is_shown_and_waited_for_until_the_start_timeout(started: Passes) -> None:
    unplaced = pod(Role.TARGET, phase="Pending", ready=False, blocked_message="0/1 nodes are available")
    started.run(unplaced, MASTER, after_s=2)
    assert started.status["reason"] == "Unschedulable"
    assert "0/1 nodes are available" in started.status["message"]
    started.run(unplaced, MASTER, after_s=57)
    assert "verdict" not in started.status
    started.run(unplaced, MASTER, after_s=1)
    assert started.said() == ("Error", "TargetNeverReady")
    assert "0/1 nodes are available" in started.status["message"]


@pytest.mark.parametrize(
    ("role", "advice"),
    [
        pytest.param(Role.WORKER, "Lower spec.workers.resources", id="worker"),
        pytest.param(Role.TARGET, "Lower spec.target.managed.resources", id="target"),
        pytest.param(Role.MASTER, "Add a node", id="master"),
    ],
)
def test_a_pod_that_asks_for_too_much_is_shown_with_what_to_do(started: Passes, role: Role, advice: str) -> None:
    unplaced = pod(role, phase="Pending", ready=False, blocked_message="0/1 nodes are available: 1 Insufficient cpu.")
    started.run(*(found for found in ALL if found.role is not role), unplaced, after_s=2)
    assert started.status["reason"] == "Unschedulable"
    assert f"1 Insufficient cpu. {advice}" in started.status["message"]


def test_workers_that_do_not_connect_are_missing_at_the_start_timeout(started: Passes) -> None:
    waiting = snapshot(Stage.WAITING_FOR_WORKERS, workers_connected=1)
    started.run(TARGET, MASTER, WORKER, after_s=60, snapshot=waiting)
    assert started.said() == ("Error", "WorkersMissing")
    assert "1 of 2 workers" in started.status["message"]


def test_workers_that_have_all_come_and_cannot_begin_are_not_the_ones_that_are_missing(started: Passes) -> None:
    waiting = snapshot(Stage.WAITING_FOR_WORKERS, workers_connected=2, problem="quickstart-target: Name not known")
    started.run(*ALL, after_s=60, snapshot=waiting)
    assert started.said() == ("Error", "TargetUnreachable")
    assert "quickstart-target: Name not known" in started.status["message"]


def test_the_start_timeout_is_over_once_the_load_runs(running: Passes) -> None:
    running.run(*ALL, after_s=120, snapshot=snapshot())
    assert "verdict" not in running.status


def test_a_lost_worker_is_left_to_the_masters_summary(running: Passes) -> None:
    dead = pod(Role.WORKER, name="quickstart-worker-0", phase="Failed", exit_code=137)
    running.run(TARGET, MASTER, dead, SECOND_WORKER, after_s=1, snapshot=snapshot())
    assert running.status["reason"] == "WorkerLost"
    running.run(*ALL, after_s=5, summary=summary(end=RunEnd.WORKER_LOST, message="worker 0 went silent"))
    assert running.said() == ("Invalid", "WorkerLost")
    assert "worker 0 went silent" in running.status["message"]


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param((pod(Role.WORKER, phase="Failed", exit_code=137), SECOND_WORKER), id="failed"),
        pytest.param((pod(Role.WORKER, deleting=True), SECOND_WORKER), id="deleted"),
        pytest.param((SECOND_WORKER,), id="gone"),
    ],
)
def test_a_lost_worker_that_the_master_does_not_notice_makes_the_run_invalid(
    running: Passes, workers: tuple[Any, ...]
) -> None:
    running.run(TARGET, MASTER, *workers, after_s=1, snapshot=snapshot())
    running.run(TARGET, MASTER, *workers, after_s=14, snapshot=snapshot())
    assert "verdict" not in running.status
    running.run(TARGET, MASTER, *workers, after_s=1, snapshot=snapshot())
    assert running.said() == ("Invalid", "WorkerLost")


def test_a_worker_that_dies_before_the_load_is_missing(started: Passes) -> None:
    dead = pod(Role.WORKER, phase="Failed", exit_code=1, termination_message="no such file")
    started.run(TARGET, MASTER, dead, after_s=1)
    started.run(TARGET, MASTER, dead, after_s=15)
    assert started.said() == ("Error", "WorkersMissing")
    assert "no such file" in started.status["message"]


def test_workers_that_ended_well_are_not_lost(running: Passes) -> None:
    ended = [pod(Role.WORKER, name=name, phase="Succeeded", exit_code=0) for name in ("a", "b")]
    running.run(TARGET, MASTER, *ended, after_s=20, snapshot=snapshot(Stage.DRAINING))
    assert running.condition("WorkersReady")["status"] == "True"


def test_the_pods_of_another_run_do_not_count(running: Passes) -> None:
    running.generation = 3
    stranger = pod(Role.TARGET, **running.of_run(2), phase="Failed", exit_code=137)
    decision = running.run(*ALL, stranger, after_s=1, snapshot=snapshot())
    assert "verdict" not in running.status
    assert decision.sweep == (run_id(UID, 2),)


@pytest.mark.parametrize("forged", [{}, {"phase": "Pending"}, {"phase": "Finished", "run": 4_000}, {"run": 4_001}])
@pytest.mark.parametrize("changes", [{"abort": True}, {"suspend": True}, {"warmUp": "2s"}, {"load": "soon"}])
def test_a_run_is_swept_however_often_the_spec_was_edited_since_and_whatever_the_status_says(
    running: Passes, forged: dict[str, Any], changes: dict[str, Any]
) -> None:
    old = running.run_id
    running.generation += 5_000
    running.edit(**changes)
    running.status = {**running.status, **forged} if forged else {}
    left = [pod(one.role, name=one.name, **running.of_run(1)) for one in ALL]
    assert old in running.run(*left, after_s=1).sweep


def test_of_many_runs_that_pods_state_a_pass_sweeps_ten_and_others_the_next_time(running: Passes) -> None:
    running.generation = 1_000
    stated = [pod(Role.WORKER, name=f"worker-{run}", **running.of_run(run)) for run in range(100, 150)]
    swept = [running.run(*ALL, *stated, after_s=1.000_007, snapshot=snapshot()).sweep for _ in range(100)]
    assert {len(runs) for runs in swept} == {10}
    assert {swept_id for runs in swept for swept_id in runs} == {pod.run_id for pod in stated}


def test_a_run_id_that_no_run_of_the_test_has_is_not_swept(running: Passes) -> None:
    """Names of objects are made from it: "signing" would delete the Secret quickstart-signing-keys."""
    claimed = ("signing", run_id("another uid", 1), run_id(UID, 2))
    strangers = [pod(Role.MASTER, run_id=stated, run=1, name=stated) for stated in claimed]
    decision = running.run(*ALL, *strangers, after_s=1, snapshot=snapshot())
    assert decision.sweep == ()


@pytest.mark.parametrize("phase", ["Running", "Finished"])
@pytest.mark.parametrize("changes", [{"abort": True}, {"suspend": True}, {"warmUp": "2s"}, {"load": "soon"}, {}])
def test_a_run_that_the_test_cannot_have_had_is_not_swept(running: Passes, phase: str, changes: dict[str, Any]) -> None:
    """Who may write a status states any number in it, and so looks for one that makes the name of another's object."""
    forged = 10**6
    running.status = {**running.status, "run": forged, "phase": phase}
    running.edit(**changes)
    decision = running.run(*ALL, pod(Role.MASTER, **running.of_run(forged), name="stated"), after_s=1)
    own = {run_id(UID, run) for run in range(1, running.generation + 1)}
    assert {*decision.sweep, *decision.replaced} <= own


def test_an_external_target_has_no_pod_to_wait_for() -> None:
    passes = Passes({**SPEC, "target": {"external": EXTERNAL}})
    passes.run()
    assert passes.said() == ("Error", "TargetNotAllowed")


def test_a_quota_that_keeps_out_the_workers_of_an_external_target_says_nothing_of_the_target() -> None:
    anywhere = allowing(AllowedTarget("*", (22,)))
    passes = Passes({**SPEC, "target": {"external": EXTERNAL}}, installation=anywhere)
    passes.run()
    assert passes.status["phase"] == "StartingWorkers"
    passes.run(MASTER, after_s=3, rejected="exceeded quota: few")
    assert passes.condition("TargetReady")["reason"] == "TargetExternal"
    assert passes.condition("WorkersReady")["reason"] == "PodRejected"


def test_how_long_a_pod_is_stuck_counts_from_the_start_of_its_own_run(running: Passes) -> None:
    """A finished run leaves TargetReady at False, and a start that was cut short leaves no status between."""
    running.run(*ALL, after_s=30, summary=summary())
    running.edit(load={"arrivals": {"stages": [{"rate": 5, "duration": "30s"}]}})
    stuck = pod(Role.TARGET, waiting_reason="ErrImagePull", run_id=run_id(UID, 2), **PULLING)
    assert running.run(stuck, after_s=3_600).start
    running.run(stuck, after_s=14)
    assert "verdict" not in running.status
    running.run(stuck, after_s=1)
    assert running.said() == ("Error", "ImageUnavailable")


def test_a_load_that_cannot_be_is_refused_and_starts_nothing() -> None:
    passes = Passes({**SPEC, "load": {"arrivals": {"stages": [{"rate": 5000, "duration": "60s"}]}}})
    decision = passes.run()
    assert passes.said() == ("Error", "LoadImpossible")
    assert not decision.start
