"""The tests that are worked on: what wakes one, and when it may rest.

A finished test rests: it holds no task and no memory here; one with a time to live holds a timer. So a thousand
finished tests cost nothing, and a restarted operator asks the API server nothing about them. A test that is held back
(suspended, paused, queued) is parked: tenants may have any number of these, each with the largest spec that is allowed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sshload_operator.api.kinds import TEST
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.live.objects import (
    Key,
    Live,
    LiveObjects,
    Next,
    Park,
    Reconciler,
    Rest,
    Wait,
    keeps_children,
    version,
)
from sshload_operator.control.live.room import Room
from sshload_operator.control.logs import log_about
from sshload_operator.control.run.judging import Judging
from sshload_operator.control.run.observe import Observations
from sshload_operator.control.run.reconcile import (
    ParsedSpec,
    Shared,
    is_finished,
    is_held_back,
    needs_action,
    reconcile,
    subject_of,
)
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.load_test.decide import TestSubject
from sshload_operator.manifests.labels import Membership, membership_of_job, membership_of_pod
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.plan import Plan
from sshload_operator.world.steady_clock import SteadyClock

# After a run's end the watch reports that its pods go; a pass looks at those that are still there after this time.
_PODS_GO_WITHIN_S: Final = 10.0


@dataclass(slots=True)
class TestState:
    """What was observed of a test: its children, and what matters about them.

    `has_children` says that pods or Jobs of the test were seen, so that a test without a run may have to be swept.
    `is_ending` says that it was just swept, so that the last events of its children do not matter.
    """

    __test__ = False  # not a pytest class

    has_children: bool
    is_ending: bool = False
    children: Observations = field(default_factory=Observations)
    spec: ParsedSpec = field(default_factory=ParsedSpec)
    clock: SteadyClock = field(default_factory=SteadyClock)


class LiveTests(LiveObjects[TestState]):
    """All tests that are worked on, by namespace and name.

    `count_failure` is called for each pass that fails, `count_start` for each run that is started.
    """

    def __init__(
        self,
        cluster: Cluster,
        installation: Installation,
        count_failure: Callable[[], None],
        count_start: Callable[[], None],
    ) -> None:
        self._shared = Shared(cluster, Judging(), Room(installation.limits))
        super().__init__(_TestReconciler(self._shared, installation, count_start), count_failure)

    async def stop(self) -> None:
        """End all tasks, and the thread that judges."""
        await super().stop()
        self._shared.judging.stop()

    def object_changed(self, event_type: str | None, body: Object) -> None:
        """Take in a watch event of a test."""
        self._shared.room.changed(event_type, body)
        super().object_changed(event_type, body)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Take in that tests are gone."""
        self._shared.room.forget(is_gone)
        super().forget(is_gone)

    def pod_changed(self, event_type: str | None, pod: Object) -> None:
        """Take in a watch event of a pod that carries the test label; a pod that no run made wakes no test."""
        live = self._owner_changed(event_type, pod, membership_of_pod(pod["metadata"]))
        if live is not None:
            live.state.children.pod_changed(event_type, pod)

    def job_changed(self, event_type: str | None, job: Object) -> None:
        """Take in a watch event of a Job that carries the test label; a Job that no run made wakes no test."""
        live = self._owner_changed(event_type, job, membership_of_job(job["metadata"]))
        if live is not None:
            live.state.children.job_seen(job)

    def _owner_changed(
        self, event_type: str | None, child: Object, membership: Membership | None
    ) -> Live[TestState] | None:
        if membership is None:
            return None
        metadata = child["metadata"]
        key = (metadata["namespace"], membership.test)
        is_going = event_type == "DELETED" or "deletionTimestamp" in metadata
        live = self.find(key) if is_going else self.wake(key)
        if live is not None and not live.state.is_ending:
            live.state.has_children = True
            live.dirty.set()
        return live


@dataclass(frozen=True, slots=True)
class _TestReconciler(Reconciler[TestState]):
    """Does the passes over SSHLoadTests."""

    shared: Shared
    installation: Installation
    count_start: Callable[[], None]

    def first_state(self, body: Object | None) -> TestState:
        """Return the state of a test. Without a body it was named by a child or a timer: it may have children."""
        return TestState(has_children=body is None)

    def at_once(self, live: Live[TestState]) -> Next | None:
        """Let a finished test rest if it needs no work."""
        if live.body is None or live.state.has_children or not is_finished(live.body):
            return None
        return _rest_unseen(subject_of(live.body, self.installation, ParsedSpec(), live.state.clock.now()))

    def kept(self, _state: TestState) -> TestState:
        """Keep nothing of a test that is held back: its pods have been swept, and its spec will be read again."""
        return TestState(has_children=False)

    def stay_parked_s(self, key: Key, _state: TestState) -> float | None:
        """Return how much longer a queued test may wait without a pass."""
        return self.shared.room.stay_queued_s(key)

    async def do(self, key: Key, live: Live[TestState]) -> Next:
        """Do one pass over a test, or none if there is nothing to do."""
        log_about(namespace=key[0], test=key[1])
        state = live.state
        body = live.body or live.fill(await self.shared.cluster.read(TEST, *key))
        if body is None or keeps_children(body):
            return Rest()
        subject = subject_of(body, self.installation, state.spec, state.clock.now())
        if isinstance(subject.plan, Plan):
            log_about(run=subject.plan.run_id)
        if state.is_ending:
            state.is_ending = False
            state.has_children = any(not pod.deleting for pod in state.children.pods_of(subject.test.uid))
        if subject.is_finished and not state.has_children:
            rest = _rest_unseen(subject)
            if rest is not None:
                return rest
        done = await reconcile(self.shared, body, subject, state.children)
        if done.started:
            self.count_start()
        if done.test is None:
            self.shared.room.leave(key)
            return Rest()
        self.shared.room.end_of_pass(done.test)
        live.offer(done.test)
        return _following(live, done.test, done.requeue_after_s)


def _rest_unseen(subject: TestSubject) -> Rest | None:
    """Return a Rest for a test without pods if it needs no work, else None."""
    decision = decide(subject)
    return None if needs_action(decision) else Rest(decision.requeue_after_s)


def _following(live: Live[TestState], left: Object, requeue_after_s: float | None) -> Next:
    """Return how to go on with a test after a pass. A test without a run needs no body once its pods are gone.

    A finished test gets another pass if a newer version came during this one, without an edit of its spec.
    """
    is_over, is_held = is_finished(live.body or left), is_held_back(left)
    if not is_over and not is_held:
        return Wait(requeue_after_s)
    has_news = is_over and live.newest is not None and live.newest.version > version(left)
    has_pods = live.state.has_children or any(not pod.deleting for pod in live.state.children.pods.values())
    if has_pods or has_news:
        live.state.is_ending = True
        return Wait(_PODS_GO_WITHIN_S if requeue_after_s is None else min(_PODS_GO_WITHIN_S, requeue_after_s))
    return Rest(requeue_after_s) if is_over else Park(requeue_after_s)
