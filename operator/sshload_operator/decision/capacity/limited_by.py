"""What limits a server at the lowest amount that fails: the threshold that breaks there, and what the server lacked."""

from collections import Counter
from dataclasses import dataclass

from sshload_contract.steps import ForwardStep
from sshload_contract.thresholds import Terms, ThresholdResult
from sshload_contract.vocabulary import Outcome, TrialState, Window
from sshload_contract.wire.run_summary import CapacityResult, RunSummary, Trial

from sshload_operator.api.target import ManagedTarget
from sshload_operator.decision.capacity.shortages import Shortage, Strain, at_ease, shortages, strain
from sshload_operator.decision.capacity.trials import amount_in_words, those, trials_at, unjudged_least
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Resource

_NOT_OURS = (
    "the target is not ours, so what it was short of is not known here: look at its CPU and memory, at its log for "
    "drops by MaxStartups, and at what it asks at each login (PAM, DNS, an authentication backend)"
)
_NOT_COUNTED = "the target's own counts around these trials are not known, so neither is what it was short of"
_ELSEWHERE = (
    "The server was short of nothing that sshload sees, in most of these trials; what is left is the network, the "
    "kernel, its node's CPU where others use it too, disks, PAM, DNS (UseDNS), or an authentication backend"
)


@dataclass(frozen=True, slots=True)
class LimitedBy:
    """What broke in `failed` trials at `amount`, in most of them `threshold`, last at `observed`; both may be unknown.

    `short_of` is what most of these trials show, `message` what is to be said of the server where they show nothing.
    """

    amount: float
    failed: int
    broken: int
    threshold: str | None
    observed: str | None
    short_of: tuple[Shortage, ...]
    message: str


def limited_by(plan: Plan, summary: RunSummary) -> LimitedBy | None:
    """Return what limits the server, None where no amount is known to fail."""
    found = summary.capacity
    if found is None or found.upper is None or unjudged_least(plan, found) is not None:
        return None
    failed = those(trials_at(found, found.upper), TrialState.FAILED)
    if not failed:
        return None
    first = _first_broken(failed)
    breaking = failed if first is None else tuple(trial for trial in failed if _broken(trial, first) is not None)
    last = None if first is None else _broken(breaking[-1], first)
    short_of, message = _short_of(plan, summary, breaking)
    return LimitedBy(
        amount=found.upper,
        failed=len(failed),
        broken=len(breaking),
        threshold=last.threshold if last is not None else None,
        observed=last.observed if last is not None else failed[-1].message or None,
        short_of=short_of,
        message=message,
    )


def sentence(limit: LimitedBy, plan: Plan) -> str:
    """Return what broke first, and what the server was short of or may have been."""
    at = amount_in_words(limit.amount, plan.spec.load)
    trials = f"in {limit.broken} of {limit.failed} trials that failed there" if limit.failed > 1 else ""
    seen = f"it was {limit.observed}" if limit.threshold is not None else limit.observed or ""
    details = " ".join(words for words in (seen, trials) if words)
    what = f"At {at}, {'no trial held' if limit.threshold is None else f'{limit.threshold} broke first'}"
    broke = f"{what}: {details}" if details else what
    if not limit.short_of:
        return f"{broke}. {_capitalised(limit.message)}"
    lacked = "; ".join(f"{shortage.resource}: {shortage.figure}. {shortage.remedy}" for shortage in limit.short_of)
    return f"{broke}. The server was short of {lacked}"


def _first_broken(failed: tuple[Trial, ...]) -> Terms | str | None:
    """Return the threshold that broke in most of the trials; of several the one that the spec has first."""
    broken = Counter(result.key for trial in failed for result in trial.thresholds if result.passed is False)
    order = [result.key for result in failed[0].thresholds]
    return min(broken, key=lambda one: (-broken[one], order.index(one) if one in order else len(order)), default=None)


def _broken(trial: Trial, which: Terms | str | None) -> ThresholdResult | None:
    found = (result for result in trial.thresholds if result.key == which and result.passed is False)
    return next(found, None)


def _short_of(plan: Plan, summary: RunSummary, trials: tuple[Trial, ...]) -> tuple[tuple[Shortage, ...], str]:
    if not isinstance(plan.spec.target, ManagedTarget):
        return (), _NOT_OURS
    strains = [found for trial in trials if (found := strain(trial)) is not None]
    if not strains:
        return (), _NOT_COUNTED
    short_of = (*_of_most(strains), *_refused_channels(plan, summary, trials))
    return short_of, "" if short_of else f"{_ELSEWHERE}. In the last of them: {at_ease(strains[-1])}"


def _of_most(strains: list[Strain]) -> tuple[Shortage, ...]:
    """Return what more than half of the trials show, as the last of these shows it."""
    seen = [shortages(one) for one in strains]
    count = Counter(shortage.resource for one in seen for shortage in one)
    last = {shortage.resource: shortage for one in seen for shortage in one}
    return tuple(last[kind] for kind in Resource if kind in last and 2 * count[kind] > len(strains))


def _refused_channels(plan: Plan, summary: RunSummary, trials: tuple[Trial, ...]) -> tuple[Shortage, ...]:
    """Tell of refused channels where the errors that are known are those of such a trial, and mean sessions."""
    scenario, found = plan.spec.scenario, summary.capacity
    opens_others = plan.spec.locustfile is not None or any(isinstance(step, ForwardStep) for step in scenario.steps)
    if opens_others or found is None or not _describes(found, trials):
        return ()
    refused = [one for one in summary.errors if one.outcome is Outcome.CHANNEL_REFUSED]
    count = max((one.count for one in refused if one.window is Window.MEASURED), default=0)
    if not count:
        return ()
    figure = f"{count} channels were refused on connections that were logged in"
    return (Shortage(Resource.MAX_SESSIONS, figure, "Raise spec.target.managed.sshd.maxSessions"),)


def _describes(found: CapacityResult, trials: tuple[Trial, ...]) -> bool:
    return any(trial.number == found.reported for trial in trials)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
