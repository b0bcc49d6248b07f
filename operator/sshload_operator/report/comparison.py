"""The report of a comparison as a JSON document, `comparisonReport.v1`: the source of its page and of its Markdown."""

import re
from collections.abc import Iterator
from typing import Any, Final

from sshload_contract.vocabulary import Timing

from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.compared import place, split
from sshload_operator.api.status.comparison import (
    ComparedFigure,
    ComparisonResults,
    ComparisonStatus,
    ComparisonVerdict,
    Difference,
    TestRun,
    VariantResult,
    negotiated_in,
)
from sshload_operator.api.status.head import written
from sshload_operator.api.status.measured import CAPACITY, COMPLETED_RATE
from sshload_operator.report.document import spec_text, verdict_of, within_limit
from sshload_operator.report.saved_run import KeptObject

COMPARISON_REPORT_VERSION: Final = "comparisonReport.v1"
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?(e[-+]?[0-9]{1,2})?")
"""A value that the page also takes for a number."""
_MORE_IS_BETTER: Final = (COMPLETED_RATE, CAPACITY)
_EFFECTS: Final = {Difference.NONE: "none", Difference.FASTER: "better", Difference.SLOWER: "worse"}
_STEPS_OF_ROUNDS: Final = ("", Timing.LOGIN, Timing.TOTAL)
_TOO_LARGE: Final = {
    "spec": "the spec is left out: the report would be too large",
    "tests": "the tests of the rounds are left out: the report would be too large",
    "figures": "the figures are left out: the report would be too large",
}
_NOT_ALL_OF_ROUNDS: Final = "each round has only the figures of whole tests, of the login and of the whole iteration"


def comparison_document(comparison: KeptObject, release: str) -> dict[str, Any]:
    """Return the report of a comparison, which may be under way, made by this release: at most a megabyte of JSON.

    Units stand in the names of figures, as in a status. A figure's `effect` follows from the interval of its ratio (for
    shares of errors, of the difference in points): better, worse, none, or unknown. Higher rates and capacities are
    better; for all other figures, lower is better. `differenceMs` is what a variant adds to a latency in milliseconds,
    from `lowMs` to `highMs` with 95 % confidence; null if the figure is not a latency. `swept` is the field that has a
    `value` for each variant, "" if none is swept; `isNumeric` says that all values are numbers. A variant's `reference`
    is the one that it is compared with, null for the first.
    """
    status = read_fitting(ComparisonStatus, comparison.status)
    results = ComparisonResults(()) if status.results is None else status.results
    variants = results.variants
    document = {
        "version": COMPARISON_REPORT_VERSION,
        "release": release,
        "comparison": {"name": comparison.name, "namespace": comparison.namespace},
        "verdict": verdict_of(status),
        "phase": status.phase,
        "progress": status.progress,
        "swept": results.swept,
        "isNumeric": bool(variants) and all(_NUMBER.fullmatch(one.value) for one in variants),
        "variants": [
            {
                "name": one.name,
                "value": one.value,
                "reference": None if number == 0 else results.reference_of(one).name,
                "tests": one.tests,
                "measured": one.measured,
                "verdicts": dict(one.verdicts),
                "negotiated": [written(agreed) for agreed in negotiated_in(status.tests, one.name)],
            }
            for number, one in enumerate(variants)
        ],
        "figures": list(_figures(variants)),
        "tests": [_test(one) for one in status.tests],
        "spec": spec_text(comparison.spec),
        "lacks": list(_lacks(status)),
    }
    return within_limit(document, _TOO_LARGE)


def _figures(variants: tuple[VariantResult, ...]) -> Iterator[dict[str, Any]]:
    """Yield each figure with its values for the variants, in the variants' order."""
    of_variants = [{_key(one): one for one in variant.figures} for variant in variants]
    for key in sorted({key for figures in of_variants for key in figures}, key=place):
        beside = [
            _beside(variant.name, figures[key], is_first=number == 0)
            for number, (variant, figures) in enumerate(zip(variants, of_variants, strict=True))
            if key in figures
        ]
        yield {"figure": key, "inPoints": any(one["points"] is not None for one in beside), "variants": beside}


def _key(one: ComparedFigure) -> str:
    return ".".join(filter(None, (one.step, one.figure)))


def _beside(variant: str, one: ComparedFigure, *, is_first: bool) -> dict[str, Any]:
    return {"variant": variant, **values_of(one), "effect": None if is_first else effect(one)}


def values_of(one: ComparedFigure) -> dict[str, Any]:
    """Return what is known of a figure of a variant, under the names that a report and a spreadsheet have for it."""
    return {
        "value": one.value,
        "rounds": one.rounds,
        "ratio": one.ratio,
        "points": one.points,
        "low": one.low,
        "high": one.high,
        "difference": one.difference,
        "differenceMs": one.difference_ms,
        "lowMs": one.low_ms,
        "highMs": one.high_ms,
    }


def effect(one: ComparedFigure) -> str:
    """Return the effect that the interval of a figure shows: better, worse, none or unknown."""
    if one.difference in (None, Difference.UNKNOWN):
        return "unknown"
    if one.difference in _EFFECTS:
        return _EFFECTS[one.difference]
    return "better" if (one.difference is Difference.HIGHER) == (one.figure in _MORE_IS_BETTER) else "worse"


def _test(run: TestRun) -> dict[str, Any]:
    keys = sorted((key for key in run.figures if split(key)[0] in _STEPS_OF_ROUNDS), key=place)
    return {
        "test": run.test,
        "round": run.round,
        "variant": run.variant,
        "verdict": run.verdict,
        "reason": run.reason,
        "problem": run.problem,
        "figures": {key: run.figures[key] for key in keys},
    }


def _lacks(status: ComparisonStatus) -> Iterator[str]:
    if status.verdict is None:
        yield f"the comparison is not finished: {status.progress or 'none'} of its tests are over"
    elif status.verdict is not ComparisonVerdict.CONCLUSIVE:
        yield "the verdict is not Conclusive: some tests gave no figures, or there were too few rounds for an interval"
    if status.tests:
        yield _NOT_ALL_OF_ROUNDS
