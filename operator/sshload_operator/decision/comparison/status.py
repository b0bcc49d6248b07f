"""What a comparison has found so far, as its status has it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sshload_operator.api.status.comparison import ComparedFigure, ComparisonResults, TestRun, VariantResult
from sshload_operator.decision.comparison.compare import Compared
from sshload_operator.decision.comparison.figures import split

Results = Mapping[str, Sequence[Compared]]


def results_status(results: Results, tests: Sequence[TestRun]) -> ComparisonResults:
    """Return `status.results`: for each variant, the first one first, its tests' verdicts and its figures."""
    return ComparisonResults(
        tuple(
            VariantResult(
                name=variant,
                tests=sum(run.variant == variant for run in tests),
                measured=sum(run.variant == variant and not run.problem for run in tests),
                verdicts=dict(sorted(Counter(str(run.verdict) for run in tests if run.variant == variant).items())),
                figures=tuple(_figure(one, is_first=index == 0) for one in found),
            )
            for index, (variant, found) in enumerate(results.items())
        )
    )


def _figure(one: Compared, *, is_first: bool) -> ComparedFigure:
    step, figure = split(one.key)
    if is_first:
        return ComparedFigure(figure=figure, step=step, value=_rounded(one.value), rounds=one.rounds)
    mean = None if one.mean is None else _rounded(one.mean)
    return ComparedFigure(
        figure=figure,
        step=step,
        value=_rounded(one.value),
        rounds=one.rounds,
        ratio=None if one.in_points else mean,
        points=mean if one.in_points else None,
        low=None if one.low is None else _rounded(one.low),
        high=None if one.high is None else _rounded(one.high),
        difference=one.difference,
    )


def _rounded(value: float) -> float:
    """Return a figure to six digits, more than it was measured with."""
    return float(f"{value:.6g}")
