"""Situation: what one pass knows about the run in progress, and the questions that decisions ask about it."""

from dataclasses import dataclass
from datetime import datetime

from sshload_contract.wire.master_log import Snapshot, Stage
from sshload_contract.wire.run_summary import RunSummary

from sshload_operator.api.status.head import Condition, Remembered
from sshload_operator.api.status.load_test import TestHead
from sshload_operator.planning.plan import Plan, pods_asked
from sshload_operator.state import (
    DEPLOYED,
    ConditionStatus,
    ConditionType,
    Observed,
    Phase,
    PodFacts,
    Role,
)

_ORDER = tuple(Phase)
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Situation:
    """One pass over one run. `resumed`: `remembered` is about this run, and not an earlier one."""

    plan: Plan
    remembered: Remembered[TestHead]
    observed: Observed
    resumed: bool
    now: datetime

    @property
    def managed(self) -> bool:
        """Whether the operator deploys the target."""
        return self.plan.spec.managed is not None

    @property
    def deployed(self) -> tuple[Role, ...]:
        """The roles that the operator deploys to measure: the managed target, and the programs in the path."""
        return tuple(role for role in pods_asked(self.plan.spec) if role in DEPLOYED)

    @property
    def start_time(self) -> datetime:
        """When the run was started: as remembered, else now. Never in the future, even if the clock was set back."""
        return min((self.remembered.status.start_time if self.resumed else None) or self.now, self.now)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return (self.now - self.start_time).total_seconds()

    @property
    def last_phase(self) -> Phase | None:
        """The phase of this run after the last pass, None in its first pass."""
        return self.remembered.status.phase if self.resumed else None

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest snapshot of this run."""
        snapshot = self.observed.log.snapshot if self.observed.log is not None else None
        return snapshot if snapshot is not None and snapshot.run_id == self.plan.run_id else None

    @property
    def summary(self) -> RunSummary | None:
        """The whole summary of this run."""
        summary = self.observed.log.summary if self.observed.log is not None else None
        return summary if summary is not None and summary.run_id == self.plan.run_id else None

    @property
    def phase(self) -> Phase:
        """The phase of the run by the facts; never an earlier one than after the last pass."""
        seen, last = self._phase_seen(), self.last_phase
        return seen if last is None else max(seen, last, key=_ORDER.index)

    @property
    def start_over(self) -> bool:
        """Whether the start is over: the load runs or ran, or the master ended without one."""
        return self.phase in (Phase.RUNNING, Phase.COLLECTING)

    @property
    def results_begun(self) -> bool:
        """Whether the master has ended or is printing its results, so nothing can affect the load any more."""
        log = self.observed.log
        return self.master_ended is not None or (log is not None and log.summary_lines > 0)

    @property
    def target_ready(self) -> bool:
        """Whether logins can be tried. An external target counts as ready until the workers find that it is not."""
        return all(any(pod.ready and not pod.deleting for pod in self.pods(role)) for role in self.deployed)

    @property
    def master_ended(self) -> PodFacts | None:
        """The master's pod if it has ended and no other one runs."""
        masters = self.pods(Role.MASTER)
        ended = [pod for pod in masters if pod.phase in _ENDED]
        return ended[0] if ended and len(ended) == len(masters) else None

    def _phase_seen(self) -> Phase:
        stage = self.snapshot.stage if self.snapshot is not None else Stage.WAITING_FOR_WORKERS
        between_trials = self.snapshot is not None and self.snapshot.search is not None
        if self.results_begun or (stage is Stage.DRAINING and not between_trials):
            return Phase.COLLECTING
        if stage is not Stage.WAITING_FOR_WORKERS:
            return Phase.RUNNING
        return Phase.STARTING_WORKERS if self.target_ready else Phase.PREPARING_TARGET

    def pods(self, *roles: Role) -> tuple[PodFacts, ...]:
        """Return this run's pods of these roles, by name."""
        mine = (pod for pod in self.observed.pods if pod.run_id == self.plan.run_id and pod.role in roles)
        return tuple(sorted(mine, key=lambda pod: pod.name))

    def disruption(self, role: Role) -> str:
        """Return the condition DisruptionTarget of a pod of this role in words; empty if none has or had it."""
        seen = (*self.pods(role), *self.observed.disrupted)
        mine = (pod for pod in seen if pod.run_id == self.plan.run_id and pod.role is role and pod.disruption)
        pod = next(mine, None)
        return "" if pod is None else f"pod {pod.name} had the condition DisruptionTarget ({pod.disruption})"

    def remembered_condition(self, kind: ConditionType) -> Condition[ConditionType] | None:
        """Return a condition as it was after the last pass of this run."""
        found = (condition for condition in self.remembered.status.conditions if condition.type is kind)
        return next(found, None) if self.resumed else None

    def false_for_s(self, kind: ConditionType) -> float:
        """Return for how many seconds of this run a condition has been False, 0 if it is not."""
        condition = self.remembered_condition(kind)
        if condition is None or condition.status is not ConditionStatus.FALSE:
            return 0.0
        since = max(condition.last_transition_time, self.start_time)
        return max(0.0, (self.now - since).total_seconds())
