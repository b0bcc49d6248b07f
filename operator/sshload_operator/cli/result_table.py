"""The result of a test as text: rendered from the status alone, so that `run` and `watch` say the same."""

from collections.abc import Iterator, Sequence

from sshload_operator.api.shapes.forms import timestamp_text
from sshload_operator.api.status.load_test import BaselineStatus, TestStatus, ThresholdStatus
from sshload_operator.api.status.results import (
    Agreement,
    FailureCount,
    FreshLogin,
    GeneratorResult,
    Results,
    StageResult,
    StepResult,
    TargetResult,
)
from sshload_operator.cli.capacity_table import capacity_lines
from sshload_operator.cli.plain_text import ABSENT, bytes_per_second, columns, milliseconds, printable
from sshload_operator.state import Phase

_PERCENTILES = (50, 90, 99)
_HEADS = tuple(f"p{percentile} ms" for percentile in _PERCENTILES)
_MEGA = 1_000_000


def result_text(status: TestStatus) -> str:
    """Return the whole result, the verdict last. What the status does not state is left out, or shown as `-`.

    Text from servers is printed without control characters.
    """
    sections = [
        *capacity_lines(status.capacity),
        *_results(status.results),
        *_thresholds(status.thresholds),
        *_baseline(status.baseline),
        _verdict(status),
    ]
    return "\n\n".join(sections) + "\n"


def _results(results: Results | None) -> Iterator[str]:
    if results is None:
        return
    yield _headline(results)
    if results.stages:
        yield _stages(results.stages)
    if results.steps:
        yield _steps(results.steps)
    if results.errors:
        yield _errors(results.errors)
    measured_by = [
        *map(_agreement, results.negotiated),
        *_generator(results.generator),
        *_target(results.target),
        *_max_startups(results),
    ]
    if measured_by:
        yield "\n".join(measured_by)


def _headline(results: Results) -> str:
    percent, hold = results.error_percent, results.hold
    share = "" if percent is None or hold else f" ({percent:.2f} %)"
    text = (
        f"{results.iterations:,} iterations measured in {results.duration_seconds:,.1f} s, "
        f"{results.failures:,} failed{share}\n"
        f"{results.offered_rate:,.1f}/s offered, {results.achieved_rate:,.1f}/s begun, "
        f"{results.completed_rate:,.1f}/s completed"
    )
    if hold:
        of_all = "" if percent is None else f"; with them, {percent:.2f} % failed"
        text += f"\n{hold.held_most:,} sessions held at most, {hold.held_least:,} at least{of_all}"
        text += _fresh_login(hold.fresh_login or FreshLogin())
    return text


def _fresh_login(login: FreshLogin) -> str:
    """Return a newcomer's login beside the held sessions and without them; nothing where neither is stated."""
    if login.p50_ms is None:
        return ""
    text = f"\na fresh login beside them took {milliseconds(login.p50_ms)} ms (p50)"
    if login.p50_ratio is not None:
        text += f", {milliseconds(login.alone_p50_ms)} ms with nothing held: {login.p50_ratio:.2f} times as long"
    if login.p50_ratio_low is not None and login.p50_ratio_high is not None:
        text += f" ({login.p50_ratio_low:.2f} to {login.p50_ratio_high:.2f})"
    return text


def _steps(steps: Sequence[StepResult]) -> str:
    moves = any(step.bytes_per_second is not None for step in steps)
    latencies = [
        tuple(milliseconds(value) for value in (*map(step.percentile_ms, _PERCENTILES), step.max_ms)) for step in steps
    ]
    rows = [
        (
            printable(step.step),
            f"{step.count:,}",
            f"{step.failures:,}",
            f"{step.rate:,.1f}",
            *of_step,
            *(("" if step.bytes_per_second is None else bytes_per_second(step.bytes_per_second),) if moves else ()),
        )
        for step, of_step in zip(steps, latencies, strict=True)
    ]
    head = ("step", "count", "failures", "rate/s", *_HEADS, "max ms", *(("moved",) if moves else ()))
    table = columns(head, rows, left=1)
    if any(ABSENT in of_step for of_step in latencies):
        table += f"\n{ABSENT}: too few samples to state it"
    return table


def _stages(stages: Sequence[StageResult]) -> str:
    of_users = any(stage.users is not None for stage in stages)
    head = ("stage", "users" if of_users else "offered/s", "completed/s", "iterations", "failures", *_HEADS)
    rows = [
        (
            str(stage.stage),
            _users(stage) if of_users else f"{stage.offered_rate:,.1f}",
            f"{stage.completed_rate:,.1f}",
            f"{stage.iterations:,}",
            f"{stage.failures:,}",
            *map(milliseconds, (stage.p50_ms, stage.p90_ms, stage.p99_ms)),
        )
        for stage in stages
    ]
    return columns(head, rows, left=0)


def _users(stage: StageResult) -> str:
    if stage.users is None:
        return ABSENT
    return f"{stage.users:,}" if stage.to_users is None else f"{stage.users:,} to {stage.to_users:,}"


def _errors(errors: Sequence[FailureCount]) -> str:
    head = ("failed step", "outcome", "count", "first message")
    rows = [
        (
            printable(error.step),
            printable(error.outcome),
            f"{error.count:,}",
            printable(error.first_message or ""),
        )
        for error in errors
    ]
    return columns(head, rows, left=2, last_left=True)


def _agreement(one: Agreement) -> str:
    words = (one.server_version, one.kex, one.host_key, one.cipher, one.mac)
    return f"server     {printable(', '.join(word for word in words if word))}: {one.count:,} logins"


def _generator(generator: GeneratorResult | None) -> Iterator[str]:
    if generator is None:
        return
    connected, expected = generator.workers_connected, generator.workers_expected
    is_run_delay_untold = generator.cpu_percent is not None and generator.run_delay_percent is None
    words = [
        *([f"{connected} of {expected} took part"] if connected is not None and expected is not None else []),
        *_stated("CPU {:.0f} % of a core", generator.cpu_percent),
        *_stated("waited {:.1f} % for a CPU", generator.run_delay_percent),
        *_stated("{:.1f} % stolen by the host", generator.stolen_percent),
        *_stated("event loop lag p99 {:.1f} ms", generator.loop_lag_p99_ms),
        *_stated("{:,} late", generator.late_arrivals),
        *_stated("{:,} dropped", generator.dropped_arrivals),
        *(["this kernel does not tell how long it waited for a CPU"] if is_run_delay_untold else []),
    ]
    if words:
        yield f"workers    {', '.join(words)}"


def _target(target: TargetResult | None) -> Iterator[str]:
    if target is None:
        return
    words = [
        *_stated("{:,} logins accepted", target.accepted),
        *_stated("the workers count {:,}", target.client_logins),
        *_stated("{:,} refused for credentials", target.auth_failed),
        *_stated("{:.1f} ms CPU per login", target.cpu_per_login_ms),
        *_per_session(target),
        *_dropped(target),
        *_stated("{:,} processes killed for lack of memory", target.oom_kills or None),
        *_stated("{:,} processes could not be started", target.refused_forks or None),
    ]
    if words:
        yield f"target     {', '.join(words)}"


def _stated(text: str, figure: float | None) -> Iterator[str]:
    """Yield a figure in its words, nothing where the status does not state it."""
    if figure is not None:
        yield text.format(figure)


def _per_session(target: TargetResult) -> Iterator[str]:
    if target.memory_per_session_bytes is not None:
        at_most = "at most " if target.memory_per_session_upper_bound else ""
        yield f"{at_most}{target.memory_per_session_bytes / _MEGA:.2f} MB per held session"


def _dropped(target: TargetResult) -> Iterator[str]:
    dropped = target.dropped
    count = 0 if dropped is None else (dropped.max_startups or 0) + (dropped.penalty or 0)
    if dropped is not None and count:
        yield f"{'at least ' if dropped.lower_bound else ''}{count:,} connections dropped"


def _max_startups(results: Results) -> Iterator[str]:
    if results.max_startups is not None:
        yield f"startups   {printable(results.max_startups.message)}"


def _thresholds(thresholds: Sequence[ThresholdStatus]) -> Iterator[str]:
    if not thresholds:
        return
    words = {True: "met", False: "BROKEN", None: "unknown"}
    rows = [
        (printable(one.threshold), printable(ABSENT if one.observed is None else one.observed), words[one.passed])
        for one in thresholds
    ]
    yield columns(("threshold", "observed", "held"), rows, left=3)


def _baseline(baseline: BaselineStatus | None) -> Iterator[str]:
    if baseline is None:
        return
    ended = "" if baseline.completion_time is None else timestamp_text(baseline.completion_time)
    known = ", ".join(filter(None, (baseline.verdict, ended)))
    yield f"baseline   {printable(baseline.test)}{f' ({known})' if known else ''}"


def _verdict(status: TestStatus) -> str:
    if status.phase is not Phase.FINISHED:
        return f"no verdict yet: {status.phase or Phase.PENDING}"
    said = f"{status.verdict or ABSENT} ({status.reason or ABSENT})"
    return f"verdict    {said}\n           {printable(status.message)}"
