"""How a comparison ends: with all its tests over, or given up. And the conditions that say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.decision.comparison.compare import Compared
from sshload_operator.decision.comparison.facts import ComparisonPast, TestRun
from sshload_operator.decision.comparison.interval import FEWEST_ROUNDS
from sshload_operator.decision.comparison.plan import ComparisonPlan
from sshload_operator.decision.comparison.sentence import sentence
from sshload_operator.decision.comparison.words import ComparisonCondition, ComparisonReason, ComparisonVerdict
from sshload_operator.decision.findings import Finding, conditions
from sshload_operator.state import Condition, ConditionStatus

# Tests that end in Error from the start tell of something that more of them will not mend.
_ERRORS_BEFORE_GIVING_UP = 2


@dataclass(frozen=True, slots=True)
class Ending:
    """The verdict on a comparison, and why."""

    verdict: ComparisonVerdict
    reason: ComparisonReason
    message: str


def given_up(plan: ComparisonPlan, ended: Sequence[TestRun]) -> Ending | None:
    """Return the end where a variant's tests have ended in Error from the start; None where it is worth going on."""
    for variant in plan.spec.variants:
        mine = [run for run in ended if run.variant == variant.name]
        enough = len(mine) >= min(_ERRORS_BEFORE_GIVING_UP, plan.spec.repeats)
        if enough and all(run.verdict is Verdict.ERROR for run in mine):
            return _unmeasured(variant.name, mine)
    return None


def ending(plan: ComparisonPlan, ended: Sequence[TestRun], results: Mapping[str, Sequence[Compared]]) -> Ending:
    """Return the end of a comparison of which all tests are over."""
    for variant in plan.spec.variants:
        mine = [run for run in ended if run.variant == variant.name]
        if all(run.problem for run in mine):
            return _unmeasured(variant.name, mine)
    repeats = plan.spec.repeats
    first = plan.spec.variants[0].name
    sentences = (sentence(variant, first, found) for variant, found in results.items() if variant != first)
    found = f"over {repeats} rounds, {'. '.join(sentences)}"
    lost = [run for run in ended if run.problem]
    if lost:
        text = f"{len(lost)} of {len(ended)} tests gave no figures ({lost[0].test}: {lost[0].problem}). {found}"
        return Ending(ComparisonVerdict.INCONCLUSIVE, ComparisonReason.TESTS_NOT_MEASURED, text)
    if repeats < FEWEST_ROUNDS:
        text = f"an interval needs {FEWEST_ROUNDS} rounds, and spec.repeats is {repeats}. {found}"
        return Ending(ComparisonVerdict.INCONCLUSIVE, ComparisonReason.TOO_FEW_ROUNDS, text)
    return Ending(ComparisonVerdict.CONCLUSIVE, ComparisonReason.COMPARED, found)


def ended_conditions(end: Ending, past: ComparisonPast, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a comparison that has ended: Ready only where it is conclusive, else Stalled."""
    is_good = end.verdict is ComparisonVerdict.CONCLUSIVE
    holds = {
        ComparisonCondition.COMPLETE: True,
        ComparisonCondition.READY: is_good,
        ComparisonCondition.RECONCILING: False,
        ComparisonCondition.STALLED: not is_good,
    }
    findings = {
        kind: Finding(ConditionStatus.TRUE if held else ConditionStatus.FALSE, end.reason, end.message)
        for kind, held in holds.items()
    }
    return conditions(findings, past.conditions, now)


def _unmeasured(variant: str, runs: Sequence[TestRun]) -> Ending:
    last = runs[-1]
    text = f"none of the {len(runs)} tests of variant {variant} gave figures; {last.test}: {last.problem}"
    return Ending(ComparisonVerdict.ERROR, ComparisonReason.VARIANT_NOT_MEASURED, text)
