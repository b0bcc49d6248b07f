"""A simulated cluster: one test object, its runs, and everybody who acts on them but the operator's decision.

It plays the API server (the object and its status), the controllers and the kubelet (pods), and the master (its log).
`operator_pass` carries decisions out by the operator's own code, and can be cut short anywhere, as if the
operator was killed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from plans import INSTALLATION, quickstart
from runs import pod, snapshot
from sshload_contract.wire.master_log import MasterLog, Stage
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.head import Remembered, remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.life_cycle import current_run, decide
from sshload_operator.decision.load_test.decide import TestDecision, TestSubject
from sshload_operator.manifests import results_ref
from sshload_operator.planning.plan import Plan, TestIdentity, make_plan, spec_hash
from sshload_operator.state import Announcement, Manifest, Observed, PodFacts, Role
from sshload_operator.world.execute import Status, execute

WORKERS = 2
DEADLINE_S = 180.0
_SPEC = quickstart(
    workers={"replicas": WORKERS},
    startTimeout="60s",
    deadline=f"{DEADLINE_S:.0f}s",
    warmUp="5s",
    ttlAfterFinished={"passed": "10m", "failed": "20m"},
)
STEPS_OF_A_PASS = 7
"""Discard, start, store, status, two of a sweep, deletion."""


@cache
def _parsed(text: str) -> tuple[LoadTestSpec, str] | SpecError:
    """Parse a spec; the same few are parsed thousands of times."""
    try:
        spec = parse(json.loads(text))
    except SpecError as error:
        return error
    return spec, spec_hash(spec)


@cache
def _planned(test: TestIdentity, text: str, run: int) -> Plan:
    parsed = _parsed(text)
    assert not isinstance(parsed, SpecError)
    return make_plan(test, parsed[0], INSTALLATION, run)


@dataclass(slots=True)
class SimRun:
    """The children of one run. `stage` is None until the master prints, `summary` until it ends."""

    run_id: str
    run: int
    pods: dict[str, PodFacts] = field(default_factory=dict)
    stage: Stage | None = None
    connected: int = 0
    summary: RunSummary | None = None
    log_readable: bool = True

    def create(self) -> None:
        """Apply the children: server-side apply makes what is not there, and changes nothing else."""
        roles = {"target": Role.TARGET, "master": Role.MASTER}
        roles |= {f"worker-{index}": Role.WORKER for index in range(WORKERS)}
        for name, role in roles.items():
            of_run = {"run_id": self.run_id, "run": self.run}
            fresh = pod(role, name=f"{self.run_id}-{name}", **of_run, phase="Pending", ready=False)
            self.pods.setdefault(fresh.name, fresh)

    def change(self, name: str, **facts: Any) -> None:
        """Change the facts of a pod."""
        self.pods[name] = replace(self.pods[name], **facts)

    def of_role(self, role: Role) -> list[PodFacts]:
        """Return the pods of a role."""
        return [found for found in self.pods.values() if found.role is role]

    def alive(self) -> bool:
        """Whether there is anything that nobody has deleted."""
        return any(not found.deleting for found in self.pods.values())

    def log(self) -> MasterLog | None:
        """Return what the operator reads of the master's log."""
        masters = [found for found in self.of_role(Role.MASTER) if found.phase != "Pending"]
        if not masters or not self.log_readable:
            return None
        seen = (
            None if self.stage is None else snapshot(self.stage, run_id=self.run_id, workers_connected=self.connected)
        )
        return MasterLog(seen, self.summary, summary_lines=2 if self.summary else 0, problem="")


@dataclass(slots=True)
class SimCluster:
    """The whole world of one test. `sound` holds the run ids of which a whole and valid summary was printed.

    `deleting`: the object was deleted, and a finalizer keeps it. `orphans` are the runs that a deletion left behind.
    """

    spec: Mapping[str, Any] = field(default_factory=lambda: _SPEC)
    uid: str = "uid-0"
    generation: int = 1
    status: Mapping[str, Any] = field(default_factory=dict)
    exists: bool = True
    deleting: bool = False
    runs: dict[str, SimRun] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    orphans: set[str] = field(default_factory=set)
    sound: set[str] = field(default_factory=set)
    rejected: str = ""
    now: datetime = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
    operator_up: bool = True
    _read: tuple[Mapping[str, Any], Remembered[TestStatus]] | None = None
    _written: tuple[Mapping[str, Any], str] | None = None

    @property
    def plan(self) -> Plan | SpecError:
        """The plan as the operator makes it from the object."""
        if self._written is None or self._written[0] is not self.spec:
            self._written = self.spec, json.dumps(self.spec)
        test, (_, text) = self.identity(), self._written
        parsed = _parsed(text)
        if isinstance(parsed, SpecError):
            return parsed
        return _planned(test, text, current_run(parsed[1], test.generation, self.memory.status))

    @property
    def memory(self) -> Remembered[TestStatus]:
        """What the operator reads in the status, read once per status: it is asked for many times in each step."""
        if self._read is None or self._read[0] is not self.status:
            self._read = self.status, remembered(TestStatus, self.status)
        return self._read[1]

    @property
    def run(self) -> SimRun | None:
        """The run that the plan is for, where it has been started."""
        plan = self.plan
        return self.runs.get(plan.run_id) if isinstance(plan, Plan) else None

    def identity(self) -> TestIdentity:
        """Return the object's metadata."""
        return TestIdentity("load-tests", "simulated", self.uid, self.generation)

    def edit(self, **changes: Any) -> None:
        """Change the spec; like the API server, count a generation only where something changed."""
        if {**self.spec, **changes} != self.spec:
            self.spec = {**self.spec, **changes}
            self.generation += 1

    def pass_time(self, seconds: float) -> None:
        """Move the clock, which may go backwards."""
        self.now += timedelta(seconds=seconds)

    def pods(self) -> Iterator[PodFacts]:
        """Yield all pods there are."""
        for run in self.runs.values():
            yield from run.pods.values()

    def decide(self) -> TestDecision:
        """Ask for the decision on the world as it is."""
        run = self.run
        rejected = self.rejected if run is not None else ""
        left = tuple(found for found in sorted(self.orphans) if self.runs[found].alive())
        observed = Observed(tuple(self.pods()), run.log() if run is not None else None, rejected, orphans=left)
        return decide(TestSubject(self.identity(), self.plan, self.memory, observed, self.now, self.deleting))

    def operator_pass(self, steps: int = STEPS_OF_A_PASS) -> TestDecision:
        """Decide and carry out, killed after so many steps."""
        decision = self.decide()
        passing = execute(decision, self.plan, SimWorld(self, steps))
        try:
            passing.send(None)  # nothing in it waits
        except (StopIteration, KilledError):
            return decision
        raise AssertionError("a simulated world makes nobody wait")

    def delete(self) -> None:
        """Delete the object; garbage collection takes the children."""
        self.exists = False
        self.runs.clear()
        self.orphans.clear()
        self.stored.clear()

    def mark_deleted(self) -> None:
        """Delete an object that a finalizer keeps; the API server counts a generation."""
        self.generation += not self.deleting
        self.deleting = True

    def orphan(self) -> None:
        """Delete the object and leave its children."""
        self.exists = False
        self.orphans |= self.runs.keys()

    def create(self, number: int) -> None:
        """Create an object of the same name."""
        self.exists, self.uid, self.generation, self.status = True, f"uid-{number}", 1, {}
        self.deleting = False
        self.spec = _SPEC


class KilledError(Exception):
    """The operator was killed between two deeds."""


@dataclass(slots=True)
class SimWorld:
    """The cluster as the world in which a decision is carried out, until the operator is killed after so many steps."""

    cluster: SimCluster
    steps: int

    async def discard_results(self, run_ids: Sequence[str]) -> None:
        """Take away what was stored of a run."""
        self._step()
        self.cluster.stored -= {results_ref(self.cluster.identity(), run_id).name for run_id in run_ids}

    async def start(self, plan: Plan) -> None:
        """Apply the children."""
        self._step()
        self.cluster.runs.setdefault(plan.run_id, SimRun(plan.run_id, plan.run)).create()

    async def store(self, results: Manifest, status: Status) -> Status:
        """Store the results."""
        self._step()
        self.cluster.stored.add(results["metadata"]["name"])
        return status

    async def write_status(self, status: Status) -> bool:
        """Write the status."""
        self._step()
        self.cluster.status = status
        return True

    async def sweep(self, run_ids: Sequence[str]) -> None:
        """Delete the pods, the masters' last."""
        for masters in (False, True):
            self._step()
            for run_id in run_ids:
                for found in self._pods(run_id):
                    if (found.role is Role.MASTER) is masters:
                        self.cluster.runs[run_id].change(found.name, deleting=True)

    def _pods(self, run_id: str) -> list[PodFacts]:
        run = self.cluster.runs.get(run_id)
        return [] if run is None else list(run.pods.values())

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Nobody listens."""

    async def delete_test(self) -> None:
        """Delete the object."""
        self._step()
        self.cluster.delete()

    def _step(self) -> None:
        if self.steps == 0:
            raise KilledError
        self.steps -= 1
