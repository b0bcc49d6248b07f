"""`status.results` of a test: what a run has measured after its warm-up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from sshload_contract.bounds import MOST_STAGES
from sshload_contract.declared import Absent, Items, Text
from sshload_contract.users import USER_CHARACTERS
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.ldap import AccountCache

from sshload_operator.api.status.figures import Amount, Count, Difference, Measured, Ordinal, Percent, StepName
from sshload_operator.api.status.steps import StepResult, in_order

MOST_STEPS: Final = 200
MOST_ERRORS: Final = 100
MOST_NEGOTIATED: Final = 20
THRESHOLD_CHARACTERS: Final = 200
STEP_CHARACTERS: Final = 64
ALGORITHM_CHARACTERS: Final = 128
VERSION_CHARACTERS: Final = 255
DISTRIBUTION_CHARACTERS: Final = 128
ACCOUNTS_CHARACTERS: Final = 32
FIRST_MESSAGE_CHARACTERS: Final = 200
SCOPE_CHARACTERS: Final = 300
MOST_SCOPE: Final = 8
MOST_WORST_USERS: Final = 5
_Algorithm = Text(ALGORITHM_CHARACTERS)
_Version = Text(VERSION_CHARACTERS)


@dataclass(frozen=True, slots=True)
class EndedEarly:
    """Only if the load ended early: a threshold was certainly broken, or each user had logged in once."""

    after_seconds: Annotated[Amount, "When it ended, in seconds from its start, warm-up included."]
    threshold: Annotated[
        str | None,
        Text(THRESHOLD_CHARACTERS),
        "The threshold, as status.thresholds has it. Absent if each user had logged in (pick oncePerUser).",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """The warm-up, which is measured and not judged."""

    iterations: Annotated[Count | None, "Iterations that ended, successful or failed."] = None
    failures: Annotated[Count, Absent(0), "Failed iterations. Absent if there were none."] = 0
    p99_ms: Annotated[Amount | None, "The 99th percentile of the whole iteration, successes only."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """One stage, by the iterations that were due in it, but for its completed rate."""

    stage: Annotated[Ordinal, "Its number, from 1."]
    users: Annotated[Count | None, "The users that it asks for (load.users only)."] = None
    to_users: Annotated[Count | None, "The users at its end, if they change over the stage."] = None
    duration_seconds: Annotated[Amount, "How long it lasted."]
    offered_rate: Annotated[Amount, "Iterations per second that the load model asked for, on average."]
    completed_rate: Annotated[Amount, "Iterations per second that ended well in the stage, whenever they were due."]
    iterations: Annotated[Count, "Iterations that ended, successful or failed."]
    failures: Annotated[Count, "Failed iterations."]
    p50_ms: Annotated[Amount | None, "The median of the whole iteration, successes only."] = None
    p90_ms: Annotated[Amount | None, "The 90th percentile."] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile."] = None


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failures of one step and outcome."""

    step: Annotated[StepName, "The step that failed."]
    outcome: Annotated[str, Text(64), "How it ended (refused, throttled, authRejected and so on)."]
    count: Annotated[Ordinal, "How often."]
    first_message: Annotated[str | None, Text(FIRST_MESSAGE_CHARACTERS), "The first message."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshLogin:
    """The login of the probes, beside the held sessions and (alone) in the warm-up, with nothing held."""

    p50_ms: Annotated[Amount | None, "The median beside the held sessions."] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile beside the held sessions."] = None
    alone_p50_ms: Annotated[Amount | None, "The median with nothing held."] = None
    alone_p99_ms: Annotated[Amount | None, "The 99th percentile with nothing held."] = None
    p50_ratio: Annotated[Amount | None, "p50Ms by aloneP50Ms."] = None
    p50_ratio_low: Annotated[Amount | None, "The lower bound of the ratio, by the 95 % intervals of both medians."] = (
        None
    )
    p50_ratio_high: Annotated[Amount | None, "The upper bound of the ratio, by the 95 % intervals of both medians."] = (
        None
    )


@dataclass(frozen=True, slots=True)
class HoldResult:
    """The held sessions after the ramp (load.hold only)."""

    held_most: Annotated[
        Count,
        Measured("sessions", compared=False, name="heldSessionsMost"),
        "The most sessions that were held at once.",
    ]
    held_least: Annotated[
        Count,
        Measured("sessions", compared=False, name="heldSessionsLeast"),
        "The fewest sessions held at once after the ramp.",
    ]
    fresh_login: FreshLogin | None = None


@dataclass(frozen=True, slots=True)
class BurstResult:
    """The connections of the bursts (load.burst only)."""

    attempted: Annotated[Count, "Connections begun."]
    established: Annotated[Count, "Connections that were logged in."]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserResult:
    """One user of a population, in the measured window."""

    place: Annotated[Ordinal, "Which user it is: the n-th of the file, or of the names."]
    name: Annotated[
        str | None,
        Text(USER_CHARACTERS),
        "The name, if the spec has it. Names from a Secret are not told, because they may be those of persons.",
    ] = None
    logins: Annotated[Count, "Logins that succeeded."]
    failures: Annotated[Count, Absent(0), "Failed iterations, and lost sessions. Absent if there were none."] = 0
    slowest_login_ms: Annotated[Amount | None, "The longest login that succeeded."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersResult:
    """The population that logged in (client.users). The first four figures include the warm-up."""

    population: Annotated[Count, "How many users there are."]
    took_part: Annotated[Count, "How many of them began a login."]
    least_logins: Annotated[Count, "The fewest successful logins of a user, of all users."]
    most_logins: Annotated[Count, "The most successful logins of a user."]
    failed: Annotated[Count, Absent(0), "Users with a failure in the measured window. Absent if there were none."] = 0
    most_failures: Annotated[
        tuple[Annotated[UserResult, "A user."], ...],
        Items(most=MOST_WORST_USERS),
        Absent(()),
        "Those with the most failures, the worst first.",
    ] = ()
    slowest: Annotated[
        tuple[Annotated[UserResult, "A user."], ...],
        Items(most=MOST_WORST_USERS),
        Absent(()),
        "Those with the longest login, the slowest first.",
    ] = ()


@dataclass(frozen=True, slots=True)
class Agreement:
    """One combination."""

    kex: Annotated[str, _Algorithm, "The key exchange."]
    cipher: Annotated[str, _Algorithm, "The cipher."]
    mac: Annotated[str, _Algorithm, "The message authentication code, or what the cipher brings itself."]
    host_key: Annotated[str, _Algorithm, "The host key's algorithm."]
    server_version: Annotated[str, _Version, "The server's identification string."]
    count: Annotated[Ordinal, "Logins that negotiated these algorithms."]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorResult:
    """Whether the numbers can be trusted. Each figure is the worst worker's. A count that is absent is 0."""

    workers_expected: Annotated[Count | None, "Workers that the spec asks for."] = None
    workers_connected: Annotated[Count | None, "Workers that took part."] = None
    workers_lost: Annotated[Count, Absent(0), "Workers that were lost during the run."] = 0
    reports_missing: Annotated[Count, Absent(0), "Workers' reports that never arrived."] = 0
    late_arrivals: Annotated[Count, Absent(0), "Iterations begun too late."] = 0
    dropped_arrivals: Annotated[Count, Absent(0), "Iterations not begun because maxInFlight were under way."] = 0
    cpu_percent: Annotated[
        Amount | None,
        "CPU time over wall time of the busiest second, 100 being one core. Absent for a run of less than a second.",
    ] = None
    run_delay_percent: Annotated[Amount | None, "The share of time in which the worker was runnable and not run."] = (
        None
    )
    stolen_percent: Annotated[
        Amount | None,
        "The share of a machine's CPU time that its host gave to others (steal), of the worst worker.",
    ] = None
    loop_lag_p99_ms: Annotated[Amount | None, "How late the event loop woke, 99th percentile."] = None
    loop_lag_max_ms: Annotated[Amount | None, "How late the event loop woke, at worst."] = None
    latencies_may_include_ms: Annotated[
        Amount | None,
        "The longest delay by the load generator itself that latencies may include. Present only if it prevents a"
        " comparison with another run.",
    ] = None
    overflows: Annotated[Count, Absent(0), "Samples outside the histogram's range."] = 0
    cpu_per_iteration_ms: Annotated[
        Amount | None,
        Measured("ms"),
        "CPU time of all workers from the start of the load to its end, divided by the iterations that ended in it,"
        " warm-up included. With the library openssh it includes its programs. Not for load.hold.",
    ] = None
    memory_peak_bytes: Annotated[
        Count | None,
        Measured("bytes"),
        "The most resident memory of a worker's process since it began, of the worker that had the most. Without the"
        " programs of openssh.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedConnections:
    """Connections that sshd dropped before the login. Absent if there were none."""

    max_startups: Annotated[Count | None, "Dropped by MaxStartups or PerSourceMaxStartups."] = None
    penalty: Annotated[Count | None, "Dropped by PerSourcePenalties."] = None
    lower_bound: Annotated[
        bool | None, "True where sshd limits the rate of its own log lines, so that there may have been more."
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryResult:
    """The directory of the managed target's accounts, for which sssd answered (LDAP)."""

    cache: Annotated[AccountCache, "What sssd's cache had when the load began: nothing (cold), or all accounts (warm)."]
    slapd_version: Annotated[str | None, _Version, "The version of slapd."] = None
    sssd_version: Annotated[str | None, _Version, "The version of sssd."] = None
    cpu_seconds: Annotated[
        Amount | None, "CPU time of slapd and of sssd. It is not in the target's cpuSeconds, which is sshd's."
    ] = None
    paused_from_seconds: Annotated[
        Amount | None, "When slapd was stopped, after the start of the load. Absent if it was not."
    ] = None
    paused_to_seconds: Annotated[Amount | None, "When it went on."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResult:
    """What the managed target saw between the start and the end of the load.

    A count of what went wrong is absent if it is 0. With restarted, a count that is absent is not known.
    """

    restarted: Annotated[
        bool | None, "True if the target restarted during the load, so that its counts start from zero."
    ] = None
    sshd_version: Annotated[str | None, _Version, "The version of its sshd."] = None
    distribution: Annotated[
        str | None, Text(DISTRIBUTION_CHARACTERS), "The distribution of which it is, as os-release(5) names it."
    ] = None
    as_root: Annotated[bool | None, "Whether sshd runs as root, as the sshd of a distribution does."] = None
    pam: Annotated[bool | None, "Whether sshd uses PAM (UsePAM). A login with PAM costs more."] = None
    accounts: Annotated[
        str | None,
        Text(ACCOUNTS_CHARACTERS),
        "Who answers for the account that logs in: a service of nsswitch.conf(5), such as files or sss.",
    ] = None
    directory: DirectoryResult | None = None
    accepted: Annotated[Count | None, "Logins accepted."] = None
    client_logins: Annotated[Count | None, "Logins that the workers count over the same time, warm-up included."] = None
    login_difference: Annotated[Difference | None, "accepted minus clientLogins. Absent if they are the same."] = None
    auth_failed: Annotated[Count | None, "Logins refused for their credentials."] = None
    dropped: DroppedConnections | None = None
    cpu_seconds: Annotated[
        Amount | None,
        "CPU time of sshd and of all that its sessions ran, without a directory and sshload's own process beside it.",
    ] = None
    cpu_cores: Annotated[
        Amount | None,
        Measured("cores", compared=False),
        "How many cores sshd and its sessions kept busy: their CPU time per second, from before the load to its end.",
    ] = None
    cpu_per_login_ms: Annotated[
        Amount | None,
        Measured("ms"),
        "CPU time of sshd and its sessions per accepted login. Stated if the scenario does nothing but log in, each"
        " time anew.",
    ] = None
    cpu_per_iteration_ms: Annotated[
        Amount | None,
        Measured("ms"),
        "CPU time of sshd and its sessions per iteration, failed ones and the warm-up included: of logins and of what"
        " the steps ran, which the kernel does not tell apart. Stated where cpuPerLoginMs is not. Not for load.hold.",
    ] = None
    directory_cpu_per_login_ms: Annotated[
        Amount | None,
        Measured("ms"),
        "CPU time of slapd and sssd per accepted login, beside sshd's. Stated where each iteration logs in anew.",
    ] = None
    cpu_throttled_seconds: Annotated[Amount | None, "Time for which the container's CPU limit held it back."] = None
    stolen_percent: Annotated[
        Amount | None, "The share of the machine's CPU time that its host gave to others (steal)."
    ] = None
    memory_peak_bytes: Annotated[Count | None, Measured("bytes"), "The target's largest working set."] = None
    memory_per_session_bytes: Annotated[
        Count | None,
        Measured("bytes"),
        "How much more memory the target took with the held sessions than before, divided by their number (load.hold"
        " only).",
    ] = None
    memory_per_session_upper_bound: Annotated[
        bool | None,
        "True where memory that processes share counts for each of them (sshload run), so that it may be less.",
    ] = None
    processes_per_session: Annotated[
        Amount | None, "How many more processes it had then, divided by the same number (load.hold only)."
    ] = None
    oom_kills: Annotated[Count | None, "Processes that were killed for lack of memory."] = None
    refused_forks: Annotated[
        Count | None, "Processes that could not be started because of a limit of their number."
    ] = None
    listen_overflows: Annotated[
        Count | None,
        "Connections that found the listen queue of sshd's own sockets full. Absent too if the kernel does not tell.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """The figures of each program in the path."""

    cpu_seconds: Annotated[Amount | None, "CPU time of its processes. Absent if it restarted."] = None
    cpu_throttled_seconds: Annotated[
        Amount | None, "Time for which the container's CPU limit held it back. Absent if there was none."
    ] = None
    memory_peak_bytes: Annotated[
        Count | None,
        Measured("bytes"),
        "The most resident memory of each process of the proxy, or gateway, since it began, added up. Without the"
        " kernel's memory for connections.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyResult(ProgramResult):
    """What the proxy in the path used between the start and the end of the load. A figure that is absent is not known.

    CPU time is user and system time of the proxy's processes. What the kernel does for their packets in the time of
    others is not in it, and neither is sshload's own process beside them.
    """

    cpu_per_login_ms: Annotated[
        Amount | None,
        Measured("ms"),
        "CPU time of the proxy per login that the target accepted. Stated where each iteration logs in, but not before"
        " a gateway.",
    ] = None
    cpu_per_iteration_ms: Annotated[
        Amount | None,
        Measured("ms"),
        "CPU time of the proxy per iteration, warm-up included. Stated where sessions are reused, and before a gateway,"
        " in place of cpuPerLoginMs. Not for load.hold.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayResult(ProgramResult):
    """What the run's own gateway used between the start and the end of the load, told as results.proxy is."""

    cpu_per_iteration_ms: Annotated[
        Amount | None, Measured("ms"), "CPU time of the gateway per iteration, failed ones and the warm-up included."
    ] = None


IN_PATH: Final[Mapping[InPath, Any]] = {
    InPath.PROXY: ProxyResult,
    InPath.GATEWAY: GatewayResult,
}
"""What is told of each program in the path, in the field of its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxStartupsAdvice:
    """What sshd's MaxStartups did to this run, what explains it, and which setting would drop nothing.

    Of the measured window; absent where the run is not valid. docs/explanation/max-startups.md has the formula and its
    assumptions.
    """

    setting: Annotated[
        str | None,
        Text(64),
        "MaxStartups of the managed target. Absent for an external one, whose setting is not known.",
    ] = None
    predicted_drop_percent: Annotated[
        Amount | None,
        "Which share of the connections sshd's rule drops at this setting. Absent for a burst that overflowed its"
        " listen queue.",
    ] = None
    observed_drop_percent: Annotated[
        Amount | None,
        "Which share of the connections that reached sshd was dropped, as the clients were told.",
    ] = None
    observed_is_lower_bound: Annotated[
        bool | None,
        "True if others were closed before the banner without a message, which may have been drops.",
    ] = None
    recommended: Annotated[
        str | None,
        Text(64),
        "The smallest start:rate:full with which sshd drops no connection of such a load, with a headroom of 25 %;"
        " never below sshd's default. Absent if every setting drops some.",
    ] = None
    message: Annotated[str, Text(1_024), "The same in words, or why there is no advice."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What was measured after the warm-up. The whole summary with its histograms is in resultsConfigMap."""

    duration_seconds: Annotated[Amount, "Length of the measured window."]
    ended_early: EndedEarly | None = None
    offered_rate: Annotated[
        Amount, Measured("/s", compared=False), "Iterations per second that the load model asked for."
    ]
    achieved_rate: Annotated[Amount, Measured("/s", compared=False), "Iterations per second that were begun."]
    completed_rate: Annotated[
        Amount,
        Measured("/s"),
        "Iterations per second that ended well in the measured window, whenever they were due.",
    ]
    completed_rate_low: Annotated[
        Amount | None,
        "The lower bound of the 95 % confidence interval of completedRate. Absent for a burst.",
    ] = None
    completed_rate_high: Annotated[
        Amount | None,
        "The upper bound of the 95 % confidence interval of completedRate. Absent for a burst.",
    ] = None
    iterations: Annotated[Count, "Iterations that ended, successful or failed."]
    failures: Annotated[Count, "Failed iterations."]
    error_percent: Annotated[
        Percent | None, Measured("%"), "The share of iterations and held sessions that failed."
    ] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile of the whole iteration (step total), successes only."] = None
    warm_up: WarmUp | None = None
    steps: Annotated[
        tuple[StepResult, ...],
        Items(most=MOST_STEPS, key=("step",)),
        Absent(()),
        "The whole iteration (total), the login, each step of the scenario, and each step that a latency threshold"
        " names, in the order in which they happen. Latencies are of successes only. A figure with too few samples is"
        " absent.",
    ] = ()
    parts: Annotated[
        tuple[StepResult, ...],
        Items(most=MOST_STEPS, key=("step",)),
        Absent(()),
        "The parts of these: connect, kex or auth of a login, exec or read of a command. They have no rate, no extremes"
        " and no intervals. The summary in resultsConfigMap has the rest.",
    ] = ()
    stages: Annotated[
        tuple[StageResult, ...],
        Items(most=MOST_STAGES, key=("stage",)),
        Absent(()),
        "Each stage of a load with several, as far as they were reached.",
    ] = ()
    errors: Annotated[
        tuple[FailureCount, ...],
        Items(most=MOST_ERRORS),
        Absent(()),
        "Failures by step and outcome, the most frequent first.",
    ] = ()
    hold: HoldResult | None = None
    burst: BurstResult | None = None
    users: UsersResult | None = None
    negotiated: Annotated[
        tuple[Agreement, ...],
        Items(most=MOST_NEGOTIATED),
        Absent(()),
        "The negotiated algorithms, the most frequent first. More than one entry means that they differed.",
    ] = ()
    scope: Annotated[
        tuple[Annotated[str, Text(SCOPE_CHARACTERS), "One sentence."], ...],
        Items(most=MOST_SCOPE),
        Absent(()),
        "What to know before the figures are compared with those of another server or client.",
    ] = ()
    generator: GeneratorResult | None = None
    target: TargetResult | None = None
    proxy: ProxyResult | None = None
    gateway: GatewayResult | None = None
    max_startups: MaxStartupsAdvice | None = None

    @property
    def all_steps(self) -> tuple[StepResult, ...]:
        """All steps with their parts, each once, in the order in which they happen."""
        whole = {step.step for step in self.steps}
        return in_order((*self.steps, *(part for part in self.parts if part.step not in whole)))

    @property
    def in_path(self) -> Mapping[InPath, ProgramResult]:
        """What each program in the path used, of those of which it is stated."""
        return {part: used for part in InPath if (used := getattr(self, part)) is not None}

    def step(self, name: str) -> StepResult | None:
        """Return a step or a part of one, None if it is not stated."""
        return next((step for step in (*self.steps, *self.parts) if step.step == name), None)

    @property
    def own_delay_ms(self) -> float | None:
        """How much of its latencies may be the generator's own delay, None if it is too little to matter."""
        return None if self.generator is None else self.generator.latencies_may_include_ms
