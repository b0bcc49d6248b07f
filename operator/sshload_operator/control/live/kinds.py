"""All kinds together: how each kind that owns tests is decided about, and which watch event goes to which kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.kinds import COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.api.schedule.spec import ScheduleSpec, parse_schedule
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.schedule import ScheduleStatus
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.api_server.watch_session import Listed
from sshload_operator.control.channels.deliveries import Deliveries
from sshload_operator.control.live.objects import is_deleting
from sshload_operator.control.live.owners import LiveOwners
from sshload_operator.control.live.tests import LiveTests
from sshload_operator.control.metrics.published import Published
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.decision.comparison.decide import ComparisonSubject
from sshload_operator.decision.comparison.facts import observed_test
from sshload_operator.decision.comparison.plan import ComparisonPlan, comparison_hash, make_comparison_plan
from sshload_operator.decision.life_cycle import current_run
from sshload_operator.decision.schedule.decide import ScheduleSubject
from sshload_operator.decision.schedule.facts import identity, scheduled_test
from sshload_operator.manifests.labels import COMPARISON_LABEL, SCHEDULE_LABEL
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.plan import TestIdentity

_LIST_EVERY_S: Final = 300.0


class ScheduleKind:
    """SSHLoadTestSchedules, as owners of tests."""

    kind: Kind = SCHEDULE
    label: str = SCHEDULE_LABEL
    list_every_s: float = _LIST_EVERY_S
    # Before a schedule makes a test, its tests are listed: the watch may be behind.
    fresh_s: float = 2.0
    # A pass is short. It holds a body, the parsed body, and the answer to its write: 1 MB for the largest.
    passes_at_once: int = 8

    facts = staticmethod(scheduled_test)

    def subject(self, body: Object) -> ScheduleSubject:
        """Return the subject of a decision about a schedule, without its tests."""
        past = remembered(ScheduleStatus, body.get("status"))
        return ScheduleSubject(
            now=datetime.now(UTC),
            schedule=identity(body),
            spec=_schedule(body),
            remembered=past,
            deleting=is_deleting(body),
        )


def _schedule(body: Object) -> ScheduleSpec | SpecError:
    try:
        return parse_schedule(body["spec"])
    except SpecError as error:
        return error


class ComparisonKind:
    """SSHLoadTestComparisons, as owners of tests."""

    kind: Kind = COMPARISON
    label: str = COMPARISON_LABEL
    list_every_s: float = _LIST_EVERY_S
    # The name of a test follows from its place in the comparison. So creating it finds a test that the watch has not
    # reported yet.
    fresh_s: float = _LIST_EVERY_S
    # A pass holds the spec of each variant as written and as parsed: 10 MB for the largest.
    passes_at_once: int = 2

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    facts = staticmethod(observed_test)

    def subject(self, body: Object) -> ComparisonSubject:
        """Return the subject of a decision about a comparison, without its tests."""
        metadata = body["metadata"]
        comparison = TestIdentity(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"])
        past = remembered(ComparisonStatus, body.get("status"))
        return ComparisonSubject(
            now=datetime.now(UTC),
            comparison=comparison,
            plan=_comparison_plan(comparison, body, past.status),
            remembered=past,
            installation=self._installation,
            deleting=is_deleting(body),
        )


def _comparison_plan(comparison: TestIdentity, body: Object, past: ComparisonStatus) -> ComparisonPlan | SpecError:
    try:
        spec = parse_comparison(body["spec"])
    except SpecError as error:
        return error
    run = current_run(comparison_hash(spec), comparison.generation, past)
    return make_comparison_plan(comparison, spec, run)


@dataclass(frozen=True, slots=True)
class _Owners:
    """One kind that owns tests: its objects that are worked on, and their metrics."""

    plural: str
    live: LiveOwners[Any]
    published: Published[Any] | None


class LiveKinds:
    """All objects that are worked on, their metrics, and the deliveries on the channels."""

    def __init__(
        self,
        cluster: Cluster,
        installation: Installation,
        metrics: OperatorMetrics,
        deliveries: Sequence[Deliveries] = (),
    ) -> None:
        failed = metrics.count_failed_pass
        self.tests = LiveTests(cluster, installation, failed, metrics.count_started_run)
        self._metrics = metrics
        self._deliveries = deliveries
        begin = self.tests.wake
        schedules, comparisons = ScheduleKind(), ComparisonKind(installation)
        self._owners: tuple[_Owners, ...] = (
            _Owners(schedules.kind.plural, LiveOwners(cluster, schedules, begin, failed), metrics.schedules),
            _Owners(comparisons.kind.plural, LiveOwners(cluster, comparisons, begin, failed), None),
        )

    def test_changed(self, event_type: str | None, test: Object) -> None:
        """Take in a watch event of an SSHLoadTest."""
        self._metrics.tests.object_changed(event_type, test)
        self.tests.object_changed(event_type, test)
        for owners in self._owners:
            owners.live.test_changed(event_type, test)
        for channel in self._deliveries:
            channel.object_changed(TEST, test)

    def owner_changed(self, plural: str, event_type: str | None, body: Object) -> None:
        """Take in a watch event of an object that owns tests, of the kind with this plural."""
        for owners in self._owners:
            if owners.plural == plural:
                if owners.published is not None:
                    owners.published.object_changed(event_type, body)
                owners.live.object_changed(event_type, body)
        if plural == COMPARISON.plural:
            for channel in self._deliveries:
                channel.object_changed(COMPARISON, body)

    def listed(self, listed: Listed) -> None:
        """Take in a complete list of a kind: objects that are not in it are forgotten."""
        if listed.plural == TEST.plural:
            self._metrics.tests.forget(listed.lacks)
            self.tests.forget(listed.lacks)
        for owners in self._owners:
            if owners.plural == listed.plural:
                owners.live.forget(listed.lacks)
                if owners.published is not None:
                    owners.published.forget(listed.lacks)

    async def stop(self) -> None:
        """Cancel all work, at whatever point it is."""
        for channel in self._deliveries:
            await channel.stop()
        for owners in self._owners:
            await owners.live.stop()
        await self.tests.stop()
