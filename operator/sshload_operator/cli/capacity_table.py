"""What a search for the capacity found, as text: its trials, the bounds, and what limits the server."""

from collections.abc import Iterator, Sequence

from sshload_operator.cli.plain_text import ABSENT, Status, columns, milliseconds, printable


def capacity_lines(capacity: Status | None) -> Iterator[str]:
    """Yield the sections of a search, none where there was none; the last says which trial the results describe."""
    if capacity is None:
        return
    if capacity["trials"]:
        yield _trials(capacity["trials"], capacity["unit"])
    yield "\n".join((_capacity(capacity), *_limited_by(capacity)))
    if "reportedTrial" in capacity:
        yield f"The figures below are those of trial {capacity['reportedTrial']}."


def between(lower: float | None, upper: float | None) -> str:
    """Return the bounds of a search that is under way: `between 100 and 140`; empty where there are none."""
    if lower is not None and upper is not None:
        return f"between {_amount(lower)} and {_amount(upper)}"
    if lower is not None:
        return f"above {_amount(lower)}"
    return f"below {_amount(upper)}" if upper is not None else ""


def _trials(trials: Sequence[Status], unit: str) -> str:
    head = ["trial", unit, "state", "completed/s", "p99 ms", "errors %"]
    holds = any("heldLeast" in trial for trial in trials)
    rows = [
        (
            str(trial["number"]),
            _amount(trial["amount"]),
            printable(trial["state"]),
            f"{trial['completedRate']:,.1f}",
            milliseconds(trial.get("p99Ms")),
            f"{trial['errorPercent']:.2f}" if "errorPercent" in trial else ABSENT,
            *((f"{trial['heldLeast']:,}" if "heldLeast" in trial else ABSENT,) if holds else ()),
        )
        for trial in trials
    ]
    table = columns([*head, "held"] if holds else head, rows, left=0)
    said = [
        f"trial {trial['number']}: {printable(trial['message'])}"
        for trial in trials
        if trial["state"] == "invalid" and trial.get("message")
    ]
    return "\n".join((table, *said))


def _capacity(capacity: Status) -> str:
    known = printable(capacity.get("inWords", "nothing is known of it"))
    bounds = [
        f"{_amount(capacity[bound])} {what}"
        for bound, what in (("lowerBound", "passed"), ("upperBound", "failed"))
        if bound in capacity
    ]
    return f"capacity   {known}" + (f" ({', '.join(bounds)})" if bounds else "")


def _limited_by(capacity: Status) -> Iterator[str]:
    limit = capacity.get("limitedBy")
    if limit is None:
        return
    seen = f", which was {limit['observed']}" if "threshold" in limit and "observed" in limit else ""
    broken = limit.get("threshold") or limit.get("observed") or "what its trials say"
    yield printable(f"limited by {broken}{seen} at {_amount(limit['amount'])} {capacity['unit']}")
    for shortage in limit["shortOf"]:
        yield printable(f"short of   {shortage['resource']}: {shortage['message']}")
    if limit.get("message"):
        yield printable(f"           {limit['message']}")


def _amount(amount: float) -> str:
    return f"{amount:,.6g}"
