"""The end of a comparison: all its tests are over, or it is given up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sshload_contract.digits import to_digits
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.status.compared import milliseconds_text, split
from sshload_operator.api.status.comparison import (
    ComparisonReason,
    ComparisonVerdict,
    Difference,
    TestRun,
)
from sshload_operator.api.status.measured import CAPACITY, COMPLETED_RATE, ERROR_PERCENT
from sshload_operator.decision.comparison.compare import Compared
from sshload_operator.decision.comparison.interval import FEWEST_ROUNDS
from sshload_operator.decision.comparison.logins import other_logins
from sshload_operator.decision.comparison.plan import ComparisonPlan

# If tests end in Error from the start, more tests will not help.
_ERRORS_BEFORE_GIVING_UP = 2
_SAID = 3
# The differences that a message names first.
_WEIGHT = (
    CAPACITY,
    ERROR_PERCENT,
    COMPLETED_RATE,
    "total.p50Ms",
    "total.p99Ms",
    "total.p90Ms",
    "login.p50Ms",
    "cpuPerLoginMs",
    "cpuPerIterationMs",
)


@dataclass(frozen=True, slots=True)
class Ending:
    """The verdict on a comparison, and why."""

    verdict: ComparisonVerdict
    reason: ComparisonReason
    message: str


def given_up(plan: ComparisonPlan, ended: Sequence[TestRun]) -> Ending | None:
    """Return the end if a variant's first tests have all ended in Error; None if the comparison can continue."""
    for variant in plan.spec.variants:
        mine = [run for run in ended if run.variant == variant.name]
        enough = len(mine) >= min(_ERRORS_BEFORE_GIVING_UP, plan.spec.repeats)
        if enough and all(run.verdict is Verdict.ERROR for run in mine):
            return _unmeasured(variant.name, mine)
    return None


def ending(plan: ComparisonPlan, ended: Sequence[TestRun], results: Mapping[str, Sequence[Compared]]) -> Ending:
    """Return the end of a comparison whose tests are all over."""
    for variant in plan.spec.variants:
        mine = [run for run in ended if run.variant == variant.name]
        if all(run.problem for run in mine):
            return _unmeasured(variant.name, mine)
    repeats = plan.spec.repeats
    spec = plan.spec
    said = {variant.name: variant.value or variant.name for variant in spec.variants}
    sentences = (
        sentence(said[variant.name], said[spec.reference_of(variant)], results[variant.name])
        for variant in spec.variants[1:]
    )
    found = f"over {repeats} rounds, {'. '.join(sentences)}{other_logins(spec, ended)}"
    lost = [run for run in ended if run.problem]
    if lost:
        text = f"{len(lost)} of {len(ended)} tests gave no figures ({lost[0].test}: {lost[0].problem}); {found}"
        return Ending(ComparisonVerdict.INCONCLUSIVE, ComparisonReason.TESTS_NOT_MEASURED, text)
    if repeats < FEWEST_ROUNDS:
        text = f"an interval needs {FEWEST_ROUNDS} rounds, and spec.repeats is {repeats}; {found}"
        return Ending(ComparisonVerdict.INCONCLUSIVE, ComparisonReason.TOO_FEW_ROUNDS, text)
    return Ending(ComparisonVerdict.CONCLUSIVE, ComparisonReason.COMPARED, found)


def _unmeasured(variant: str, runs: Sequence[TestRun]) -> Ending:
    last = runs[-1]
    count = len(runs)
    said = (
        f"the only test of variant {variant} gave no figures"
        if count == 1
        else f"none of the {count} tests of variant {variant} gave figures"
    )
    text = f"{said}; {last.test}: {last.problem}"
    return Ending(ComparisonVerdict.ERROR, ComparisonReason.VARIANT_NOT_MEASURED, text)


def sentence(variant: str, first: str, found: Sequence[Compared]) -> str:
    """Return in words how a variant compares with the first one."""
    judged = [one for one in found if one.difference is not Difference.UNKNOWN]
    differing = sorted((one for one in judged if one.difference is not Difference.NONE), key=_rank)
    if not judged:
        return f"{variant} cannot be compared with {first}"
    if not differing:
        return f"{variant} shows no difference from {first} in {_figures(len(judged))}"
    said = "; ".join(figure_text(one) for one in differing[:_SAID])
    rest = f" and in {len(differing) - _SAID} more" if len(differing) > _SAID else ""
    alike = len(judged) - len(differing)
    none = f", no difference in the other {alike}" if alike else ""
    survivors = "".join(_survivors(differing))
    return (
        f"{variant} differs from {first} in {len(differing)} of {_figures(len(judged))}: {said}{rest}{none}{survivors}"
    )


def figure_text(one: Compared) -> str:
    """Return one difference in words: `login p50 2.10 times (1.90 to 2.31), +11.2 ms (+9.10 to +13.3)`."""
    step, figure = split(one.key)
    name = f"{step} {figure.removesuffix('Ms')}" if step else figure
    if one.mean is None or one.low is None or one.high is None:
        return name
    if one.in_points:
        return f"{name} {one.mean:+.3g} points ({one.low:+.3g} to {one.high:+.3g})"
    mean, low, high = (to_digits(ratio, 3) for ratio in (one.mean, one.low, one.high))
    return f"{name} {mean} times ({low} to {high}){_milliseconds_text(one)}"


def _milliseconds_text(one: Compared) -> str:
    found = one.in_ms
    if found is None or found.low is None or found.high is None:
        return ""
    mean, low, high = map(milliseconds_text, (found.mean, found.low, found.high))
    return f", {mean} ms ({low} to {high})"


def _survivors(differing: Sequence[Compared]) -> Iterator[str]:
    if any(one.key == ERROR_PERCENT for one in differing):
        yield ". Latencies are those of successes only, and the share of successes differs"


def _rank(one: Compared) -> tuple[int, str]:
    return (_WEIGHT.index(one.key), "") if one.key in _WEIGHT else (len(_WEIGHT), one.key)


def _figures(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"
