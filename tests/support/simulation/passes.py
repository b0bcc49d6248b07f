"""The operator's passes over one test: what a decision leaves in the status is what the next one remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from plans import INSTALLATION, QUICKSTART
from sshload_contract.wire.master_log import MasterLog, Snapshot
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.life_cycle import current_run, decide
from sshload_operator.decision.load_test.decide import TestDecision, TestSubject
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.plan import Plan, TestIdentity, make_plan, run_id, spec_hash
from sshload_operator.state import Observed, ObservedBaseline, PodFacts

UID = "11111111-2222-3333-4444-555555555555"
START = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@dataclass(slots=True)
class Passes:
    """One test and its status. `run` does a pass as the operator does, with the pods and the log that it is given.

    `beside` are the tests that are seen where a baseline is looked for, `queued` the position in the queue,
    `unread` what could not be read, `disrupted` pods that are gone after a disruption. `deleting`: the test was deleted
    and remains. `orphans` are runs of an earlier test of its name, `rejected_kind` is the kind of what was rejected.
    """

    spec: Mapping[str, Any] = field(default_factory=lambda: QUICKSTART)
    generation: int = 1
    status: Mapping[str, Any] = field(default_factory=dict)
    now: datetime = START
    installation: Installation = INSTALLATION
    beside: ObservedBaseline | None = None
    queued: int = 0
    unread: str = ""
    disrupted: tuple[PodFacts, ...] = ()
    deleting: bool = False
    orphans: tuple[str, ...] = ()
    rejected_kind: str = "Pod"

    @property
    def plan(self) -> Plan | SpecError:
        """The plan as the operator makes it in the next pass."""
        test = self.identity()
        try:
            spec = parse(self.spec)
        except SpecError as error:
            return error
        run = current_run(spec_hash(spec), test.generation, remembered(TestStatus, self.status).status)
        return make_plan(test, spec, self.installation, run)

    @property
    def run_id(self) -> str:
        """The id of the run that the status speaks of, or would be started next."""
        return run_id(UID, self.status.get("run", self.generation))

    def of_run(self, run: int) -> Mapping[str, Any]:
        """Return what pods of one of its runs state of it."""
        return {"run_id": run_id(UID, run), "run": run}

    def identity(self) -> TestIdentity:
        """Return the object's metadata."""
        return TestIdentity("load-tests", "quickstart", UID, self.generation)

    def subject(self, observed: Observed) -> TestSubject:
        """Return the test as a pass sees it that has observed this."""
        past = remembered(TestStatus, self.status)
        return TestSubject(self.identity(), self.plan, past, observed, self.now, self.deleting)

    def edit(self, **changes: Any) -> None:
        """Change top-level fields of the spec, as `kubectl apply` does."""
        self.spec = {**self.spec, **changes}
        self.generation += 1

    def run(
        self,
        *pods: PodFacts,
        after_s: float = 0,
        snapshot: Snapshot | None = None,
        summary: RunSummary | None = None,
        log: MasterLog | None = None,
        rejected: str = "",
    ) -> TestDecision:
        """Do a pass `after_s` seconds later; pods, snapshot and summary are taken to be of the current run."""
        self.now += timedelta(seconds=after_s)
        mine, gone = (
            tuple(replace(pod, run_id=self.run_id) if pod.run_id == "a1b2c3d4e5" else pod for pod in some)
            for some in (pods, self.disrupted)
        )
        if snapshot is not None or summary is not None:
            log = MasterLog(
                snapshot=replace(snapshot, run_id=self.run_id) if snapshot else None,
                summary=replace(summary, run_id=self.run_id) if summary else None,
                summary_lines=2 if summary else 0,
                problem="",
            )
        observed = Observed(
            mine,
            log,
            rejected,
            baseline=self.beside,
            queued=self.queued,
            unread=self.unread,
            disrupted=gone,
            rejected_kind=self.rejected_kind,
            orphans=self.orphans,
        )
        decision = decide(self.subject(observed))
        if decision.status is not None:
            self.status = decision.status
        return decision

    def condition(self, kind: str) -> Mapping[str, Any]:
        """Return a condition of the status."""
        found: Mapping[str, Any] = next(item for item in self.status["conditions"] if item["type"] == kind)
        return found

    def said(self) -> tuple[Any, Any]:
        """Return the verdict and the reason that the status says."""
        return self.status.get("verdict"), self.status["reason"]
