"""What a run has measured, as parts of a page: the load, its stages and steps, failures, the server, the generator."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sshload_contract.digits import to_digits
from sshload_contract.steps import WHOLE_STEPS
from sshload_contract.vocabulary import owner_and_timing
from sshload_contract.wire.report import IMPLICIT_MAC

from sshload_operator.api.status.measured import Figure, declared, figures_of_step
from sshload_operator.api.status.results import (
    Agreement,
    FailureCount,
    FreshLogin,
    GeneratorResult,
    ProgramResult,
    Results,
    StageResult,
    TargetResult,
    UserResult,
    UsersResult,
)
from sshload_operator.api.status.steps import StepResult
from sshload_operator.cli.view.page import Facts, Grid, Paste
from sshload_operator.cli.view.text import ABSENT, bytes_per_second, milliseconds

_PERCENTILES: Final = (50, 90, 99)
_MEGA = 1_000_000


def measured_parts(
    results: Results, figures: Iterable[Figure], asked: frozenset[str], *, totals_said: bool, verbose: bool
) -> Iterator[Grid | Facts | Paste]:
    """Yield what is shown of results, in the order in which it happened.

    `figures` are those of the whole run, and `asked` the steps that thresholds name. `totals_said` leaves out what the
    verdict's sentence has said already.
    """
    load = [("load", _load(results, totals_said=totals_said))] if results.duration_seconds else []
    if begun := (*load, *_held(results), *_users_of_population(results.users)):
        yield Facts(begun)
    if results.stages:
        yield _stages(results.stages)
    if steps := results.all_steps:
        yield _steps(steps, asked, verbose=verbose)
    if results.errors:
        yield _errors(results.errors)
    if verbose:
        yield _figures_of_run(figures)
    facts = (
        *_server(results, verbose=verbose),
        *(fact for part, used in results.in_path.items() for fact in _in_path(part, used)),
        *_generator(results.generator),
        *_max_startups(results),
        *_scope(results),
    )
    if facts:
        yield Facts(facts)


def _load(results: Results, *, totals_said: bool) -> str:
    rates = f"{results.offered_rate:,.1f}/s offered, {results.achieved_rate:,.1f}/s begun"
    words = [rates] if totals_said else [f"{rates}, {results.completed_rate:,.1f}/s completed"]
    words[0] += f" in {results.duration_seconds:,.1f} s"
    if not totals_said:
        percent = results.error_percent
        share = "" if percent is None or results.hold else f" ({percent:.2f} %)"
        words.append(f"{results.failures:,} of {results.iterations:,} iterations failed{share}")
    if results.burst is not None:
        words.append(f"{results.burst.established:,} of {results.burst.attempted:,} connections logged in")
    if results.ended_early is not None:
        why = "as a threshold was broken" if results.ended_early.threshold else "when each user had logged in"
        words.append(f"ended {results.ended_early.after_seconds:.1f} s after its start, {why}")
    return "; ".join(words)


def _held(results: Results) -> Iterator[tuple[str, str]]:
    hold = results.hold
    if hold is None:
        return
    percent = results.error_percent
    of_all = "" if percent is None else f"; with them, {percent:.2f} % failed"
    yield "held", f"{hold.held_most:,} sessions at most, {hold.held_least:,} at least{of_all}"
    yield from _fresh_login(hold.fresh_login or FreshLogin())


def _users_of_population(users: UsersResult | None) -> Iterator[tuple[str, str]]:
    """Yield how many users took part, and who of them had the most failures and the slowest login."""
    if users is None:
        return
    each = f"{users.least_logins:,}"
    if users.most_logins != users.least_logins:
        each += f" to {users.most_logins:,}"
    failed = f"; {users.failed:,} of them had failures" if users.failed else ""
    logins = f"{each} {'login' if each == '1' else 'logins'} each"
    yield "users", f"{users.took_part:,} of {users.population:,} took part, with {logins}{failed}"
    if users.most_failures:
        failing = (f"{_user(one)}: {one.failures:,}, {one.logins:,} logins" for one in users.most_failures)
        yield "most failures", "; ".join(failing)
    if users.slowest:
        slow = (f"{_user(one)}: {milliseconds(one.slowest_login_ms)} ms" for one in users.slowest)
        yield "slowest login", "; ".join(slow)


def _user(user: UserResult) -> str:
    return user.name or f"no. {user.place:,}"


def _fresh_login(login: FreshLogin) -> Iterator[tuple[str, str]]:
    """Yield the time of a new login with and without the held sessions; nothing if neither is stated."""
    if login.p50_ms is None:
        return
    text = f"beside them {milliseconds(login.p50_ms)} ms (p50)"
    if login.p50_ratio is not None:
        text += f", {milliseconds(login.alone_p50_ms)} ms with nothing held: {login.p50_ratio:.2f} times as long"
    if login.p50_ratio_low is not None and login.p50_ratio_high is not None:
        text += f" ({login.p50_ratio_low:.2f} to {login.p50_ratio_high:.2f})"
    yield "new login", text


def _steps(steps: Sequence[StepResult], asked: frozenset[str], *, verbose: bool) -> Grid:
    shown = [step for step in steps if verbose or _is_telling(step, asked)] or steps
    moves = any(step.bytes_per_second is not None for step in shown)
    heads = [*(("rate/s",) if verbose else ()), "mean ms", *(f"p{one}" for one in _PERCENTILES), "max"]
    rows = [(step.step, f"{step.count:,}", f"{step.failures:,}", *_figures(step, verbose=verbose)) for step in shown]
    if moves:
        moved = ["" if one.bytes_per_second is None else bytes_per_second(one.bytes_per_second) for one in shown]
        heads, rows = [*heads, "moved"], [(*row, last) for row, last in zip(rows, moved, strict=True)]
    notes = [f"{ABSENT}: too few samples to state it"] if any(ABSENT in row for row in rows) else []
    if len(shown) < len(steps):
        notes.append(f"-v shows all {len(steps)} steps")
    return Grid(("step", "count", "failed", *heads), tuple(rows), note=". ".join(notes))


def _figures_of_run(figures: Iterable[Figure]) -> Grid:
    """Return every figure of the whole run by its name in the status: those too that have no words here."""
    rows = ((one.name, *map(_plain, (one.value, one.low, one.high)), one.unit) for one in figures)
    return Grid(("figure", "value", "95 % from", "to", "unit"), tuple(rows), last_left=True)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= _MEGA else f"{value:,.6g}"


def _is_telling(step: StepResult, asked: frozenset[str]) -> bool:
    """Tell whether to show a step: one that is not a part of a login or a command, is in a threshold, or failed."""
    return owner_and_timing(step.step)[1] in WHOLE_STEPS or step.step in asked or step.failures > 0


def _figures(step: StepResult, *, verbose: bool) -> tuple[str, ...]:
    """Return the figures of a row. A status has no rate and no maximum for a part of a step, whatever it measured."""
    latencies = (step.mean_ms, *map(step.percentile_ms, _PERCENTILES))
    rate = "" if step.rate is None else f"{step.rate:,.1f}"
    longest = "" if step.rate is None else milliseconds(step.max_ms)
    return (*((rate,) if verbose else ()), *map(milliseconds, latencies), longest)


def steps_as_rows(results: Results) -> Iterator[Mapping[str, object]]:
    """Yield each step with its figures under the names that the status has for them, for a spreadsheet."""
    columns = dict.fromkeys(one.name for one in declared(StepResult))
    for step in results.all_steps:
        found = {one.name: one.value for one in figures_of_step(step)}
        yield {"step": step.step, "count": step.count, "failures": step.failures, **columns, **found}


def _stages(stages: Sequence[StageResult]) -> Grid:
    of_users = any(stage.users is not None for stage in stages)
    head = ("stage", "users" if of_users else "offered/s", "completed/s", "ended", "failed", "p50 ms", "p90", "p99")
    rows = tuple(
        (
            str(stage.stage),
            _users(stage) if of_users else f"{stage.offered_rate:,.1f}",
            f"{stage.completed_rate:,.1f}",
            f"{stage.iterations:,}",
            f"{stage.failures:,}",
            *map(milliseconds, (stage.p50_ms, stage.p90_ms, stage.p99_ms)),
        )
        for stage in stages
    )
    return Grid(head, rows, left=0)


def _users(stage: StageResult) -> str:
    if stage.users is None:
        return ABSENT
    return f"{stage.users:,}" if stage.to_users is None else f"{stage.users:,} to {stage.to_users:,}"


def _errors(errors: Sequence[FailureCount]) -> Grid:
    rows = tuple((one.step, one.outcome, f"{one.count:,}", one.first_message or "") for one in errors)
    return Grid(("failed step", "outcome", "count", "first message"), rows, left=2, last_left=True)


def _server(results: Results, *, verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield which server answered, with which algorithms; what it counted itself; and what it was short of."""
    shown = results.negotiated if verbose else results.negotiated[:1]
    for one in shown:
        yield "server", agreement_text(one)
    if len(shown) < len(results.negotiated):
        yield "", f"handshakes differed: -v shows all {len(results.negotiated)} combinations"
    words = [] if results.target is None else list(_target(results.target))
    if words:
        yield "" if shown else "server", ", ".join(words)


def agreement_text(one: Agreement) -> str:
    """Return in words which server answered, what was agreed with it, and how often."""
    mac = "" if one.mac == IMPLICIT_MAC else one.mac
    words = (one.server_version, one.kex, one.host_key, one.cipher, mac)
    return f"{', '.join(word for word in words if word)}: {one.count:,} logins"


def _target(target: TargetResult) -> Iterator[str]:
    accepted, counted = target.accepted, target.client_logins
    if accepted is not None and accepted == counted:
        yield f"{accepted:,} logins by its count and the generator's, warm-up included"
    else:
        yield from _stated("{:,} logins accepted", accepted)
        yield from _stated("the generator counts {:,}", counted)
    yield from _stated("{:,} refused for credentials", target.auth_failed or None)
    yield from _stated("{:.1f} ms CPU per login", target.cpu_per_login_ms)
    yield from _stated("{:.1f} ms CPU per iteration", target.cpu_per_iteration_ms)
    yield from _stated("beside it {:.1f} ms of slapd and sssd per login", target.directory_cpu_per_login_ms)
    if target.memory_per_session_bytes is not None:
        at_most = "at most " if target.memory_per_session_upper_bound else ""
        yield f"{at_most}{target.memory_per_session_bytes / _MEGA:.2f} MB per held session"
    dropped = target.dropped
    count = 0 if dropped is None else (dropped.max_startups or 0) + (dropped.penalty or 0)
    if dropped is not None and count:
        yield f"{'at least ' if dropped.lower_bound else ''}{count:,} connections dropped"
    yield from _stated("{:,} processes killed for lack of memory", target.oom_kills or None)
    yield from _stated("{:,} processes could not be started", target.refused_forks or None)
    yield from _stated("{:,} connections lost to a full listen queue", target.listen_overflows or None)


def _in_path(name: str, used: ProgramResult) -> Iterator[tuple[str, str]]:
    """Yield what a program in the path used."""
    words = [
        *_cpu("login", getattr(used, "cpu_per_login_ms", None)),
        *_cpu("iteration", getattr(used, "cpu_per_iteration_ms", None)),
        *_stated("held back by its CPU limit for {:.1f} s", used.cpu_throttled_seconds),
        *_stated("{:.0f} MB at most", None if (peak := used.memory_peak_bytes) is None else peak / _MEGA),
    ]
    if words:
        yield name, ", ".join(words)


def _generator(generator: GeneratorResult | None) -> Iterator[tuple[str, str]]:
    if generator is None:
        return
    connected, expected = generator.workers_connected, generator.workers_expected
    is_run_delay_untold = generator.cpu_percent is not None and generator.run_delay_percent is None
    words = [
        *([f"{connected} of {expected} workers"] if connected is not None and expected is not None else []),
        *_stated("CPU {:.0f} % of a core", generator.cpu_percent),
        *_stated("waited {:.1f} % for a CPU", generator.run_delay_percent),
        *_stated("{:.1f} % stolen by the host", generator.stolen_percent),
        *_stated("event loop lag p99 {:.1f} ms", generator.loop_lag_p99_ms),
        *_cpu("iteration", generator.cpu_per_iteration_ms),
        *_stated("{:.0f} MB at most", None if (peak := generator.memory_peak_bytes) is None else peak / _MEGA),
        *_stated("{:,} arrivals late", generator.late_arrivals),
        *_stated("{:,} dropped", generator.dropped_arrivals),
        *(["this kernel does not report how long it waited for a CPU"] if is_run_delay_untold else []),
    ]
    if words:
        yield "generator", ", ".join(words)


def _cpu(of: str, figure_ms: float | None) -> Iterator[str]:
    if figure_ms is not None:
        yield f"{to_digits(figure_ms, 3)} ms CPU per {of}"


def _stated(text: str, figure: float | None) -> Iterator[str]:
    """Yield a figure in its words, nothing if the status does not state it."""
    if figure is not None:
        yield text.format(figure)


def _scope(results: Results) -> Iterator[tuple[str, str]]:
    if results.scope:
        yield "scope", ". ".join(results.scope)


def _max_startups(results: Results) -> Iterator[tuple[str, str]]:
    if results.max_startups is not None:
        yield "startups", results.max_startups.message
