"""`status.thresholds`: the results of thresholds as numbers, and last, the sentence that a person reads of each."""

from dataclasses import replace
from typing import Final

from sshload_contract.shortened import shortened
from sshload_contract.thresholds import BASELINE_UNIT, Terms, ThresholdResult

from sshload_operator.api.status.figures import percent, rounded
from sshload_operator.api.status.thresholds import THRESHOLD_MESSAGE_CHARACTERS, ThresholdStatus

_PERCENT: Final = "%"
_AT_THE_LIMIT: Final = "at the limit"
_HUNDRED: Final = 100


def threshold_status(result: ThresholdResult) -> ThresholdStatus:
    """Return the result of a threshold for a status."""
    terms = result.terms
    stated = ThresholdStatus(
        kind=terms.kind,
        step=terms.step or None,
        percentile=terms.percentile,
        limit=_stated(terms.limit, terms),
        unit=terms.unit,
        value=None if result.value is None else _stated(result.value, terms),
        low=None if result.low is None else _stated(result.low, terms),
        high=None if result.high is None else _stated(result.high, terms),
        met=result.met,
        message="",
    )
    seen = result.observed or (terms.why_unseen if result.met is None else "")
    said = ", ".join(filter(None, (seen, _distance(stated, terms))))
    return replace(
        stated, message=shortened(": ".join(filter(None, (terms.words, said))), THRESHOLD_MESSAGE_CHARACTERS)
    )


def _stated(figure: float, terms: Terms) -> float:
    """Return a figure rounded as its like are elsewhere in a status."""
    return percent(figure / _HUNDRED) if terms.unit == _PERCENT else rounded(figure)


def _distance(one: ThresholdStatus, terms: Terms) -> str:
    """Return how far the value is from the limit, empty if that is not known."""
    if one.value is None:
        return ""
    if one.unit == BASELINE_UNIT:
        room = one.limit - one.value if terms.is_upper_limit else one.limit + one.value
        return f"{_points(room)} {'to spare' if room > 0 else 'too many'}" if room else _AT_THE_LIMIT
    apart = one.value - one.limit
    if not apart:
        return _AT_THE_LIMIT
    side = "below" if apart < 0 else "above"
    if one.unit == _PERCENT:
        return f"{_points(apart)} {side}"
    return f"{abs(apart) / one.limit * _HUNDRED:.3g} % {side}" if one.limit > 0 else ""


def _points(apart: float) -> str:
    return f"{abs(apart):.3g} {'point' if abs(apart) == 1 else 'points'}"
