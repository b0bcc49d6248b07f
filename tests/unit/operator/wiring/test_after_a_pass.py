"""How the operator goes on with a test after a pass over it, and which pods and Jobs ask for the next one."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from passes import START, UID, Passes
from plans import INSTALLATION
from runs import pod
from specs.small import SMALL
from sshload_operator.control.live import tests as live_tests
from sshload_operator.control.live.objects import Live, Next, Park, Rest, Stamp, Wait
from sshload_operator.control.live.tests import LiveTests, TestState, _following
from sshload_operator.control.logs import _about
from sshload_operator.control.run.judging import Judging
from sshload_operator.control.run.reconcile import Reconciled
from sshload_operator.manifests.labels import RUN_ID_LABEL, RUN_LABEL, TEST_LABEL, run_child_name
from sshload_operator.state import PodFacts, Role

KEY = ("load-tests", "quickstart")
PODS_GO_WITHIN_S = 10.0
DAY_S = 86_400


def body(status: Any, spec: Any = SMALL, version: int = 5, **metadata: Any) -> dict[str, Any]:
    """Return a test as the API server shows it."""
    named = {"namespace": KEY[0], "name": KEY[1], "uid": UID, "generation": 1, "resourceVersion": str(version)}
    times = {"creationTimestamp": "2026-11-21T12:00:00Z"}
    return {"metadata": {**named, **times, **metadata}, "spec": spec, "status": status}


def finished(**spec: Any) -> dict[str, Any]:
    """Return a test whose run was aborted before it began."""
    passes = Passes(spec={**SMALL, "abort": True, **spec})
    passes.run()
    assert passes.status["phase"] == "Finished"
    return body(passes.status, passes.spec)


RUNNING, HELD, OVER = body({"phase": "Running"}), body({"phase": "Pending"}), body({"phase": "Finished"})
POD = pod(Role.MASTER, name="p", controller_uid="job", run=1)


def live_of(seen: Any, *pods: PodFacts, has_children: bool = False, newest: int = 5) -> Live[TestState]:
    """Return a test at work, of which these pods were seen, and a version that may be newer than its body."""
    state = TestState(has_children=has_children)
    state.children.pods = {pod.name: pod for pod in pods}
    return Live(seen, state, Stamp(UID, 1, newest, deleting=False))


@pytest.mark.parametrize(
    ("left", "live", "following", "is_ending"),
    [
        pytest.param(RUNNING, live_of(RUNNING), Wait(7.0), False, id="it runs"),
        pytest.param(RUNNING, live_of(RUNNING, POD, has_children=True), Wait(7.0), False, id="it runs with its pods"),
        pytest.param(OVER, live_of(OVER), Rest(7.0), False, id="it is over"),
        pytest.param(OVER, live_of(OVER, POD), Wait(7.0), True, id="it is over and has a pod"),
        pytest.param(OVER, live_of(OVER, has_children=True), Wait(7.0), True, id="it is over and had pods"),
        pytest.param(OVER, live_of(OVER, replace(POD, deleting=True)), Rest(7.0), False, id="its pods go already"),
        pytest.param(OVER, live_of(OVER, newest=6), Wait(7.0), True, id="it is over and there is news of it"),
        pytest.param(HELD, live_of(HELD), Park(7.0), False, id="it is held back"),
        pytest.param(HELD, live_of(HELD, POD), Wait(7.0), True, id="it is held back and has a pod"),
        pytest.param(HELD, live_of(HELD, newest=6), Park(7.0), False, id="it is held back and there is news of it"),
        pytest.param(RUNNING, live_of(OVER), Rest(7.0), False, id="it is over by what was seen since"),
        pytest.param(OVER, live_of(None), Rest(7.0), False, id="only its name is known"),
    ],
)
def test_a_test_waits_rests_or_is_parked(left: Any, live: Live[TestState], following: Next, *, is_ending: bool) -> None:
    assert _following(live, left, 7.0) == following
    assert live.state.is_ending is is_ending


@pytest.mark.parametrize(("requeue_s", "waits_s"), [(None, PODS_GO_WITHIN_S), (3.0, 3.0), (60.0, PODS_GO_WITHIN_S)])
def test_pods_that_still_go_are_looked_at_after_10_s_or_sooner(requeue_s: float | None, waits_s: float) -> None:
    assert _following(live_of(OVER, POD), OVER, requeue_s) == Wait(waits_s)


Play = Callable[[LiveTests], Any]


def play(work: Play, **counts: Callable[[], None]) -> Any:
    """Do something with the tests of an operator that has no API server."""

    async def played() -> Any:
        cluster: Any = NoServer()
        failed = counts.get("count_failure", lambda: None)
        tests = LiveTests(cluster, INSTALLATION, failed, counts.get("count_start", lambda: None))
        try:
            return await work(tests)
        finally:
            await tests.stop()

    return asyncio.run(played())


class NoServer:
    """It is never asked but for the test itself, which `read` returns."""

    there: Any = None

    async def read(self, _kind: object, namespace: str, name: str) -> Any:
        assert (namespace, name) == KEY
        return self.there


def reconciler(tests: LiveTests) -> Any:
    return tests._reconciler


def test_a_finished_test_without_pods_rests_at_once_until_its_time_to_live_is_over() -> None:
    async def work(tests: LiveTests) -> list[Any]:
        passes = reconciler(tests)
        over = finished(ttlAfterFinished={"failed": "24h"})
        unseen = [live_of(finished()), live_of(over), live_of(None), live_of(RUNNING), live_of(over, has_children=True)]
        for one in unseen:
            one.state.clock.now = lambda: START  # type: ignore[method-assign]
        return [passes.at_once(one) for one in unseen]

    forever, a_day, *others = play(work)
    assert forever == Rest(None)
    assert isinstance(a_day, Rest)
    assert a_day.wake_after_s == pytest.approx(DAY_S, abs=1)
    assert others == [None] * 3


def test_a_finished_test_whose_time_to_live_is_over_needs_a_pass() -> None:
    async def work(tests: LiveTests) -> Any:
        return reconciler(tests).at_once(live_of(finished(ttlAfterFinished={"failed": "0s"})))

    assert play(work) is None


def test_a_test_that_was_only_named_may_have_pods_and_one_that_was_seen_or_parked_has_none_yet() -> None:
    async def work(tests: LiveTests) -> list[bool]:
        passes = reconciler(tests)
        parked = passes.kept(TestState(has_children=True, is_ending=True))
        states = (passes.first_state(None), passes.first_state(OVER), parked)
        assert not parked.is_ending
        return [state.has_children for state in states]

    assert play(work) == [True, False, False]


JOB = run_child_name(KEY[1], "a1b2c3d4e5", Role.MASTER)


def child(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    """Return a pod or a Job of the test's run."""
    labels = {
        TEST_LABEL: KEY[1],
        RUN_ID_LABEL: "a1b2c3d4e5",
        RUN_LABEL: "1",
        "sshload.dev/role": "master",
        "app.kubernetes.io/managed-by": "sshload-operator",
        "app.kubernetes.io/name": "sshload",
    }
    owner = {
        "Pod": {"apiVersion": "batch/v1", "kind": "Job", "name": JOB, "uid": "job"},
        "Job": {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTest", "name": KEY[1], "uid": UID},
    }[kind]
    owned = {"labels": labels, "ownerReferences": [{**owner, "controller": True}]}
    return {
        "metadata": {
            "namespace": KEY[0],
            "name": JOB if kind == "Job" else name,
            "uid": f"uid-{name}",
            "resourceVersion": "3",
            **owned,
            **metadata,
        }
    }


@pytest.mark.parametrize("kind", ["Pod", "Job"])
def test_a_child_of_a_run_wakes_its_test_unless_it_goes(kind: str) -> None:
    def told(tests: LiveTests, event_type: str | None, one: Any) -> Live[TestState] | None:
        (tests.pod_changed if kind == "Pod" else tests.job_changed)(event_type, one)
        return tests.find(KEY)

    async def work(tests: LiveTests) -> None:
        assert told(tests, "DELETED", child(kind, "c")) is None
        assert told(tests, "MODIFIED", child(kind, "c", deletionTimestamp="2026-11-21T12:00:00Z")) is None
        assert told(tests, "ADDED", child(kind, "c", labels={TEST_LABEL: KEY[1]})) is None
        live = told(tests, "ADDED", child(kind, "c"))
        assert live is not None
        assert live.state.has_children
        assert live.dirty.is_set()
        live.state.has_children, live.state.is_ending = False, True
        live.dirty.clear()
        told(tests, "DELETED", child(kind, "c"))
        assert (live.state.has_children, live.dirty.is_set()) == (False, False)
        live.state.is_ending = False
        told(tests, "DELETED", child(kind, "c"))
        assert (live.state.has_children, live.dirty.is_set()) == (True, True)

    play(work)


def test_what_the_watch_tells_of_a_pod_is_kept_of_its_test() -> None:
    async def work(tests: LiveTests) -> list[list[str]]:
        tests.pod_changed("ADDED", child("Pod", "p"))
        live = tests.find(KEY)
        assert live is not None
        seen = [list(live.state.children.pods)]
        tests.job_changed("ADDED", child("Job", "j"))
        assert live.state.children.owner_of_job == {"uid-j": UID}
        tests.pod_changed("DELETED", child("Pod", "p"))
        return [*seen, list(live.state.children.pods)]

    assert play(work) == [["p"], []]


async def one_pass(tests: LiveTests, live: Live[TestState], there: Any = None) -> Next:
    reconciler(tests).shared.cluster.there = there
    following: Next = await reconciler(tests).do(KEY, live)
    return following


def test_a_test_that_is_gone_or_leaves_its_children_to_others_is_forgotten() -> None:
    async def work(tests: LiveTests) -> list[Next]:
        orphaning = body({"phase": "Running"}, deletionTimestamp="2026-11-21T12:00:00Z", finalizers=["orphan"])
        return [await one_pass(tests, live_of(None)), await one_pass(tests, live_of(orphaning))]

    assert play(work) == [Rest(), Rest()]


def test_a_finished_test_that_was_only_named_is_read_and_rests() -> None:
    async def work(tests: LiveTests) -> Next:
        return await one_pass(tests, live_of(None), finished())

    assert play(work) == Rest(None)


@pytest.mark.parametrize(
    ("pods", "has_children"),
    [
        pytest.param((), False, id="none is left"),
        pytest.param((POD,), True, id="one is left"),
        pytest.param((replace(POD, deleting=True),), False, id="it goes"),
        pytest.param((replace(POD, controller_uid="of another"),), False, id="it is of another test"),
    ],
)
def test_after_a_sweep_a_test_has_the_pods_that_are_left_of_its_own(
    monkeypatch: pytest.MonkeyPatch, pods: tuple[PodFacts, ...], *, has_children: bool
) -> None:
    async def reconcile(*_: object) -> Reconciled:
        return Reconciled(test=finished(), requeue_after_s=None)

    async def work(tests: LiveTests) -> tuple[bool, Next]:
        live = live_of(finished(), *pods, has_children=True)
        live.state.is_ending = True
        live.state.children.owner_of_job["job"] = UID
        following = await one_pass(tests, live)
        return live.state.has_children, following

    monkeypatch.setattr(live_tests, "reconcile", reconcile)
    assert play(work) == (has_children, Wait(PODS_GO_WITHIN_S) if has_children else Rest(None))


@pytest.mark.parametrize("started", [True, False])
def test_a_run_that_was_started_is_counted_and_what_the_pass_left_is_the_newest_known(
    monkeypatch: pytest.MonkeyPatch,
    *,
    started: bool,
) -> None:
    counted: list[None] = []

    async def reconcile(*_: object) -> Reconciled:
        return Reconciled(body({"phase": "Running"}, version=8), requeue_after_s=4.0, started=started)

    async def work(tests: LiveTests) -> tuple[Next, int]:
        live = live_of(RUNNING)
        following = await one_pass(tests, live)
        assert live.newest is not None
        return following, live.newest.version

    monkeypatch.setattr(live_tests, "reconcile", reconcile)
    assert play(work, count_start=lambda: counted.append(None)) == (Wait(4.0), 8)
    assert len(counted) == started


def test_what_a_pass_over_a_test_logs_names_it_and_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reconcile(*_: object) -> Reconciled:
        return Reconciled(body({"phase": "Running"}, version=8), requeue_after_s=4.0)

    async def work(tests: LiveTests) -> dict[str, str]:
        await one_pass(tests, live_of(RUNNING))
        return dict(_about.get())

    monkeypatch.setattr(live_tests, "reconcile", reconcile)
    about = play(work)
    assert (about["namespace"], about["test"]) == KEY
    assert len(about["run"]) == 10


def test_a_test_that_went_in_a_pass_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reconcile(*_: object) -> Reconciled:
        return Reconciled(test=None, requeue_after_s=None)

    async def work(tests: LiveTests) -> tuple[Next, list[Any]]:
        left: list[Any] = []
        room = reconciler(tests).shared.room
        monkeypatch.setattr(type(room), "leave", lambda _, key: left.append(key))
        return await one_pass(tests, live_of(RUNNING)), left

    monkeypatch.setattr(live_tests, "reconcile", reconcile)
    assert play(work) == (Rest(), [KEY])


def test_tests_that_are_gone_or_change_give_and_take_room_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(tests: LiveTests) -> list[Any]:
        told: list[Any] = []
        room = reconciler(tests).shared.room
        monkeypatch.setattr(type(room), "changed", lambda _, kind, one: told.append((kind, one["metadata"]["uid"])))
        monkeypatch.setattr(type(room), "forget", lambda _, is_gone: told.append(is_gone(KEY)))
        tests.object_changed("DELETED", OVER)
        assert tests.wake(KEY) is tests.find(KEY)
        tests.forget(lambda key: key == KEY)
        assert tests.find(KEY) is None
        return told

    assert play(work) == [("DELETED", UID), True]


def test_the_thread_that_judges_takes_no_more_work_after_the_end() -> None:
    async def work(tests: LiveTests) -> Judging:
        judging: Judging = reconciler(tests).shared.judging
        assert await judging.run("ns", int) == 0
        return judging

    judging = play(work)
    with pytest.raises(RuntimeError, match="after shutdown"):
        asyncio.run(judging.run("ns", int))
