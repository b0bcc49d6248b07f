"""`status.results.steps` and `parts`: which steps a status states in full, and which percentiles of each."""

from collections.abc import Iterator

from sshload_contract.steps import WHOLE_STEPS
from sshload_contract.vocabulary import Window, owner_and_timing
from sshload_contract.wire.run_summary import StepStats, Trial

from sshload_operator.api.status.figures import milliseconds, rounded
from sshload_operator.api.status.percentiles import FIELDS_OF_PERCENTILES, TELLING_PERCENTILES, Percentile
from sshload_operator.api.status.results import MOST_STEPS, STEP_CHARACTERS
from sshload_operator.api.status.steps import StepResult, in_order, with_percentiles
from sshload_operator.planning.plan import Plan


def steps_status(plan: Plan, trial: Trial) -> tuple[StepResult, ...]:
    """Return the measured steps as they happen, and of several with the same name only the first."""
    named: dict[str, set[float]] = {}
    for threshold in (*plan.spec.thresholds, *plan.spec.relative_thresholds):
        if (asked := threshold.asked_percentile) is not None:
            named.setdefault(asked.step, set()).add(float(asked.key))
    steps: dict[str, StepResult] = {}
    for step in trial.steps:
        if step.window is Window.MEASURED:
            found = step_status(step, frozenset(named.get(step.step, ())))
            steps.setdefault(found.step, found)
    return in_order(tuple(steps.values())[:MOST_STEPS])


def step_status(step: StepStats, named: frozenset[float]) -> StepResult:
    """Return a step whose percentiles `named` thresholds name: in full if there are any, or if it is a whole step."""
    in_full = bool(named) or owner_and_timing(step.step)[1] in WHOLE_STEPS
    found = StepResult(
        step=step.step[:STEP_CHARACTERS],
        count=step.count,
        failures=step.failures,
        rate=rounded(step.rate) if in_full else None,
        bytes_per_second=None if step.bytes_per_second is None else rounded(step.bytes_per_second),
        min_ms=milliseconds(step.min_us) if in_full else None,
        mean_ms=milliseconds(step.mean_us),
        max_ms=milliseconds(step.max_us) if in_full else None,
    )
    shown = named.union(FIELDS_OF_PERCENTILES) if in_full else TELLING_PERCENTILES
    bounded = named.union(TELLING_PERCENTILES) if in_full else named
    percentiles = (one for one in _percentiles(step) if one.percentile in shown)
    return with_percentiles(found, (one if one.percentile in bounded else _unbounded(one) for one in percentiles))


def _unbounded(one: Percentile) -> Percentile:
    return Percentile(percentile=one.percentile, ms=one.ms)


def _percentiles(step: StepStats) -> Iterator[Percentile]:
    """Yield each stated percentile of a step, with its interval as far as the samples bound it."""
    for key, value_us in step.percentiles_us.items():
        if value_us is not None:
            yield Percentile(
                percentile=float(key),
                ms=milliseconds(value_us),
                low_ms=milliseconds(step.percentiles_low_us.get(key)),
                high_ms=milliseconds(step.percentiles_high_us.get(key)),
            )
