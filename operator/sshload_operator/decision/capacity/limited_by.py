"""What limits a server at the lowest amount that fails: the threshold that breaks there, and what the server lacked.

A managed target's own counts around a trial show what it was short of (limits: docs/reference/validity.md). A shortage
is stated only with the figure that shows it. Nothing is claimed about what these counts do not show (the network, the
kernel, PAM, an authentication backend).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from sshload_contract.steal import is_stolen, stolen_share
from sshload_contract.thresholds import Terms, ThresholdResult
from sshload_contract.vocabulary import Outcome, TrialState, Window
from sshload_contract.wire.run_summary import Trial
from sshload_contract.wire.target import COUNTERS, TargetStats

from sshload_operator.api.server_software import is_openssh
from sshload_operator.decision.capacity.trials import Searched, amount_in_words, those, trials_at, unjudged_least
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Resource

CPU_SHARE_LIMIT = 0.9
THROTTLED_SHARE_LIMIT = 0.1
MEMORY_SHARE_LIMIT = 0.9
PROCESSES_SHARE_LIMIT = 0.95
_MEGABYTE = 1_000_000
_NOT_OURS = (
    "the target is external, so sshload does not know what it was short of: look at its CPU and memory, at its log for"
    " {drops}, and at what it asks at each login (PAM, DNS, an authentication backend)"
)
_NOT_COUNTED = "the target's own counts around these trials are not known, so it is not known what it was short of"
_ELSEWHERE = (
    "In most of these trials the server was short of nothing that sshload sees; what remains is {before}the network,"
    " the kernel, its node's CPU where others use it too, disks, PAM, DNS (UseDNS), or an authentication backend"
)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource that was short, with the figure that shows it, and what to change."""

    resource: Resource
    figure: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Strain:
    """The counts of a target before and after a trial; `readings` has all of them."""

    before: TargetStats
    after: TargetStats
    readings: tuple[TargetStats, ...]

    @property
    def wall_s(self) -> float:
        """The time between the two readings."""
        return self.after.at_unix_s - self.before.at_unix_s

    @property
    def cores(self) -> float:
        """The number of cores that it used on average over that time."""
        return self.grown("cpu_s") / self.wall_s

    def grown(self, name: str) -> float:
        """Return by how much a counter grew, 0 if it is not known."""
        before, after = getattr(self.before, name), getattr(self.after, name)
        return 0.0 if before is None or after is None else float(after - before)


def strain(trial: Trial) -> Strain | None:
    """Return a target's counts around a trial, None if it was not read twice, or was restarted in between."""
    before, after = trial.target_before, trial.target_after
    if before is None or after is None:
        return None
    found = Strain(before, after, tuple(one for one in (before, trial.target_held, after) if one is not None))
    whole = found.wall_s > 0 and all(found.grown(name) >= 0 for name in COUNTERS)
    return found if whole else None


def shortages(found: Strain) -> tuple[Shortage, ...]:
    """Return the resources that were short, in the order of Resource."""
    said = ((resource, rule(found), remedy) for resource, (rule, remedy) in _RULES.items())
    return tuple(Shortage(resource, figure, remedy) for resource, figure, remedy in said if figure)


def at_ease(found: Strain) -> str:
    """Return its CPU use and its drops in words, if they are not the shortage of most trials."""
    limit = found.after.cpu_limit_cores
    if limit is None:
        cpu = f"{found.cores:.2f} cores used (it has no CPU limit{_machine(found)})"
    else:
        cpu = f"{found.cores:.2f} of {limit:g} cores used"
    dropped = found.grown("dropped_max_startups") + found.grown("dropped_penalty") + found.grown("listen_overflows")
    lower_bound = ", as far as its log tells" if found.after.dropped_is_lower_bound else ""
    return f"{cpu}{_stolen(found)}, {f'{dropped:.0f} connections' if dropped else 'no connection'} dropped{lower_bound}"


def _machine(found: Strain) -> str:
    """Return in words how many CPUs its machine has, if that is known."""
    machine = found.after.machine_cpu
    return "" if machine is None or not machine.cpus else f", and its machine has {machine.cpus}"


def _cpu(found: Strain) -> str:
    """Judge the mean over the whole trial, and the throttled time, which also shows shorter shortages."""
    limit = found.after.cpu_limit_cores
    if not limit:
        return ""
    if found.cores >= CPU_SHARE_LIMIT * limit:
        return f"it used {found.cores:.2f} of its limit of {limit:g} cores ({found.cores / limit:.0%}){_stolen(found)}"
    held_up_s = found.grown("cpu_throttled_s")
    if held_up_s > THROTTLED_SHARE_LIMIT * found.wall_s * max(1.0, limit):
        return (
            f"its limit of {limit:g} cores held it up for {held_up_s:.1f} s in {found.wall_s:.1f} s, "
            f"summed over the CPUs that it ran on{_stolen(found)}"
        )
    return ""


def _stolen(found: Strain) -> str:
    """Return in words how much CPU time the host of its machine took, if that is enough to slow it down."""
    share = stolen_share(found.before.machine_cpu, found.after.machine_cpu)
    if share is None or not is_stolen(share):
        return ""
    return f", while the host of its machine gave {share:.0%} of the machine's CPU time to others (steal)"


def _memory(found: Strain) -> str:
    """Judge kills and the working set: the peak includes page cache, which the kernel reclaims in time."""
    kills = found.grown("oom_kills")
    if kills:
        return f"{kills:.0f} of its processes were killed for lack of memory"
    fullest = max(found.readings, key=lambda reading: reading.memory_bytes)
    used, limit = fullest.memory_bytes, found.after.memory_limit_bytes
    if limit and not fullest.memory_is_upper_bound and used >= MEMORY_SHARE_LIMIT * limit:
        return f"its working set was {used / _MEGABYTE:.0f} of {limit / _MEGABYTE:.0f} MB ({used / limit:.0%})"
    return ""


def _processes(found: Strain) -> str:
    refused = found.grown("refused_forks")
    if refused:
        return f"{refused:.0f} processes could not be started"
    most, limit = max(reading.processes for reading in found.readings), found.after.processes_limit
    if limit and most >= PROCESSES_SHARE_LIMIT * limit:
        return f"{most} processes ran, of {limit} that it may have ({most / limit:.0%})"
    return ""


def _max_startups(found: Strain) -> str:
    return _dropped(found, "dropped_max_startups", "by MaxStartups or PerSourceMaxStartups")


def _penalties(found: Strain) -> str:
    return _dropped(found, "dropped_penalty", "for penalties of their source address (PerSourcePenalties)")


def _dropped(found: Strain, name: str, why: str) -> str:
    """Return in words what sshd logged. It logs suppressed drops with a later drop, which may be in another trial."""
    count = found.grown(name)
    if count and found.before.dropped_is_lower_bound:
        return f"connections were dropped {why}: sshd reported {count:.0f}, and some may be of an earlier trial"
    at_least = "at least " if found.after.dropped_is_lower_bound else ""
    return f"{at_least}{count:.0f} connections were dropped {why}" if count else ""


def _listen_backlog(found: Strain) -> str:
    count = found.grown("listen_overflows")
    return f"{count:.0f} connections were lost to a full listen queue, before sshd saw them" if count else ""


_RULES: dict[Resource, tuple[Callable[[Strain], str], str]] = {
    Resource.CPU: (_cpu, "Raise spec.target.managed.resources.limits.cpu, or take a cheaper key exchange"),
    Resource.MEMORY: (_memory, "Raise spec.target.managed.resources.limits.memory"),
    Resource.PROCESSES: (_processes, "Raise the limit of processes in a pod (the kubelet's podPidsLimit)"),
    Resource.MAX_STARTUPS: (
        _max_startups,
        "Raise spec.target.managed.sshd.maxStartups (perSourceMaxStartups, where that is set)",
    ),
    Resource.PENALTIES: (_penalties, 'Set spec.target.managed.sshd.perSourcePenalties to "no"'),
    Resource.LISTEN_BACKLOG: (
        _listen_backlog,
        "The queue holds 128 connections, which sshd fixes: let fewer come at one instant",
    ),
}


@dataclass(frozen=True, slots=True)
class LimitedBy:
    """The threshold that broke in most of `failed` trials at `amount`, as it broke last; None where none broke.

    `seen` is what was seen of it, or what the last of these trials says where none broke; it may be empty. `short_of`
    are the shortages that most of these trials show. If there are none, `message` is about the server.
    """

    amount: float
    failed: int
    broken: int
    threshold: ThresholdResult | None
    seen: str
    short_of: tuple[Shortage, ...]
    message: str


def limited_by(plan: Plan, found: Searched) -> LimitedBy | None:
    """Return what limits the server, None if no amount is known to fail."""
    if found.upper is None or unjudged_least(plan, found) is not None:
        return None
    failed = those(trials_at(found, found.upper), TrialState.FAILED)
    if not failed:
        return None
    first = _first_broken(failed)
    breaking = failed if first is None else tuple(trial for trial in failed if _broken(trial, first) is not None)
    last = None if first is None else _broken(breaking[-1], first)
    short_of, message = _short_of(plan, found, breaking)
    return LimitedBy(
        amount=found.upper,
        failed=len(failed),
        broken=len(breaking),
        threshold=last,
        seen=failed[-1].message if last is None else last.observed or "",
        short_of=short_of,
        message=message,
    )


def sentence(limit: LimitedBy, plan: Plan) -> str:
    """Return in words what broke first, and what the server lacked or may have lacked."""
    at = amount_in_words(limit.amount, plan.spec.load)
    trials = f"in {limit.broken} of {limit.failed} trials that failed there" if limit.failed > 1 else ""
    seen = f"it was {limit.seen}" if limit.threshold is not None and limit.seen else limit.seen
    details = " ".join(words for words in (seen, trials) if words)
    what = f"At {at}, {'no trial held' if limit.threshold is None else f'{limit.threshold.terms.words} broke first'}"
    broke = f"{what}: {details}" if details else what
    if not limit.short_of:
        return f"{broke}. {_capitalised(limit.message)}"
    lacked = "; ".join(f"{shortage.resource}: {shortage.figure}. {shortage.remedy}" for shortage in limit.short_of)
    return f"{broke}. The server was short of {lacked}"


def _first_broken(failed: tuple[Trial, ...]) -> Terms | None:
    """Return the threshold that broke in most of the trials; of several the first one in the spec."""
    broken = Counter(result.terms for trial in failed for result in trial.thresholds if result.met is False)
    order = [result.terms for result in failed[0].thresholds]
    return min(broken, key=lambda one: (-broken[one], order.index(one) if one in order else len(order)), default=None)


def _broken(trial: Trial, which: Terms | None) -> ThresholdResult | None:
    found = (result for result in trial.thresholds if result.terms == which and result.met is False)
    return next(found, None)


def _short_of(plan: Plan, found: Searched, trials: tuple[Trial, ...]) -> tuple[tuple[Shortage, ...], str]:
    managed = plan.spec.managed
    if managed is None:
        return _of_external(found, trials)
    strains = [one for trial in trials if (one := strain(trial)) is not None]
    if not strains:
        return (), _NOT_COUNTED
    short_of = (*_of_most(strains), *_refused_channels(plan, trials))
    elsewhere = _ELSEWHERE.format(before=managed.before_it)
    return short_of, "" if short_of else f"{elsewhere}. In the last of them: {at_ease(strains[-1])}"


def _of_external(found: Searched, trials: tuple[Trial, ...]) -> tuple[tuple[Shortage, ...], str]:
    """Return what a server that is not the run's own has said itself, if that is most of the failures."""
    failed_by: Counter[Outcome] = Counter()
    for trial in trials:
        failed_by.update(trial.failed_by)
    count = failed_by.total()
    throttled, unknown = failed_by[Outcome.THROTTLED], failed_by[Outcome.DROPPED_UNKNOWN]
    if 2 * throttled > count:
        figure = f'{throttled} of {count} failures were connections that it dropped with "Exceeded MaxStartups"'
        remedy = (
            "Raise MaxStartups (PerSourceMaxStartups, where that is set) in its sshd_config. A test of this load"
            " without load.capacity tells the value"
        )
        return (Shortage(Resource.MAX_STARTUPS, figure, remedy),), ""
    if 2 * unknown > count:
        message = (
            f'{unknown} of {count} failures were connections that the server dropped with "Not allowed at this time":'
            " raise MaxStartups and PerSourceMaxStartups in its sshd_config, or exempt the workers' addresses from"
            " PerSourcePenalties (PerSourcePenaltyExemptList). Its log says which of them it was"
        )
        return (), message
    is_known_other = not is_openssh(one.negotiated.server_version for one in found.reported.negotiated)
    return (), _NOT_OURS.format(drops="dropped connections" if is_known_other else "drops by MaxStartups")


def _of_most(strains: list[Strain]) -> tuple[Shortage, ...]:
    """Return the shortages that more than half of the trials show, each with the figure of the last of these."""
    seen = [shortages(one) for one in strains]
    count = Counter(shortage.resource for one in seen for shortage in one)
    last = {shortage.resource: shortage for one in seen for shortage in one}
    return tuple(last[kind] for kind in Resource if kind in last and 2 * count[kind] > len(strains))


def _refused_channels(plan: Plan, trials: tuple[Trial, ...]) -> tuple[Shortage, ...]:
    """Return the shortage of sessions by refused channels, if the trial whose errors are known is one of these."""
    scenario = plan.spec.scenario
    if plan.spec.locustfile is not None or any(step.destination for step in scenario.steps):  # those open others
        return ()
    errors = [error for trial in trials for error in trial.errors if error.outcome is Outcome.CHANNEL_REFUSED]
    count = max((one.count for one in errors if one.window is Window.MEASURED), default=0)
    if not count:
        return ()
    figure = f"{count} channels were refused on connections that were logged in"
    return (Shortage(Resource.MAX_SESSIONS, figure, "Raise spec.target.managed.sshd.maxSessions"),)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
