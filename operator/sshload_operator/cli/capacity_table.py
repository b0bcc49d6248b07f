"""What a search for the capacity found, as text: its trials, the bounds, and what limits the server."""

from collections.abc import Iterator, Sequence

from sshload_contract.vocabulary import TrialState

from sshload_operator.api.status.capacity import CapacityStatus, TrialStatus
from sshload_operator.cli.plain_text import ABSENT, columns, milliseconds, printable


def capacity_lines(capacity: CapacityStatus | None) -> Iterator[str]:
    """Yield the sections of a search, none where there was none; the last says which trial the results describe."""
    if capacity is None:
        return
    if capacity.trials:
        yield _trials(capacity.trials, capacity.unit)
    yield "\n".join((_capacity(capacity), *_limited_by(capacity)))
    if capacity.reported_trial is not None:
        yield f"The figures below are those of trial {capacity.reported_trial}."


def between(lower: float | None, upper: float | None) -> str:
    """Return the bounds of a search that is under way: `between 100 and 140`; empty where there are none."""
    if lower is not None and upper is not None:
        return f"between {_amount(lower)} and {_amount(upper)}"
    if lower is not None:
        return f"above {_amount(lower)}"
    return f"below {_amount(upper)}" if upper is not None else ""


def _trials(trials: Sequence[TrialStatus], unit: str) -> str:
    head = ["trial", unit, "state", "completed/s", "p99 ms", "errors %"]
    holds = any(trial.held_least is not None for trial in trials)
    rows = [
        (
            str(trial.number),
            _amount(trial.amount),
            printable(trial.state),
            f"{trial.completed_rate:,.1f}",
            milliseconds(trial.p99_ms),
            ABSENT if trial.error_percent is None else f"{trial.error_percent:.2f}",
            *((ABSENT if trial.held_least is None else f"{trial.held_least:,}",) if holds else ()),
        )
        for trial in trials
    ]
    table = columns([*head, "held"] if holds else head, rows, left=0)
    invalid = (trial for trial in trials if trial.state is TrialState.INVALID)
    said = [f"trial {trial.number}: {printable(trial.message)}" for trial in invalid if trial.message]
    return "\n".join((table, *said))


def _capacity(capacity: CapacityStatus) -> str:
    known = printable(capacity.in_words or "nothing is known of it")
    bounds = [
        f"{_amount(bound)} {what}"
        for bound, what in ((capacity.lower_bound, "passed"), (capacity.upper_bound, "failed"))
        if bound is not None
    ]
    return f"capacity   {known}" + (f" ({', '.join(bounds)})" if bounds else "")


def _limited_by(capacity: CapacityStatus) -> Iterator[str]:
    limit = capacity.limited_by
    if limit is None:
        return
    seen = f", which was {limit.observed}" if limit.threshold and limit.observed else ""
    broken = limit.threshold or limit.observed or "what its trials say"
    yield printable(f"limited by {broken}{seen} at {_amount(limit.amount)} {capacity.unit}")
    for shortage in limit.short_of:
        yield printable(f"short of   {shortage.resource}: {shortage.message}")
    if limit.message:
        yield printable(f"           {limit.message}")


def _amount(amount: float) -> str:
    return f"{amount:,.6g}"
