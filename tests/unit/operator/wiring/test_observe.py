"""What is seen of a run where watch, list and log do not say the same."""

import asyncio
import gc
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from passes import START
from plans import TOKEN, plan, quickstart
from played_api import played_cluster
from runs import snapshot, summary
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.master_log import (
    SUMMARY_LINES_LIMIT,
    Stage,
    proof_sha256,
    read_master_log,
    snapshot_line,
    summary_lines,
)
from sshload_contract.wire.report import EncodedHistogram
from sshload_operator.control.run import observe as observe_module
from sshload_operator.control.run.judging import Judging, LogReading
from sshload_operator.control.run.observe import FailedStart, Observations, Rejection, RunUnderWay, observe
from sshload_operator.manifests import child_name
from sshload_operator.manifests.labels import TEST_UID_ANNOTATION, role_labels
from sshload_operator.planning.plan import Plan, run_id
from sshload_operator.state import Observed, ObservedBaseline, Role

# Random enough that the summary takes more lines than a tail has.
RANDOM = EncodedHistogram("total", Window.MEASURED, Outcome.OK, 1, "".join(map(str, range(99_999))))
SUMMARY = tuple(summary_lines(summary(histograms=(RANDOM,)), TOKEN))


def pod(plan: Plan, role: Role, phase: str, version: int) -> dict[str, Any]:
    maker = child_name(plan, role)
    kind, name = ("Job", maker) if role is Role.MASTER else ("ReplicaSet", f"{maker}-5c9f")
    owner = {"kind": kind, "name": name, "uid": "maker", "controller": True}
    metadata = {"name": f"{maker}-x", "resourceVersion": str(version), "ownerReferences": [owner]}
    return {"metadata": {**metadata, "labels": role_labels(plan, role)}, "status": {"phase": phase}}


def master_job(plan: Plan) -> dict[str, Any]:
    owner = {"kind": "SSHLoadTest", "name": plan.test.name, "uid": plan.test.uid, "controller": True}
    metadata = {"name": child_name(plan, Role.MASTER), "uid": "maker", "ownerReferences": [owner]}
    return {"metadata": {**metadata, "labels": role_labels(plan, Role.MASTER)}}


def seen(  # noqa: PLR0913 - each is something else that is served
    plan: Plan,
    observations: Observations,
    *lists: list[dict[str, Any]],
    phase: str = "StartingWorkers",
    elapsed_s: float = 1.0,
    log: str | None = None,
    deployed: Sequence[Mapping[str, str]] | None = (),
    events: Sequence[tuple[str, str]] = (),
) -> tuple[Observed, list[str]]:
    """Observe a run, of which the master says that the load goes on; return what is seen and what was listed.

    `lists` are the pods that the API server lists, the first time and later, `deployed` the conditions of Deployments,
    None where they cannot be read, `events` the names and messages of what Events are about.
    """
    pods = iter(lists)
    asked: list[str] = []
    said = snapshot_line(replace(snapshot(), run_id=plan.run_id)) if log is None else log

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("/log"):
            return web.Response(text=f"{said}\n")
        if request.path.endswith("/events"):
            told = [{"involvedObject": {"name": name}, "message": message} for name, message in events]
            return web.json_response({"items": told, "metadata": {}})
        if "/deployments/" in request.path and deployed is None:
            return web.Response(status=500)
        if "/deployments/" in request.path:
            return web.json_response({"metadata": {}, "status": {"conditions": list(deployed or ())}})
        asked.append(request.path.rpartition("/")[2])
        items = next(pods) if request.path.endswith("/pods") else [master_job(plan)]
        return web.json_response({"items": items, "metadata": {}})

    async def play() -> Observed:
        judging = Judging()
        async with played_cluster(answer) as cluster:
            try:
                run = RunUnderWay({"status": {"phase": phase}}, plan, START, elapsed_s)
                return await observe(cluster, judging, observations, plan.test, run)
            finally:
                judging.stop()

    return asyncio.run(play()), asked


def of_watch(plan: Plan, target: str) -> Observations:
    """Return what was listed just now, and then heard by the watch: a master that runs, and a target in this phase."""
    observations = Observations(listed_at_s=time.monotonic())
    observations.job_seen(master_job(plan))
    observations.pod_changed("MODIFIED", pod(plan, Role.MASTER, "Running", 5))
    observations.pod_changed("MODIFIED", pod(plan, Role.TARGET, target, 6))
    return observations


def phases(observed: Observed) -> dict[Role, str]:
    return {found.role: found.phase for found in observed.pods}


def test_a_watch_that_is_behind_the_masters_log_loses_no_target() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Pending")
    listed = [pod(asked, Role.MASTER, "Running", 5), pod(asked, Role.TARGET, "Running", 8)]
    observed, lists = seen(asked, observations, listed)
    assert phases(observed) == {Role.MASTER: "Running", Role.TARGET: "Running"}
    assert lists == ["pods", "jobs"]


@pytest.mark.parametrize(("since_timeout_s", "is_listed"), [(-0.1, False), (0.0, True), (20.0, True)])
def test_pods_are_listed_before_a_run_ends_at_its_start_timeout(since_timeout_s: float, *, is_listed: bool) -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Pending")
    observations.listed_at_s = time.monotonic() - 25.0
    listed = [pod(asked, Role.MASTER, "Running", 5), pod(asked, Role.TARGET, "Running", 8)]
    elapsed_s = asked.spec.start_timeout_s + since_timeout_s
    observed, lists = seen(asked, observations, listed, elapsed_s=elapsed_s, log="")
    assert ("pods" in lists) is is_listed
    assert phases(observed)[Role.TARGET] == ("Running" if is_listed else "Pending")


def test_pods_that_were_listed_since_the_start_timeout_are_not_listed_again() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Pending")
    _, lists = seen(asked, observations, elapsed_s=asked.spec.start_timeout_s + 5.0, log="")
    assert "pods" not in lists


def test_a_load_that_goes_on_with_all_its_pods_costs_no_list() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Running")
    observed, lists = seen(asked, observations, phase="Running")
    assert phases(observed) == {Role.MASTER: "Running", Role.TARGET: "Running"}
    assert (lists, observed.unread) == ([], "")


def test_a_master_that_still_waits_for_workers_says_nothing_of_a_target_that_is_not_seen_to_run() -> None:
    asked = plan(quickstart())
    waits = snapshot_line(replace(snapshot(Stage.WAITING_FOR_WORKERS), run_id=asked.run_id))
    observed, lists = seen(asked, of_watch(asked, "Pending"), log=waits)
    assert (phases(observed)[Role.TARGET], lists) == ("Pending", [])


def test_a_list_that_is_older_than_the_masters_log_loses_no_target() -> None:
    asked = plan(quickstart())
    master = pod(asked, Role.MASTER, "Running", 5)
    before, after = [master, pod(asked, Role.TARGET, "Pending", 6)], [master, pod(asked, Role.TARGET, "Running", 8)]
    observed, lists = seen(asked, Observations(), before, after)
    assert phases(observed) == {Role.MASTER: "Running", Role.TARGET: "Running"}
    assert lists == ["pods", "jobs", "pods", "jobs"]


def test_a_pod_of_which_the_watch_told_before_a_list_is_gone_if_the_list_has_it_not() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Running")
    observations.listed_at_s = None
    observed, _ = seen(asked, observations, *[[pod(asked, Role.MASTER, "Running", 5)]] * 2)
    assert phases(observed) == {Role.MASTER: "Running"}


@pytest.mark.parametrize("is_deleted", [True, False], ids=["one of which is deleted", "both of which stay"])
def test_of_two_masters_the_one_that_stays_is_read_and_none_if_both_do(*, is_deleted: bool) -> None:
    asked = plan(quickstart())
    observations, first = of_watch(asked, "Running"), pod(asked, Role.MASTER, "Running", 7)
    first["metadata"] |= {"name": "first"} | ({"deletionTimestamp": "2026-11-28T12:00:00Z"} if is_deleted else {})
    observations.pod_changed("MODIFIED", first)
    observed, _ = seen(asked, observations, phase="Running")
    assert (observed.log is not None) is is_deleted


def test_what_could_not_be_made_or_mounted_is_forgotten_once_all_is_there() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Running")
    observations.rejected = Rejection("Pod", "exceeded quota")
    observations.never_start = {"p": FailedStart("FailedMount", "no such Secret")}
    observed, _ = seen(asked, observations, phase="Running")
    assert (observed.rejected_message, observations.never_start) == ("", {})


def waiting(plan: Plan, role: Role) -> dict[str, Any]:
    container = {"name": role, "state": {"waiting": {"reason": "ContainerCreating"}}}
    found = pod(plan, role, "Pending", 8)
    return {**found, "status": {**found["status"], "containerStatuses": [container]}}


def test_what_cannot_be_mounted_is_told_of_the_pods_that_wait_for_it_and_as_long_as_they_do() -> None:
    asked, missing = plan(quickstart()), 'MountVolume.SetUp failed for volume "keys": secret "own" not found'
    observations = of_watch(asked, "Pending")
    those = [waiting(asked, role) for role in (Role.MASTER, Role.TARGET)]
    for one in those:
        observations.pod_changed("MODIFIED", one)
    names = [one["metadata"]["name"] for one in those]
    events = [*((name, missing) for name in names), ("of somebody else", missing), (names[0], "timed out")]
    observed, _ = seen(asked, observations, elapsed_s=5.0, events=events)
    told = {found.name: (found.waiting_reason, found.waiting_message) for found in observed.pods}
    assert told == dict.fromkeys(names, ("FailedMount", missing))
    assert set(observations.never_start) == set(names)
    observations.pod_changed("MODIFIED", pod(asked, Role.TARGET, "Running", 9))
    observed, _ = seen(asked, observations, elapsed_s=5.0, events=events)
    assert {found.name: found.waiting_message for found in observed.pods} == {names[0]: missing, names[1]: ""}


NO_RUNTIME = "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces"


@pytest.mark.parametrize(
    ("system", "told"),
    [
        pytest.param({"system": {}}, ("FailedCreatePodSandBox", NO_RUNTIME), id="its user namespace"),
        pytest.param({}, ("ContainerCreating", ""), id="nothing that a node may lack"),
    ],
)
def test_a_node_that_cannot_make_what_a_target_takes_is_told(system: dict[str, Any], told: tuple[str, str]) -> None:
    asked = plan(quickstart(target={"managed": system}))
    observations = of_watch(asked, "Pending")
    one = waiting(asked, Role.TARGET)
    observations.pod_changed("MODIFIED", one)
    events = [(one["metadata"]["name"], NO_RUNTIME), (one["metadata"]["name"], "the network plugin is not ready")]
    observed, _ = seen(asked, observations, elapsed_s=5.0, events=events)
    (found,) = (found for found in observed.pods if found.role is Role.TARGET)
    assert (found.waiting_reason, found.waiting_message) == told


def test_nothing_that_was_or_is_being_read_of_an_earlier_run_is_taken_for_the_next_ones() -> None:
    async def play() -> None:
        earlier = asyncio.create_task(asyncio.sleep(3_600, ""))
        found = ObservedBaseline((), "of an earlier run")
        read = LogReading("of an earlier run", read_master_log(""))
        observations = Observations(
            log_of_run_id="earlier", reads=earlier, unread="no answer", baseline=found, reading=read, log_read_at_s=7.0
        )
        observe_module._forget_other_runs(observations, plan(quickstart()))
        assert (observations.reading, observations.log_read_at_s) == (None, None)
        assert (observations.reads, observations.unread, observations.baseline) == (None, "", None)
        await asyncio.wait({earlier}, timeout=0.1)
        assert earlier.cancelled()
        observations.baseline = found
        observe_module._forget_other_runs(observations, plan(quickstart()))
        assert observations.baseline is found

    asyncio.run(play())


@pytest.mark.parametrize("is_read", [True, False])
def test_what_could_not_be_made_of_an_earlier_run_is_no_reason_against_the_next_one(*, is_read: bool) -> None:
    asked, old = plan(quickstart()), Rejection("Pod", "of an earlier run")
    observations = Observations(log_of_run_id="earlier", rejected=old, rejection_read_at_s=time.monotonic())
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": SAID}
    listed = [pod(asked, Role.MASTER, "Running", 5)]
    deployed = [condition] if is_read else None
    observed, _ = seen(asked, observations, listed, listed, elapsed_s=60.0, deployed=deployed)
    assert observed.rejected_message == (SAID if is_read else "")


@pytest.mark.parametrize(
    ("message", "elapsed_s", "reason"),
    [
        ('MountVolume.SetUp failed for volume "x" : secret "x" not found', 60.0, "FailedMount"),
        ('MountVolume.SetUp failed for volume "x" : references non-existent secret key: y', 60.0, "FailedMount"),
        ("MountVolume.SetUp failed: timed out waiting for the condition", 60.0, "ContainerCreating"),
        ('MountVolume.SetUp failed for volume "x" : secret "x" not found', 1.0, "ContainerCreating"),
    ],
)
def test_a_pod_that_waits_for_a_secret_that_is_not_there_says_so_once_it_has_waited(
    message: str, elapsed_s: float, reason: str
) -> None:
    asked = plan(quickstart())
    observations, waiting = of_watch(asked, "Pending"), pod(asked, Role.TARGET, "Pending", 7)
    state = {"name": Role.TARGET, "state": {"waiting": {"reason": "ContainerCreating"}}}
    waiting["status"]["containerStatuses"] = [state]
    observations.pod_changed("MODIFIED", waiting)
    events = ((waiting["metadata"]["name"], message), ("another", "secret not found"))
    observed, _ = seen(asked, observations, elapsed_s=elapsed_s, log="", events=events)
    (target,) = (one for one in observed.pods if one.role is Role.TARGET)
    assert (target.waiting_reason, target.waiting_message) == (reason, message if reason == "FailedMount" else "")


def test_a_proxy_that_is_not_seen_to_run_while_the_load_goes_on_is_looked_for_again() -> None:
    asked = plan(quickstart(target={"managed": {"proxy": {"kind": "haproxy"}}}))
    others = [pod(asked, Role.MASTER, "Running", 5), pod(asked, Role.TARGET, "Running", 6)]
    before, after = [*others, pod(asked, Role.PROXY, "Pending", 7)], [*others, pod(asked, Role.PROXY, "Running", 8)]
    observed, _ = seen(asked, Observations(), before, after)
    assert phases(observed)[Role.PROXY] == "Running"


def test_reads_that_are_waited_for_in_vain_are_waited_for_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe_module, "_PATIENCE_AGAIN_S", 0.0)

    async def play() -> list[str]:
        judging, observations, asked, over, unread = Judging(), Observations(), plan(quickstart()), asyncio.Event(), []

        async def answer(_: web.Request) -> web.Response:
            await over.wait()
            return web.json_response({"items": [], "metadata": {}})

        async with played_cluster(answer) as cluster:
            for patience_s in (0.1, 3_600.0):
                monkeypatch.setattr(observe_module, "_PATIENCE_S", patience_s)
                run = RunUnderWay({}, asked, START, 1.0)
                unread.append((await observe(cluster, judging, observations, asked.test, run)).unread)
            over.set()
            assert observations.reads is not None
            await observations.reads
            judging.stop()
        return unread

    assert asyncio.run(play()) == ["no answer within 0.1 s"] * 2


def test_reads_that_are_given_up_leave_nothing_that_nobody_awaits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe_module, "_PATIENCE_S", 0.0)

    async def play() -> None:
        judging, observations, asked, over = Judging(), Observations(), plan(quickstart()), asyncio.Event()

        async def answer(_: web.Request) -> web.Response:
            await over.wait()
            return web.Response()

        async with played_cluster(answer) as cluster:
            run = RunUnderWay({}, asked, START, 1.0)
            await observe(cluster, judging, observations, asked.test, run)
            given_up = observations.reads
            assert given_up is not None
            given_up.cancel()
            await asyncio.wait({given_up})
            over.set()
            judging.stop()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(play())
        gc.collect()
    assert [str(warning.message) for warning in warned if warning.category is RuntimeWarning] == []


def of_printed(*reads: Sequence[str] | None) -> tuple[list[Observed], list[int]]:
    """Observe a run once for each time that its log was read whole, or read in vain; return how many lines were asked.

    Each of `reads` is what the log has at that request, None where the API server answers 500.
    """
    asked: list[int] = []
    logs = iter(reads)

    async def answer(request: web.Request) -> web.Response:
        if not request.path.endswith("/log"):
            return web.json_response({"items": [], "metadata": {}})
        asked.append(int(request.query["tailLines"]))
        lines = next(logs)
        return web.Response(status=500) if lines is None else web.Response(text="\n".join(lines[-asked[-1] :]))

    async def play() -> list[Observed]:
        judging, test_plan = Judging(), plan(quickstart())
        observations, seen = of_watch(test_plan, "Running"), []
        observations.proof_sha256[test_plan.run_id] = proof_sha256(TOKEN)
        async with played_cluster(answer) as cluster:
            while len(asked) < len(reads):
                observations.log_read_at_s = None
                run = RunUnderWay({"status": {"phase": "Running"}}, test_plan, START, 1.0)
                seen.append(await observe(cluster, judging, observations, test_plan.test, run))
            judging.stop()
        return seen

    return asyncio.run(play()), asked


def test_a_summary_that_could_not_be_read_is_read_below_many_later_lines() -> None:
    later = [*SUMMARY, *["a warning"] * 100]
    (first, second), asked = of_printed(SUMMARY, None, later)
    assert (first.unread != "", first.log is not None and first.log.summary_lines) == (True, len(SUMMARY))
    assert second.log is not None
    assert second.log.summary is not None
    assert asked == [10, len(SUMMARY) + 10, SUMMARY_LINES_LIMIT + 10]


def test_a_log_that_only_claims_a_summary_is_read_whole_once() -> None:
    claimed = [SUMMARY[-1]]
    seen, asked = of_printed(claimed, None, [*claimed, *["a warning"] * 300], ["a warning"], ["a warning"])
    assert all(found.log is not None and found.log.summary is None for found in seen)
    assert asked == [10, len(SUMMARY) + 10, SUMMARY_LINES_LIMIT + 10, 10, 10]


SAID = "pods are forbidden: exceeded quota"


@pytest.mark.parametrize(
    ("kind", "status", "reason", "rejected"),
    [
        ("ReplicaFailure", "True", "FailedCreate", ("Pod", SAID)),
        ("ReplicaFailure", "False", "FailedCreate", ("Pod", "")),
        ("ReplicaFailure", "Unknown", "FailedCreate", ("Pod", "")),
        ("Progressing", "False", "ReplicaSetCreateError", ("ReplicaSet", SAID)),
        ("Progressing", "True", "ReplicaSetCreateError", ("Pod", "")),
        ("Progressing", "False", "ProgressDeadlineExceeded", ("Pod", "")),
        ("Available", "False", "MinimumReplicasUnavailable", ("Pod", "")),
    ],
)
def test_a_deployment_says_what_was_refused_by_conditions_that_hold_now(
    kind: str, status: str, reason: str, rejected: tuple[str, str]
) -> None:
    asked = plan(quickstart())
    observations = Observations()
    condition = {"type": kind, "status": status, "reason": reason, "message": SAID}
    listed = [pod(asked, Role.MASTER, "Running", 5)]
    observed, _ = seen(asked, observations, listed, listed, elapsed_s=60.0, deployed=[condition])
    assert (observed.rejected_kind, observed.rejected_message) == rejected


def test_runs_that_an_earlier_test_of_the_name_left_behind_are_seen_though_no_run_is_under_way() -> None:
    asked = plan(quickstart(), run_id=run_id("former", 1))
    left = master_job(asked)
    left["metadata"] |= {"ownerReferences": [], "annotations": {TEST_UID_ANNOTATION: "former"}}

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"items": [left] if request.path.endswith("/jobs") else [], "metadata": {}})

    async def play() -> Observed:
        judging = Judging()
        async with played_cluster(answer) as cluster:
            found = await observe(cluster, judging, Observations(), asked.test, None)
            judging.stop()
            return found

    assert asyncio.run(play()).orphans == (asked.run_id,)


def test_what_was_refused_left_behind_and_found_as_a_baseline_is_seen_of_the_run_under_way() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Running")
    found = ObservedBaseline((), "found")
    observations.baseline, observations.log_of_run_id = found, asked.run_id
    observations.orphans, observations.refused = ("left",), Rejection("Service", "no more services")
    gone = pod(asked, Role.MASTER, "Running", 9)
    gone["metadata"]["name"] = "evicted"
    gone["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]
    observations.pod_changed("DELETED", gone)
    observed, _ = seen(asked, observations, phase="Running")
    assert (observed.rejected_kind, observed.rejected_message) == ("Service", "no more services")
    assert (observed.baseline, observed.orphans) == (found, ("left",))
    assert [one.name for one in observed.disrupted] == ["evicted"]


def test_what_cannot_be_read_is_logged_once_while_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    of_printed(SUMMARY[:1], None, None, SUMMARY[:1], None)
    assert len([said for said in caplog.messages if "not all could be read" in said]) == 2


def test_a_summary_that_does_not_carry_the_token_of_its_run_is_none() -> None:
    asked = plan(quickstart())
    lines = "\n".join(summary_lines(replace(summary(), run_id=asked.run_id), TOKEN))
    for proof, is_taken in ((proof_sha256(TOKEN), True), (proof_sha256("0" * 64), False), (None, False)):
        observations = of_watch(asked, "Running")
        if proof is not None:
            observations.proof_sha256[asked.run_id] = proof
        observed, _ = seen(asked, observations, phase="Running", log=lines)
        assert observed.log is not None
        assert (observed.log.summary is not None) is is_taken
        assert observed.log.problem == ("" if is_taken else "the summary does not carry the token of this run")


@pytest.mark.parametrize(("elapsed_s", "is_told"), [(60.0, True), (1.0, False)])
def test_a_job_that_could_make_no_pod_says_why_once_it_has_been_waited_for(elapsed_s: float, *, is_told: bool) -> None:
    asked = plan(quickstart())
    events = (("another-job", "another quota"), (child_name(asked, Role.WORKER), SAID))
    observations = of_watch(asked, "Running")
    observations.rejected = Rejection("Pod", "of a minute ago")
    observed, _ = seen(asked, observations, elapsed_s=elapsed_s, log="", events=events)
    assert observed.rejected_message == (SAID if is_told else "")


def test_a_role_is_asked_after_by_what_makes_its_pods_alone() -> None:
    asked = plan(quickstart())
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": SAID}
    workers_missing, _ = seen(asked, of_watch(asked, "Running"), elapsed_s=60.0, log="", deployed=[refused])
    assert workers_missing.rejected_message == ""
    of_target = ((child_name(asked, Role.TARGET), SAID),)
    all_missing, _ = seen(asked, Observations(), [], [], elapsed_s=60.0, log="", events=of_target)
    assert all_missing.rejected_message == ""


def test_a_master_that_ended_while_it_is_deleted_is_still_read() -> None:
    asked = plan(quickstart())
    observations, ended = of_watch(asked, "Running"), pod(asked, Role.MASTER, "Succeeded", 9)
    ended["metadata"]["deletionTimestamp"] = "2026-11-28T12:00:00Z"
    observations.pod_changed("MODIFIED", ended)
    observed, _ = seen(asked, observations, phase="Running")
    assert observed.log is not None


def test_the_log_of_another_run_is_not_the_runs() -> None:
    asked = plan(quickstart())
    observations = of_watch(asked, "Running")
    observations.reading, observations.log_of_run_id = LogReading("", read_master_log("")), "another"
    assert observe_module._log_of(observations, asked) is None
