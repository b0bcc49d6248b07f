"""All kinds at work: which of them hears of which watch event."""

from dataclasses import dataclass
from typing import Any

from sshload_operator.api.kinds import TEST
from sshload_operator.control.api_server.cluster import Cluster, Object
from sshload_operator.control.api_server.watch_session import Listed
from sshload_operator.control.live.comparisons import ComparisonKind
from sshload_operator.control.live.owned_tests import LiveOwners
from sshload_operator.control.live.schedules import ScheduleKind
from sshload_operator.control.live.tests import LiveTests
from sshload_operator.control.metrics.operator_metrics import OperatorMetrics
from sshload_operator.control.metrics.published import Published
from sshload_operator.planning.plan import Installation


@dataclass(frozen=True, slots=True)
class _Owners:
    """One kind of objects that own tests: those that are worked on, and what is published of them."""

    plural: str
    live: LiveOwners[Any]
    published: Published[Any] | None


class LiveKinds:
    """Everything that is worked on, and what is published of it."""

    def __init__(self, cluster: Cluster, installation: Installation, metrics: OperatorMetrics) -> None:
        failed = metrics.count_failed_pass
        self.tests = LiveTests(cluster, installation, failed)
        self._metrics = metrics
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

    def owner_changed(self, plural: str, event_type: str | None, body: Object) -> None:
        """Take in a watch event of an object that owns tests, of the kind with this plural."""
        for owners in self._owners:
            if owners.plural == plural:
                if owners.published is not None:
                    owners.published.object_changed(event_type, body)
                owners.live.object_changed(event_type, body)

    def listed(self, listed: Listed) -> None:
        """Take in all objects of a kind that there are: those that are gone are forgotten."""
        if listed.plural == TEST.plural:
            self._metrics.tests.forget(listed.lacks)
            self.tests.forget(listed.lacks)
        for owners in self._owners:
            if owners.plural == listed.plural:
                owners.live.forget(listed.lacks)
                if owners.published is not None:
                    owners.published.forget(listed.lacks)

    async def stop(self) -> None:
        """End all work, wherever it is."""
        for owners in self._owners:
            await owners.live.stop()
        await self.tests.stop()
