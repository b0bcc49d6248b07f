"""Rules between the parts of a spec: each part may be valid by itself, but not together with another."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, get_args

from sshload_contract.client import (
    BY_KEY_IN_CEL,
    PROMPTED,
    RUN_PROGRAMS,
    RUN_PROGRAMS_IN_CEL,
    Auth,
    Library,
    having,
    in_cel,
    listed,
    parts_of_auth,
)
from sshload_contract.declared import Check, Rule
from sshload_contract.load import Load, LoadSearch
from sshload_contract.steps import ScenarioStep
from sshload_contract.thresholds import TargetThreshold
from sshload_contract.vocabulary import Timing, measured_step

from sshload_operator.api.expressions import expression_fault
from sshload_operator.api.search import ENDING_RESERVE_S, least_trials
from sshload_operator.api.shapes.errors import naming
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.targets import Target, gateway_rules

_NOT_BY_SSH: Final = (gateway_rules,)
"""What a spec may ask for if its workers use the target in another way than by SSH."""
_STEP_KINDS: Final = ScenarioStep.__args__
_LOGIN_STEPS: Final = (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, Timing.LOGIN)
_HELD_STEPS: Final = (*_LOGIN_STEPS, Timing.KEEP_ALIVE, Timing.HOLD)
_NAMED_IN_LOCUSTFILE: Final = r"([a-z][A-Za-z0-9-]{0,29}[.])?[a-z][A-Za-z]{0,18}"
_PARTS: Final = sorted({str(timing) for kind in _STEP_KINDS for timing in kind.timings[:-1]})
"""Timings that are a part of a step, and not the whole of it."""
_SFTP: Final = [kind.kind for kind in _STEP_KINDS if kind.kind.startswith("sftp")]
_HAS_SFTP: Final = " || ".join(f"has(s.{kind})" for kind in _SFTP)
_HAS_COMMAND: Final = " || ".join(f"has(s.{kind.kind})" for kind in _STEP_KINDS if not kind.by_channel)
_LOGIN_PATTERN: Final = f"^via[1-5][.]({'|'.join(_LOGIN_STEPS)})$"
_HAS_HOLD: Final = "has(self.load.hold) || has(self.load.capacity) && has(self.load.capacity.hold)"


# Logins


def _processes(spec: LoadTestSpec) -> int:
    return spec.workers.replicas * (spec.workers.processes_per_pod or 1)


def _fault_of_expressions(spec: LoadTestSpec) -> str:
    """Return what is wrong with the first expression that the workers do not take, empty if they take all."""
    expressions = (step.expression for step in spec.scenario.steps)
    faults = ((expression, expression_fault(expression)) for expression in expressions if expression)
    return next((f"{fault} (expectStdout: {expression[:60]!r})" for expression, fault in faults if fault), "")


def _pause_out_of_load(spec: LoadTestSpec) -> str:
    """Return that a pause of the directory would not be over when the load ends, empty if it is, or there is none."""
    pause, load = spec.pause, spec.load.least
    lasts_s = spec.warm_up_s + load.lasts_s
    if pause is None or not load.lasts_s or pause.after_s + pause.for_s <= lasts_s:
        return ""
    return (
        f"ends {pause.after_s + pause.for_s:g} s after the start of the load, and {load.running_words(spec.warm_up_s)}"
    )


_PAUSE: Final = (Check(_pause_out_of_load, at=".target.managed.system.ldap.pause"),)


def _fault_of_prompts(spec: LoadTestSpec) -> str:
    faults = ((prompt.match, expression_fault(prompt.match)) for prompt in spec.client.prompts)
    return next((f"{fault} (match: {match[:60]!r})" for match, fault in faults if fault), "")


_EXPRESSIONS: Final = (
    Check(_fault_of_expressions, at=".scenario.steps"),
    Check(_fault_of_prompts, at=".client.prompts"),
)
"""The API server's RE2 is Go's, whose limits are others."""

_USERS: Final = (
    Rule(
        "!has(self.client) || !has(self.client.users) || has(self.target.external)"
        " || has(self.target.managed) && has(self.target.managed.system)"
        " && !has(self.client.users.secretRef) && !has(self.client.users.names)",
        "is for target.external, and without secretRef and names for target.managed.system, whose accounts are made",
        at=".client.users",
    ),
    Rule(
        "!has(self.client) || !has(self.client.users) || !has(self.client.users.secretRef)"
        " || self.client.auth != 'agent'",
        "must be unset with client.auth agent, which has one key for all users: use publickey",
        at=".client.users.secretRef",
    ),
    Rule(
        "self.?target.?managed.?system.?users.orValue(1) == 1 && !(has(self.client) && has(self.client.users)"
        " && has(self.target.managed))"
        " || self.client.auth in ['publickey', 'password', 'keyboard-interactive', 'gssapi']"
        " || self.client.auth == 'certificate' && has(self.client.certificates)",
        "accounts of target.managed.system log in by publickey, password, keyboard-interactive and gssapi, and by"
        " certificate with client.certificates, only",
        at=".client.auth",
    ),
    Rule(
        "self.?client.?users.?pick.orValue('roundRobin') != 'oncePerUser'"
        " || self.scenario.sessionReuse == 'none' && !has(self.load.hold) && !has(self.load.capacity)",
        "oncePerUser is for iterations that log in (sessionReuse none), and not for load.hold and load.capacity",
        at=".client.users.pick",
    ),
)

_LOGINS: Final = (
    *(rule for other in _NOT_BY_SSH for rule in other.RULES),
    *(rule for kind in Target.__args__ for rule in kind.spec_rules),
    Rule(
        "!has(self.scenario.sessionReuse) || self.scenario.sessionReuse != 'user' || has(self.load.users)"
        " || has(self.load.capacity) && has(self.load.capacity.users)",
        "user is for load.users only: no other load has users",
        at=".scenario.sessionReuse",
    ),
    Rule(
        "self.workers.replicas * self.?workers.?processesPerPod.orValue(1)"
        " <= (has(self.scenario.poolSize) ? self.scenario.poolSize : 1000000)",
        "must be at least one session for each worker process (workers.replicas times workers.processesPerPod)",
        at=".scenario.poolSize",
        explain=lambda spec: f"must be at least one session for each worker process, and there are {_processes(spec)}",
    ),
)


# What a client library cannot do


def _no_window_for_sftp(name: str) -> Rule:
    """libssh2 opens its SFTP channel with a window of its own choice."""
    return Rule(
        f"!has(self.client) || self.client.library != 'ssh2-python' || !has(self.client.{name})"
        f" || !has(self.scenario.steps) || !self.scenario.steps.exists(s, {_HAS_SFTP})",
        "the library ssh2-python has no such setting for SFTP: use sftpReadSize",
        at=f".client.{name}",
    )


def _no_keep_alive(load: str) -> Rule:
    has = "has(self.load.hold)" if load == "load.hold" else "has(self.load.capacity) && has(self.load.capacity.hold)"
    return Rule(
        f"self.client.library != 'openssh' || !({has}) || duration(self.{load}.keepAlive) == duration('0s')",
        f"the library openssh cannot check that a session is alive: {load}.keepAlive must be 0s",
        at=".load",
    )


_LIBRARIES: Final = (
    _no_window_for_sftp("windowSize"),
    _no_window_for_sftp("packetSize"),
    Rule(
        "self.client.library != 'openssh' || !has(self.via)"
        f" || self.via.all(v, v.?auth.orValue('publickey') in {in_cel(Library.OPENSSH.traits.logins)})",
        f"the library openssh supports {listed(Library.OPENSSH.traits.logins)} only",
        at=".via",
    ),
    Rule(
        f"!has(self.via) || self.client.library in {in_cel(having(Auth.GSSAPI))}"
        f" || self.via.all(v, v.?auth.orValue('publickey') != '{Auth.GSSAPI}')",
        f"gssapi needs the library {listed(having(Auth.GSSAPI), 'or')}",
        at=".via",
    ),
    Rule(
        "!has(self.via) || has(self.client.kerberos) && has(self.client.kerberos.realms)"
        f" || self.via.all(v, v.?auth.orValue('publickey') != '{Auth.GSSAPI}')",
        "must have the realm and its KDCs in realms, because a jump host's auth is gssapi",
        at=".client.kerberos",
    ),
    _no_keep_alive("load.hold"),
    _no_keep_alive("load.capacity.hold"),
    *(
        Rule(
            f"self.client.library != '{library}' || !has(self.via)",
            f"the library {library} does not support jump hosts",
            at=".via",
        )
        for library in Library
        if not library.traits.has_jump_hosts
    ),
    *(
        Rule(
            f"self.client.library != '{library}' || has(self.scenario.steps)"
            f" && self.scenario.steps.all(s, {_HAS_COMMAND})",
            f"the library {library} supports only the steps exec and sleep, and those of SFTP",
            at=".scenario",
        )
        for library in Library
        if library.traits.commands_only
    ),
)


# The deadline


def _needed_s(spec: LoadTestSpec) -> float:
    return spec.start_timeout_s + spec.warm_up_s + spec.load.least.lasts_s


def _too_short_for_search(spec: LoadTestSpec) -> str:
    confirm = spec.load.confirm if spec.load.is_search else 0
    trials, trial_s = least_trials(confirm), spec.warm_up_s + spec.load.least.lasts_s
    needed_s = spec.start_timeout_s + ENDING_RESERVE_S + trials * trial_s
    return (
        f"is {spec.deadline_s:g} s, but startTimeout, {ENDING_RESERVE_S:g} s for the end, and {trials} trials of"
        f" {trial_s:g} s, which find and confirm the bounds, take {needed_s:g} s together"
    )


def _by_kind(kinds: Iterable[type[Load | LoadSearch]], path: str, condition: str) -> str:
    """Return what a class variable of each kind says in CEL, where a spec has it at a path, without the last else."""
    return "".join(
        f"has({path}.{kind.kind}) ? ({getattr(kind, condition).replace('load.', f'{path}.{kind.kind}.')}) : "
        for kind in kinds
    )


_FITS_IN_CEL: Final = _by_kind(get_args(Load), "self.load", "fits_in_cel")
_TRIAL_MS_IN_CEL: Final = _by_kind(get_args(LoadSearch), "self.load.capacity", "lasts_ms_in_cel")
_DEADLINE: Final = (
    Rule(
        "[duration(self.deadline) - duration(self.startTimeout) - duration(self.warmUp)]"
        f".all(time, {_FITS_IN_CEL}true)",
        "deadline must not be shorter than startTimeout, warmUp and the load together",
        at=".deadline",
        explain=lambda spec: (
            f"is {spec.deadline_s:.10g} s, but startTimeout, warmUp and the load take {_needed_s(spec):.10g} s together"
        ),
    ),
    Rule(
        "!has(self.load.capacity) || (duration(self.deadline) - duration(self.startTimeout)"
        " - duration('90s')).getMilliseconds()"
        " >= 2 * (self.load.capacity.confirm + 1) * (duration(self.warmUp).getMilliseconds()"
        f" + ({_TRIAL_MS_IN_CEL}0))",
        "deadline must not be shorter than startTimeout, 90 s for the end, and two trials of the least load, each with"
        " its warmUp and confirmed as often as load.capacity.confirm says",
        at=".deadline",
        explain=_too_short_for_search,
    ),
)


# Thresholds


def _measured(spec: LoadTestSpec) -> Iterator[str]:
    """Yield the timings that the run takes, as far as the spec says."""
    for other in _NOT_BY_SSH:
        if spec.target.access is other.ACCESS:
            yield from other.timings(spec)
            return
    yield str(Timing.TOTAL)
    yield from map(str, _LOGIN_STEPS)
    if not spec.client.library.traits.runs_programs:
        yield from parts_of_auth(spec.auth, spec.client.prompts)
        if spec.auth is Auth.GSSAPI and spec.client.kerberos is not None and spec.client.kerberos.fresh_tickets:
            yield Timing.AUTH_KDC
    for place in range(1, len(spec.via) + 1):
        yield from (measured_step(f"via{place}", timing) for timing in _LOGIN_STEPS)
    if spec.load.least.held_sessions:
        yield from (measured_step("held", timing) for timing in _HELD_STEPS)
    for step in spec.scenario.steps:
        yield from (measured_step(step.name, timing) for timing in step.timings)


def _latency_steps(spec: LoadTestSpec) -> list[str]:
    asked = (one.asked_percentile for one in (*spec.thresholds, *spec.relative_thresholds))
    return [one.step for one in asked if one is not None]


def _unmeasured(spec: LoadTestSpec) -> list[str]:
    measured, has_tasks = set(_measured(spec)), spec.locustfile is not None and spec.target.access.speaks_ssh
    return [
        step
        for step in _latency_steps(spec)
        if step not in measured and not (has_tasks and re.fullmatch(_NAMED_IN_LOCUSTFILE, step))
    ]


_HAS_PROMPTS: Final = "(has(self.client) && has(self.client.prompts))"
_FIRST_METHOD_IN_CEL: Final = (
    f"t.latency.step == (self.client.auth == '{Auth.PASSWORD}' ? '{Timing.AUTH_PASSWORD}'"
    f" : self.client.auth in {BY_KEY_IN_CEL} ? '{Timing.AUTH_PUBLICKEY}' : '')"
)
_TIMINGS_IN_CEL: Final = " || ".join(
    f"(has(s.{kind.kind}) && t.latency.step in {in_cel(kind.timings)}"
    f".map(p, has(s.{kind.kind}.name) ? s.{kind.kind}.name + '.' + p : p))"
    for kind in _STEP_KINDS
    if kind.timings
)

_TARGET_KINDS: Final = [kind.kind for kind in get_args(TargetThreshold)]
_ON_TARGET_IN_CEL: Final = " || ".join(f"has(t.{kind})" for kind in _TARGET_KINDS)

_THRESHOLDS: Final = (
    Rule(
        "!has(self.load.capacity) || has(self.thresholds) && self.thresholds.exists(t, has(t.errorRate)"
        " || has(t.latency) && has(t.latency.below) || has(t.throughput) && has(t.throughput.above)"
        f" || {_ON_TARGET_IN_CEL})",
        "load.capacity needs a threshold that each trial has to meet: latency.below, errorRate, throughput.above,"
        f" {', '.join(_TARGET_KINDS[:-1])} or {_TARGET_KINDS[-1]}",
        at=".thresholds",
    ),
    Rule(
        "!has(self.load.capacity) || !has(self.thresholds) || self.thresholds.all(t,"
        " (!has(t.latency) || !has(t.latency.within)) && (!has(t.throughput) || !has(t.throughput.within)))",
        "latency.within and throughput.within are not for load.capacity: its trials differ from the baseline's; use"
        " capacity.within",
        at=".thresholds",
    ),
    Rule(
        "!has(self.load.burst) || !has(self.thresholds)"
        " || self.thresholds.all(t, !has(t.throughput) || !has(t.throughput.within))",
        "throughput.within is not for load.burst: one run does not tell how much the time of a burst varies; use"
        " throughput.above or latency.below",
        at=".thresholds",
    ),
    Rule(
        "!has(self.load.capacity) && !has(self.load.hold) || !has(self.thresholds)"
        " || self.thresholds.all(t, !t.?abortOnFail.orValue(false))",
        "abortOnFail is not for load.hold and load.capacity: a search's trials are meant to break thresholds,"
        " and held sessions are judged when they end",
        at=".thresholds",
    ),
    Rule(
        "!has(self.scenario.locustfile) || !has(self.thresholds) || self.thresholds.all(t,"
        " !t.?abortOnFail.orValue(false) || !has(t.latency) || t.latency.step == 'total')",
        "abortOnFail with a locustfile is for errorRate and the step total: how often a task takes another step is not"
        " known",
        at=".thresholds",
    ),
    Rule(
        f"has(self.target.managed) || !has(self.thresholds) || self.thresholds.all(t, !({_ON_TARGET_IN_CEL}))",
        f"{', '.join(_TARGET_KINDS[:-1])} and {_TARGET_KINDS[-1]} are for target.managed only: no other server reports"
        " its own figures",
        at=".thresholds",
    ),
    Rule(
        "has(self.load.capacity) || !has(self.thresholds) || self.thresholds.all(t, !has(t.capacity))",
        "capacity is for load.capacity only: no other load searches it",
        at=".thresholds",
    ),
    Rule(
        f"!(self.client.library in {RUN_PROGRAMS_IN_CEL}) || !has(self.thresholds)"
        " || self.thresholds.all(t, !has(t.latency)"
        f" || !t.latency.step.matches('^([^.]*[.])?({'|'.join(_PARTS)})$'))",
        f"the libraries {listed(RUN_PROGRAMS)} run programs, so the parts of a step cannot be measured: latency.step"
        " must not be a part of a step",
        at=".thresholds",
        explain=lambda spec: naming(
            f"the library {spec.client.library} runs programs, so the parts of a step cannot be measured:"
            " latency.step is {}",
            [step for step in _latency_steps(spec) if step.rpartition(".")[2] in _PARTS],
        ),
    ),
    Rule(
        "!has(self.thresholds) || self.thresholds.all(t, !has(t.latency)"
        f" || ({''.join(f'{other.CONDITION} ? {other.TIMINGS_IN_CEL} :' for other in _NOT_BY_SSH)}"
        f" t.latency.step in {in_cel((*_LOGIN_STEPS, Timing.TOTAL))}"
        f" || self.client.auth == '{Auth.GSSAPI}' && !(self.client.library in {RUN_PROGRAMS_IN_CEL})"
        f" && (t.latency.step == '{Timing.AUTH_GSSAPI}' || t.latency.step == '{Timing.AUTH_KDC}'"
        " && has(self.client.kerberos) && self.client.kerberos.freshTickets)"
        f" || (({_HAS_PROMPTS} || self.client.auth == '{Auth.KEYBOARD_INTERACTIVE}')"
        f" && t.latency.step in {in_cel(PROMPTED)}"
        f" || {_HAS_PROMPTS} && {_FIRST_METHOD_IN_CEL})"
        f" || (has(self.via) && t.latency.step.matches('{_LOGIN_PATTERN}')"
        " && int(t.latency.step.substring(3, 4)) <= self.via.size())"
        f" || (({_HAS_HOLD}) && t.latency.step in {in_cel(measured_step('held', one) for one in _HELD_STEPS)})"
        f" || (has(self.scenario.locustfile) && t.latency.step.matches('^{_NAMED_IN_LOCUSTFILE}$'))"
        f" || (has(self.scenario.steps) && self.scenario.steps.exists(s, {_TIMINGS_IN_CEL}))))",
        "latency.step must be connect, banner, kex, auth, login, total, or a timing of a step of the scenario"
        " (docs/reference/steps-and-outcomes.md lists them by kind), prefixed with the step's name if it has one"
        " (uptime.exec); for jump hosts via1.login and so on, for held sessions held.login and so on",
        at=".thresholds",
        explain=lambda spec: naming(
            f"latency.step is {{}}, but must be one of {', '.join(sorted(_measured(spec)))}", _unmeasured(spec)
        ),
    ),
    Rule(
        "has(self.baseline) == (has(self.thresholds) && self.thresholds.exists(t, has(t.latency)"
        " && has(t.latency.within) || has(t.throughput) && has(t.throughput.within)"
        " || has(t.capacity) && has(t.capacity.within)))",
        "is required by thresholds with within, and only by them",
        at=".baseline",
        explain=lambda spec: (
            "is required by thresholds with within, and missing"
            if spec.baseline is None
            else "is for thresholds with within, and there is none"
        ),
    ),
)

SPEC_RULES: Final = (*_LOGINS, *_USERS, *_PAUSE, *_EXPRESSIONS, *_LIBRARIES, *_DEADLINE, *_THRESHOLDS)
