"""What a search for the capacity found, as parts of a page: the bounds, what limits the server, and the trials."""

from collections.abc import Iterator, Sequence

from sshload_contract.vocabulary import TrialState

from sshload_operator.api.status.capacity import CapacityStatus, TrialStatus
from sshload_operator.cli.view.page import Facts, Grid
from sshload_operator.cli.view.text import ABSENT, amount_text, bar, mark, milliseconds

_BAR = 16
_HELD = {TrialState.PASSED: True, TrialState.FAILED: False}


def capacity_parts(capacity: CapacityStatus | None) -> Iterator[Grid | Facts]:
    """Yield the parts of a search, nothing if there was none; one says which trial the results describe."""
    if capacity is None:
        return
    yield Facts((("capacity", _capacity(capacity)), *_limited_by(capacity), *_reported(capacity)))
    if capacity.trials:
        yield trials_grid(capacity.trials, capacity.unit)


def between(lower: float | None, upper: float | None) -> str:
    """Return the bounds of a search that is under way: `between 100 and 140`; empty where there are none."""
    if lower is not None and upper is not None:
        return f"between {amount_text(lower)} and {amount_text(upper)}"
    if lower is not None:
        return f"above {amount_text(lower)}"
    return f"below {amount_text(upper)}" if upper is not None else ""


def trials_grid(trials: Sequence[TrialStatus], unit: str) -> Grid:
    """Return the trials in their order, each with a bar as long as its amount of load."""
    holds = any(trial.held_least is not None for trial in trials)
    most = max(trial.amount for trial in trials)
    head = ("", "", unit, "trial", "completed/s", "p99 ms", "errors %", *(("held",) if holds else ()))
    rows = tuple(
        (
            mark(_HELD.get(trial.state)),
            bar(trial.amount, most, _BAR),
            amount_text(trial.amount),
            str(trial.number),
            f"{trial.completed_rate:,.1f}",
            milliseconds(trial.p99_ms),
            ABSENT if trial.error_percent is None else f"{trial.error_percent:.2f}",
            *((ABSENT if trial.held_least is None else f"{trial.held_least:,}",) if holds else ()),
        )
        for trial in trials
    )
    unjudged = (
        f"trial {one.number}: {one.message}" for one in trials if one.state is TrialState.INVALID and one.message
    )
    return Grid(head, rows, left=2, note=". ".join(unjudged))


def _capacity(capacity: CapacityStatus) -> str:
    bounds = [
        f"{amount_text(bound)} {what}"
        for bound, what in ((capacity.lower_bound, "passed"), (capacity.upper_bound, "failed"))
        if bound is not None
    ]
    return (capacity.in_words or "nothing is known of it") + (f" ({', '.join(bounds)})" if bounds else "")


def _limited_by(capacity: CapacityStatus) -> Iterator[tuple[str, str]]:
    limit = capacity.limited_by
    if limit is None:
        return
    broken = limit.threshold.message if limit.threshold is not None else limit.observed or "what its trials say"
    yield "limited by", f"at {amount_text(limit.amount)} {capacity.unit}, {broken}"
    for shortage in limit.short_of:
        yield "short of", f"{shortage.resource}: {shortage.message}"
    if limit.message:
        yield "", limit.message


def _reported(capacity: CapacityStatus) -> Iterator[tuple[str, str]]:
    if capacity.reported_trial is not None:
        yield "figures", f"those below the trials are of trial {capacity.reported_trial}"
