"""The result of a test as text: rendered from the status alone, so that `run` and `watch` say the same."""

from collections.abc import Iterator, Sequence

from sshload_operator.cli.capacity_table import capacity_lines
from sshload_operator.cli.max_startups_line import max_startups_line
from sshload_operator.cli.plain_text import ABSENT, Status, bytes_per_second, columns, milliseconds, printable
from sshload_operator.state import Phase

_LATENCIES = (("p50 ms", "p50Ms"), ("p90 ms", "p90Ms"), ("p99 ms", "p99Ms"), ("max ms", "maxMs"))
_MEGA = 1_000_000


def result_text(status: Status) -> str:
    """Return the whole result, the verdict last. What the status does not state is left out, or shown as `-`.

    Text from servers is printed without control characters.
    """
    sections = [
        *capacity_lines(status.get("capacity")),
        *_results(status.get("results")),
        *_thresholds(status.get("thresholds", ())),
        *_baseline(status.get("baseline")),
        _verdict(status),
    ]
    return "\n\n".join(sections) + "\n"


def _results(results: Status | None) -> Iterator[str]:
    if results is None:
        return
    yield _headline(results)
    if results.get("steps"):
        yield _steps(results["steps"])
    if results.get("errors"):
        yield _errors(results["errors"])
    measured_by = [*_negotiated(results), *_generator(results), *_target(results), *max_startups_line(results)]
    if measured_by:
        yield "\n".join(measured_by)


def _headline(results: Status) -> str:
    percent, hold = results.get("errorPercent"), results.get("hold")
    share = "" if percent is None or hold else f" ({percent:.2f} %)"
    text = (
        f"{results['iterations']:,} iterations measured in {results['durationSeconds']:,.1f} s, "
        f"{results['failures']:,} failed{share}\n"
        f"{results['offeredRate']:,.1f}/s offered, {results['achievedRate']:,.1f}/s begun, "
        f"{results['completedRate']:,.1f}/s completed"
    )
    if hold:
        of_all = "" if percent is None else f"; with them, {percent:.2f} % failed"
        text += f"\n{hold['heldMost']:,} sessions held at most, {hold['heldLeast']:,} at least{of_all}"
        text += _fresh_login(hold.get("freshLogin", {}))
    return text


def _fresh_login(login: Status) -> str:
    """Return a newcomer's login beside the held sessions and without them; nothing where neither is stated."""
    if "p50Ms" not in login:
        return ""
    text = f"\na fresh login beside them took {milliseconds(login['p50Ms'])} ms (p50)"
    if "p50Ratio" in login:
        text += f", {milliseconds(login['aloneP50Ms'])} ms with nothing held: {login['p50Ratio']:.2f} times as long"
    if "p50RatioLow" in login and "p50RatioHigh" in login:
        text += f" ({login['p50RatioLow']:.2f} to {login['p50RatioHigh']:.2f})"
    return text


def _steps(steps: Sequence[Status]) -> str:
    moves = any("bytesPerSecond" in step for step in steps)
    head = ("step", "count", "failures", "rate/s", *(title for title, _ in _LATENCIES))
    rows = [
        (
            printable(step["step"]),
            f"{step['count']:,}",
            f"{step['failures']:,}",
            f"{step['rate']:,.1f}",
            *(milliseconds(step.get(key)) for _, key in _LATENCIES),
            *((_moved(step),) if moves else ()),
        )
        for step in steps
    ]
    table = columns((*head, "moved") if moves else head, rows, left=1)
    if any(ABSENT in row[4 : 4 + len(_LATENCIES)] for row in rows):
        table += f"\n{ABSENT}: too few samples to state it"
    return table


def _moved(step: Status) -> str:
    return bytes_per_second(step["bytesPerSecond"]) if "bytesPerSecond" in step else ""


def _errors(errors: Sequence[Status]) -> str:
    head = ("failed step", "outcome", "count", "first message")
    rows = [
        (
            printable(error["step"]),
            printable(error["outcome"]),
            f"{error['count']:,}",
            printable(error.get("firstMessage", "")),
        )
        for error in errors
    ]
    return columns(head, rows, left=2, last_left=True)


def _negotiated(results: Status) -> Iterator[str]:
    for one in results.get("negotiated", ()):
        words = (one["serverVersion"], one["kex"], one["hostKey"], one["cipher"], one["mac"])
        yield f"server     {printable(', '.join(word for word in words if word))}: {one['count']:,} logins"


def _generator(results: Status) -> Iterator[str]:
    generator = results.get("generator", {})
    words = [
        text.format(generator[key])
        for key, text in (
            ("cpuPercent", "CPU {:.0f} % of a core"),
            ("runDelayPercent", "waited {:.1f} % for a CPU"),
            ("stolenPercent", "{:.1f} % stolen by the host"),
            ("loopLagP99Ms", "event loop lag p99 {:.1f} ms"),
            ("lateArrivals", "{:,} late"),
            ("droppedArrivals", "{:,} dropped"),
        )
        if key in generator
    ]
    if "cpuPercent" in generator and "runDelayPercent" not in generator:
        words.append("this kernel does not tell how long it waited for a CPU")
    if "workersConnected" in generator and "workersExpected" in generator:
        words.insert(0, f"{generator['workersConnected']} of {generator['workersExpected']} took part")
    if words:
        yield f"workers    {', '.join(words)}"


def _target(results: Status) -> Iterator[str]:
    target = results.get("target", {})
    words = [
        text.format(target[key])
        for key, text in (
            ("accepted", "{:,} logins accepted"),
            ("clientLogins", "the workers count {:,}"),
            ("authFailed", "{:,} refused for credentials"),
            ("cpuPerLoginMs", "{:.1f} ms CPU per login"),
        )
        if key in target
    ]
    words += _per_session(target)
    dropped = target.get("dropped", {})
    count = dropped.get("maxStartups", 0) + dropped.get("penalty", 0)
    if count:
        words.append(f"{'at least ' if dropped.get('lowerBound') else ''}{count:,} connections dropped")
    words += [
        text.format(target[key])
        for key, text in (
            ("oomKills", "{:,} processes killed for want of memory"),
            ("refusedForks", "{:,} processes could not be started"),
        )
        if target.get(key)
    ]
    if words:
        yield f"target     {', '.join(words)}"


def _per_session(target: Status) -> Iterator[str]:
    if "memoryPerSessionBytes" in target:
        at_most = "at most " if target.get("memoryPerSessionUpperBound") else ""
        yield f"{at_most}{target['memoryPerSessionBytes'] / _MEGA:.2f} MB per held session"


def _thresholds(thresholds: Sequence[Status]) -> Iterator[str]:
    if not thresholds:
        return
    words = {True: "met", False: "BROKEN", None: "unknown"}
    rows = [
        (printable(one["threshold"]), printable(one.get("observed", ABSENT)), words[one.get("passed")])
        for one in thresholds
    ]
    yield columns(("threshold", "observed", "held"), rows, left=3)


def _baseline(baseline: Status | None) -> Iterator[str]:
    if baseline is not None:
        words = (baseline.get("verdict"), baseline.get("completionTime"))
        known = ", ".join(word for word in words if word)
        yield f"baseline   {printable(baseline['test'])}{f' ({known})' if known else ''}"


def _verdict(status: Status) -> str:
    if status.get("phase") != Phase.FINISHED:
        return f"no verdict yet: {status.get('phase', Phase.PENDING)}"
    reason, message = status.get("reason", ABSENT), printable(status.get("message", ""))
    return f"verdict    {status['verdict']} ({reason})\n           {message}"
