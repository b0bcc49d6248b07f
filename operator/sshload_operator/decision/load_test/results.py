"""The results of a run in its status: units are in the names, and only what was observed is stated."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sshload_contract.judgement.error_rate import attempts
from sshload_contract.judgement.figures import client_logins, find_step, total_step
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.validity import figures_spoiled
from sshload_contract.percentiles import percentile_key
from sshload_contract.shortened import shortened
from sshload_contract.steal import stolen_share
from sshload_contract.vocabulary import MEASURED_VERDICTS, Timing, Verdict, Window
from sshload_contract.wire.ldap import LdapFacts
from sshload_contract.wire.master_log import MOST_FAILURE_KINDS, Snapshot
from sshload_contract.wire.program import ProgramUse
from sshload_contract.wire.report import ErrorCount, Negotiated
from sshload_contract.wire.run_config import SessionReuse
from sshload_contract.wire.run_summary import Paused, RunSummary, StageStats
from sshload_contract.wire.target import COUNTERS, TargetStats

from sshload_operator.api.status.figures import milliseconds, percent, rounded
from sshload_operator.api.status.load_test import FailuresSoFar, Progress
from sshload_operator.api.status.results import (
    ACCOUNTS_CHARACTERS,
    ALGORITHM_CHARACTERS,
    DISTRIBUTION_CHARACTERS,
    FIRST_MESSAGE_CHARACTERS,
    IN_PATH,
    MOST_ERRORS,
    MOST_NEGOTIATED,
    SCOPE_CHARACTERS,
    STEP_CHARACTERS,
    THRESHOLD_CHARACTERS,
    VERSION_CHARACTERS,
    Agreement,
    BurstResult,
    DirectoryResult,
    DroppedConnections,
    EndedEarly,
    FailureCount,
    GeneratorResult,
    Results,
    StageResult,
    TargetResult,
    WarmUp,
)
from sshload_operator.decision.capacity.status import search_status
from sshload_operator.decision.load_test.busy_machine import busy_machine
from sshload_operator.decision.load_test.hold import held, per_session
from sshload_operator.decision.load_test.noise import completed_rate_interval
from sshload_operator.decision.load_test.one_user import bound_by_one_user
from sshload_operator.decision.load_test.scope import of_pause, of_server, scope
from sshload_operator.decision.load_test.steps import steps_status
from sshload_operator.decision.load_test.users import users_result
from sshload_operator.decision.max_startups.advice import advice
from sshload_operator.planning.plan import Plan


def results_status(plan: Plan, summary: RunSummary, verdict: Verdict, other_login: str = "") -> Results:
    """Return `status.results` of a run with this verdict. A run that measured nothing that counts has no advice.

    `other_login` says how the logins of its baseline were others, if they were.
    Text from a server or a tenant's own worker is cut to what the CRD accepts.
    """
    load, measured = summary.trial.load, plan.spec.load.trial_at(summary.trial.amount)
    interval = completed_rate_interval(plan, summary)
    target, steps = _target(plan, summary), steps_status(plan, summary.trial)
    return Results(
        duration_seconds=rounded(load.duration_s),
        ended_early=_ended_early(summary),
        offered_rate=rounded(load.offered_rate),
        achieved_rate=rounded(load.achieved_rate),
        completed_rate=rounded(load.completed_rate),
        completed_rate_low=None if interval is None else interval.low,
        completed_rate_high=None if interval is None else interval.high,
        iterations=load.succeeded + load.failed,
        failures=load.failed,
        error_percent=percent(attempts(measured, summary.trial).error_rate),
        p99_ms=_p99_ms(summary, Window.MEASURED),
        warm_up=_warm_up(summary) if plan.spec.warm_up_s else None,
        steps=tuple(step for step in steps if not step.is_part),
        parts=tuple(step for step in steps if step.is_part),
        stages=tuple(_stages(plan, summary)),
        errors=tuple(_errors(summary))[:MOST_ERRORS],
        burst=_burst(summary) if plan.spec.load.least.bursts else None,
        users=users_result(plan, summary.trial.users),
        hold=held(summary.trial) if plan.spec.load.least.held_sessions else None,
        negotiated=tuple(_negotiated(summary))[:MOST_NEGOTIATED],
        scope=_scope(plan, summary, other_login),
        generator=_generator(plan, summary),
        target=target,
        **dict(_in_path(plan, summary, target)),
        max_startups=advice(plan, summary) if verdict in MEASURED_VERDICTS else None,
    )


def _scope(plan: Plan, summary: RunSummary, other_login: str) -> tuple[str, ...]:
    if not summary.trial.load.started:
        return ()
    agreed = [negotiated for negotiated, _ in _agreed(summary)]
    # Only one server was asked: where logins met several, it may be another one than that of most of them.
    is_one_server = len({(one.kex, one.server_version) for one in agreed}) == 1
    sentences = scope(plan, next(iter(agreed), None), summary.better_kex if is_one_server else None)
    paused = of_pause(plan, summary.trial.paused)
    of_run = (shortened(other_login, SCOPE_CHARACTERS), busy_machine(summary), paused)
    found = (*of_run, *bound_by_one_user(summary), *of_server(summary.trial.target_after), *sentences)
    return tuple(filter(None, found))


def _ended_early(summary: RunSummary) -> EndedEarly | None:
    early = summary.early_end
    if early is None:
        return None
    return EndedEarly(rounded(early.after_s), shortened(early.threshold, THRESHOLD_CHARACTERS) or None)


def _burst(summary: RunSummary) -> BurstResult:
    login = find_step(summary.trial, Timing.LOGIN, Window.MEASURED)
    return BurstResult(attempted=summary.trial.load.started, established=login.count if login is not None else 0)


def _p99_ms(summary: RunSummary, window: Window) -> float | None:
    total = total_step(summary.trial, window)
    return None if total is None else milliseconds(total.percentiles_us.get(percentile_key(99)))


def _warm_up(summary: RunSummary) -> WarmUp | None:
    total = total_step(summary.trial, Window.WARM_UP)
    if total is None:
        return None
    return WarmUp(
        iterations=total.count + total.failures, failures=total.failures, p99_ms=_p99_ms(summary, Window.WARM_UP)
    )


def _stages(plan: Plan, summary: RunSummary) -> Iterator[StageResult]:
    """Yield the stages of the load, each once, whatever a summary contains."""
    load = plan.spec.load.least
    found = {stage.number: stage for stage in summary.stages}
    for number in range(1, len(load.stage_durations_s) + 1):
        if number in found:
            yield _stage(found[number], *load.users_of(number))


def _stage(stage: StageStats, users: int | None, to_users: int | None) -> StageResult:
    load = stage.load
    percentiles_us = {} if stage.total is None else stage.total.percentiles_us
    p50_ms, p90_ms, p99_ms = (
        milliseconds(percentiles_us.get(percentile_key(percentile))) for percentile in (50, 90, 99)
    )
    return StageResult(
        stage=stage.number,
        users=users,
        to_users=to_users,
        duration_seconds=rounded(load.duration_s),
        offered_rate=rounded(load.offered_rate),
        completed_rate=rounded(load.completed_rate),
        iterations=load.succeeded + load.failed,
        failures=load.failed,
        p50_ms=p50_ms,
        p90_ms=p90_ms,
        p99_ms=p99_ms,
    )


def _errors(summary: RunSummary) -> Iterator[FailureCount]:
    measured = [error for error in summary.trial.errors if error.window is Window.MEASURED and error.count]
    for error in sorted(measured, key=_most_frequent_first):
        yield FailureCount(
            step=error.step[:STEP_CHARACTERS],
            outcome=error.outcome,
            count=error.count,
            first_message=shortened(error.first_message, FIRST_MESSAGE_CHARACTERS) or None,
        )


def _most_frequent_first(error: ErrorCount) -> tuple[int, str, str]:
    return -error.count, error.step, error.outcome


def _agreed(summary: RunSummary) -> Iterator[tuple[Negotiated, int]]:
    """Yield what handshakes agreed on, the most frequent first, with the number of handshakes."""
    counts: Counter[Negotiated] = Counter()
    for one in summary.trial.negotiated:
        counts[one.negotiated] += one.count
    yield from ((negotiated, count) for negotiated, count in counts.most_common() if count)


def _negotiated(summary: RunSummary) -> Iterator[Agreement]:
    return (_agreement(negotiated, count) for negotiated, count in _agreed(summary))


def _agreement(negotiated: Negotiated, count: int) -> Agreement:
    return Agreement(
        kex=negotiated.kex[:ALGORITHM_CHARACTERS],
        cipher=negotiated.cipher[:ALGORITHM_CHARACTERS],
        mac=negotiated.mac[:ALGORITHM_CHARACTERS],
        host_key=negotiated.host_key[:ALGORITHM_CHARACTERS],
        server_version=negotiated.server_version[:VERSION_CHARACTERS],
        count=count,
    )


def _generator(plan: Plan, summary: RunSummary) -> GeneratorResult:
    generator, load = summary.trial.generator, summary.trial.load
    found = GeneratorResult(
        workers_expected=generator.workers_expected,
        workers_connected=generator.workers_connected,
        workers_lost=generator.workers_lost,
        reports_missing=generator.reports_missing,
        late_arrivals=load.late,
        dropped_arrivals=load.dropped,
    )
    return _with_health(found, plan, summary) if summary.started_unix_s else found


def _with_health(found: GeneratorResult, plan: Plan, summary: RunSummary) -> GeneratorResult:
    """Add what the workers report about themselves, which they do from the start of the load."""
    generator = summary.trial.generator
    spoiled = figures_spoiled(summary.trial, plan.spec.scenario.slept_s) is not None
    return replace(
        found,
        cpu_percent=percent(generator.cpu_cores),
        run_delay_percent=percent(generator.run_delay_share),
        stolen_percent=percent(generator.stolen_share),
        loop_lag_p99_ms=milliseconds(generator.loop_lag_p99_us),
        loop_lag_max_ms=milliseconds(generator.loop_lag_max_us),
        latencies_may_include_ms=milliseconds(own_delay(summary.trial).largest_us) if spoiled else None,
        overflows=generator.overflows,
        cpu_per_iteration_ms=_cpu_per_iteration_ms(plan, summary),
        memory_peak_bytes=generator.memory_peak_bytes,
    )


def _cpu_per_iteration_ms(plan: Plan, summary: RunSummary) -> float | None:
    """Return the workers' CPU time per iteration; None for held sessions, which are not iterations."""
    return _per_iteration_ms(plan, summary, summary.trial.generator.cpu_s or None)


def _per_iteration_ms(plan: Plan, summary: RunSummary, cpu_s: float | None) -> float | None:
    wholes = [step for window in Window if (step := total_step(summary.trial, window)) is not None]
    ended = sum(step.count + step.failures for step in wholes)
    if cpu_s is None or not ended or plan.spec.load.least.held_sessions:
        return None
    return rounded(cpu_s * 1_000 / ended)


def _target(plan: Plan, summary: RunSummary) -> TargetResult | None:
    before, after = summary.trial.target_before, summary.trial.target_after
    if before is None or after is None:
        return None
    grown, logins, session = _growth(before, after), client_logins(summary.trial), per_session(summary.trial)
    restarted = None in grown.values()
    cpu_s = None if restarted else rounded(max(after.sshd_cpu_s - before.sshd_cpu_s, 0.0))
    accepted, cores = grown["accepted"], None if restarted else after.cores_since(before)
    is_counted = plan.spec.target.access.speaks_ssh  # else logins are not those of the workers
    only_logs_in = is_counted and plan.spec.scenario.only_logs_in
    logs_in_anew = is_counted and plan.spec.scenario.session_reuse is SessionReuse.NONE
    directory_cpu_s = None if restarted else _directory_cpu_s(before.ldap, after.ldap)

    def told(count: float | None) -> Any:
        """Return a count of failures; None for 0, unless an absent count means that it is not known."""
        return count if count or restarted else None

    return TargetResult(
        restarted=True if restarted else None,
        sshd_version=after.sshd_version[:VERSION_CHARACTERS] or None,
        distribution=after.distribution[:DISTRIBUTION_CHARACTERS] or None,
        as_root=after.as_root,
        pam=after.pam,
        accounts=after.accounts[:ACCOUNTS_CHARACTERS] or None,
        directory=None if after.ldap is None else _directory(after.ldap, directory_cpu_s, summary.trial.paused),
        accepted=accepted,
        client_logins=logins if is_counted else None,
        login_difference=((after.accepted - before.accepted - logins) or None) if is_counted else None,
        auth_failed=told(grown["auth_failed"]),
        dropped=_dropped(before, after, grown),
        cpu_seconds=cpu_s,
        cpu_cores=None if cores is None else rounded(cores),
        cpu_per_login_ms=_per_login_ms(accepted, cpu_s) if only_logs_in else None,
        cpu_per_iteration_ms=None if only_logs_in else _per_iteration_ms(plan, summary, cpu_s),
        directory_cpu_per_login_ms=_per_login_ms(accepted, directory_cpu_s) if logs_in_anew else None,
        cpu_throttled_seconds=told(grown["cpu_throttled_s"]),
        stolen_percent=percent(stolen_share(before.machine_cpu, after.machine_cpu)),
        memory_peak_bytes=after.memory_peak_bytes,
        memory_per_session_bytes=None if session is None else session.memory_bytes,
        memory_per_session_upper_bound=None if session is None else session.upper_bound,
        processes_per_session=None if session is None else session.processes,
        oom_kills=told(grown["oom_kills"]),
        refused_forks=told(grown["refused_forks"]),
        listen_overflows=told(grown["listen_overflows"]),
    )


def _directory(facts: LdapFacts, cpu_s: float | None, paused: Paused | None) -> DirectoryResult:
    return DirectoryResult(
        cache=facts.cache,
        slapd_version=facts.slapd_version[:VERSION_CHARACTERS] or None,
        sssd_version=facts.sssd_version[:VERSION_CHARACTERS] or None,
        cpu_seconds=cpu_s,
        paused_from_seconds=None if paused is None else rounded(paused.from_s),
        paused_to_seconds=None if paused is None else rounded(paused.to_s),
    )


def _directory_cpu_s(before: LdapFacts | None, after: LdapFacts | None) -> float | None:
    """Return what slapd and sssd used between two readings; None if they were restarted, or there are none."""
    if before is None or after is None or after.cpu_s < before.cpu_s:
        return None
    return rounded(after.cpu_s - before.cpu_s)


def _per_login_ms(accepted: int | None, cpu_s: float | None) -> float | None:
    return None if not accepted or cpu_s is None else round(cpu_s * 1_000 / accepted, 3)


def _in_path(plan: Plan, summary: RunSummary, target: TargetResult | None) -> Iterator[tuple[str, Any]]:
    """Yield what each program in the path used that reported it.

    If the workers do not speak SSH, programs forward requests and not logins, whatever the policy is.
    """
    logs_in = plan.spec.scenario.session_reuse is SessionReuse.NONE and plan.spec.target.access.speaks_ssh
    for part, use in summary.in_path.items():
        cpu_s, accepted = _cpu_s(use), None if target is None else target.accepted
        if logs_in and hasattr(IN_PATH[part], "cpu_per_login_ms"):
            each = {"cpu_per_login_ms": _per_login_ms(accepted, cpu_s)}
        else:
            each = {"cpu_per_iteration_ms": _per_iteration_ms(plan, summary, cpu_s)}
        yield part, IN_PATH[part](**_used(use), **each)


def _used(use: ProgramUse) -> dict[str, Any]:
    """Return what a program in the path used, by the field names of ProgramResult."""
    cpu_s = _cpu_s(use)
    throttled_s = rounded(use.after.cpu_throttled_s - use.before.cpu_throttled_s)
    return {
        "cpu_seconds": None if cpu_s is None else rounded(cpu_s),
        "cpu_throttled_seconds": throttled_s if throttled_s > 0 else None,
        "memory_peak_bytes": use.after.memory_peak_bytes,
    }


def _cpu_s(use: ProgramUse) -> float | None:
    """Return the CPU time of a program; None if it has decreased, because then the program was restarted."""
    grown_s = use.after.cpu_s - use.before.cpu_s
    return grown_s if grown_s >= 0 else None


def _dropped(before: TargetStats, after: TargetStats, grown: Mapping[str, Any]) -> DroppedConnections | None:
    """Return what sshd dropped, None if it dropped nothing and reported every drop."""
    found = DroppedConnections(
        max_startups=_drops(before, grown["dropped_max_startups"]),
        penalty=_drops(before, grown["dropped_penalty"]),
        lower_bound=after.dropped_is_lower_bound,
    )
    return None if found == DroppedConnections(max_startups=0, penalty=0, lower_bound=False) else found


def _drops(before: TargetStats, told: int | None) -> int | None:
    """Return a count of drops, None if some may be of an earlier trial: sshd logs suppressed drops later."""
    return None if told and before.dropped_is_lower_bound else told


def _growth(before: TargetStats, after: TargetStats) -> Mapping[str, Any]:
    """Return the increase of each counter, 0 if it is not known in both readings.

    None if it has decreased, because then the target was restarted.
    """
    readings = {name: (getattr(before, name), getattr(after, name)) for name in COUNTERS}
    grown = {name: 0 if None in pair else rounded(pair[1] - pair[0]) for name, pair in readings.items()}
    return {name: value if value >= 0 else None for name, value in grown.items()}


def progress(plan: Plan, snapshot: Snapshot) -> Progress:
    """Return `status.progress` by the newest snapshot."""
    share = min(snapshot.failures / snapshot.iterations, 1.0) if snapshot.iterations else None
    return Progress(
        stage=snapshot.stage,
        elapsed_seconds=rounded(snapshot.elapsed_s),
        remaining_seconds=rounded(snapshot.remaining_s),
        workers_connected=snapshot.workers_connected,
        users=snapshot.users,
        held=snapshot.held if plan.spec.load.least.held_sessions else None,
        in_flight=snapshot.in_flight,
        offered_rate=rounded(snapshot.offered_rate),
        completed_rate=rounded(snapshot.completed_rate),
        iterations=snapshot.iterations,
        failures=snapshot.failures,
        p50_ms=milliseconds(snapshot.p50_us),
        recent_p50_ms=milliseconds(snapshot.recent_p50_us),
        p99_ms=milliseconds(snapshot.p99_us),
        error_percent=percent(share),
        failure_kinds=tuple(
            FailuresSoFar(kind.outcome, kind.count) for kind in snapshot.failure_kinds[:MOST_FAILURE_KINDS]
        ),
        search=search_status(plan, snapshot.search) if snapshot.search is not None else None,
    )
