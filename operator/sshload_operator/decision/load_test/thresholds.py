"""`status.thresholds`: the results of thresholds as numbers, and last, the sentence that a person reads of each."""

from typing import Final

from sshload_contract.shortened import shortened
from sshload_contract.thresholds import BASELINE_UNIT, CapacityThreshold, Terms, ThresholdResult

from sshload_operator.api.status.figures import percent, rounded
from sshload_operator.api.status.thresholds import THRESHOLD_MESSAGE_CHARACTERS, ThresholdStatus
from sshload_operator.decision.capacity.trials import digits

_PERCENT: Final = "%"
_AT_THE_LIMIT: Final = "at the limit"
_HUNDRED: Final = 100
_THREE_DIGITS: Final = 999.5
_WITH_EXPONENT: Final = 1e7


def threshold_status(result: ThresholdResult) -> ThresholdStatus:
    """Return the result of a threshold for a status."""
    terms = result.terms
    seen = result.observed or (terms.why_unseen if result.met is None else "")
    said = ", ".join(filter(None, (seen, _distance(result))))
    return ThresholdStatus(
        kind=terms.kind,
        step=terms.step or None,
        percentile=terms.percentile,
        limit=_exact(terms.limit),
        unit=terms.unit,
        value=None if result.value is None else _stated(result.value, terms),
        low=None if result.low is None else _stated(result.low, terms),
        high=None if result.high is None else _stated(result.high, terms),
        met=result.met,
        message=shortened(": ".join(filter(None, (terms.words, said))), THRESHOLD_MESSAGE_CHARACTERS),
    )


def _exact(figure: float) -> float:
    """Return a figure as it was written, without what its conversion to the unit added: 7 for 0.07 of 100."""
    return float(f"{figure:.12g}")


def _stated(figure: float, terms: Terms) -> float:
    """Return a figure rounded as its like are elsewhere in a status."""
    if terms.kind == CapacityThreshold.kind:
        return float(digits(figure))
    return percent(figure / _HUNDRED) if terms.unit == _PERCENT else rounded(figure)


def _distance(result: ThresholdResult) -> str:
    """Return how far the value is from the limit, empty if that is not known."""
    terms = result.terms
    if result.value is None:
        return ""
    value, limit = _exact(result.value), _exact(terms.limit)
    if terms.unit == BASELINE_UNIT:
        room = limit - value if terms.is_upper_limit else limit + value
        return f"{_points(room)} {'to spare' if room > 0 else 'too many'}" if room else _AT_THE_LIMIT
    apart = value - limit
    if not apart:
        return _AT_THE_LIMIT
    side = "below" if apart < 0 else "above"
    if terms.unit == _PERCENT:
        return f"{_points(apart)} {side}"
    return f"{_short(abs(apart) / limit * _HUNDRED)} % {side}" if limit > 0 else ""


def _points(apart: float) -> str:
    return f"{_short(abs(apart))} {'point' if abs(apart) == 1 else 'points'}"


def _short(figure: float) -> str:
    """Return a figure with three digits, or as a whole number, as long as that is shorter than with an exponent."""
    return f"{figure:,.0f}" if _THREE_DIGITS <= figure < _WITH_EXPONENT else f"{figure:.3g}"
