"""The run as it stands, from the master's clock and what the workers have reported: stage and snapshot. Pure."""

from dataclasses import dataclass

from sshload_contract.run_config import RunConfig
from sshload_contract.snapshot import PROBLEM_LIMIT_CHARACTERS, SNAPSHOT_VERSION, SearchProgress, Snapshot, Stage

from sshload_worker.pacing.load import duration_s
from sshload_worker.summary.merge import subtract_counts
from sshload_worker.summary.progress import Progress


def run_stage(config: RunConfig, at_s: float, *, started: bool) -> Stage:
    """Return where a trial stands `at_s` after its agreed start."""
    if not started:
        return Stage.WAITING_FOR_WORKERS
    if at_s >= _planned_s(config):
        return Stage.DRAINING
    return Stage.WARM_UP if at_s < config.warm_up_s else Stage.MEASURING


def remaining_s(config: RunConfig, at_s: float) -> float:
    """Return the time to the planned end, or while draining, the longest that this can still take."""
    planned_s = _planned_s(config)
    end_s = planned_s if at_s < planned_s else planned_s + config.drain_s
    return max(end_s - at_s, 0.0)


def search_remaining_s(run: RunConfig, elapsed_s: float, trial_left_s: float) -> float:
    """Return the longest that trials can still take: what is left of the search's budget, or of the trial under way.

    Nobody knows how many trials a search takes, so it mostly ends earlier. Of a run that searches nothing it is what is
    left of its one trial.
    """
    return trial_left_s if run.capacity is None else max(run.capacity.budget_s - elapsed_s, trial_left_s)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands apart from its workers' reports. `elapsed_s` is since the start of its first trial."""

    stage: Stage
    elapsed_s: float
    remaining_s: float
    workers_connected: int
    search: SearchProgress | None
    problem: str


def snapshot(run_id: str, standing: Standing, before: Progress, now: Progress) -> Snapshot:
    """Return the snapshot of `now`, with rates of what was reported since `before`, which is of the same trial."""
    counts = subtract_counts(now.counts, before.counts)
    passed_s = now.reported_s - before.reported_s
    return Snapshot(
        version=SNAPSHOT_VERSION,
        run_id=run_id,
        stage=standing.stage,
        elapsed_s=standing.elapsed_s,
        remaining_s=standing.remaining_s,
        workers_connected=standing.workers_connected,
        users=now.users,
        held=now.held,
        in_flight=now.in_flight,
        offered_rate=counts.scheduled / passed_s if passed_s > 0 else 0.0,
        completed_rate=counts.succeeded / passed_s if passed_s > 0 else 0.0,
        iterations=now.counts.succeeded + now.counts.failed,
        failures=now.counts.failed,
        p99_us=now.totals_ok.percentile_us(99),
        search=standing.search,
        problem=standing.problem[:PROBLEM_LIMIT_CHARACTERS],
    )


def _planned_s(config: RunConfig) -> float:
    return config.warm_up_s + duration_s(config.load)
