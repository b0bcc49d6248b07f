"""What a number of failures proves about their share, by exact binomial tests (Clopper and Pearson 1934).

The tests assume independent failures. Failures in bursts prove less than the tests say. Limits are above 0.
"""

from math import ceil, exp, lgamma, log, log1p

_SIGNIFICANCE = 0.05
_NEGLIGIBLE = 1e-12
_MOST_TIMES_MORE = 10_000


def is_below(failed: int, tried: int, limit: float) -> bool:
    """Return whether so few failures prove, with 95 % confidence, that their share is below the limit."""
    if limit >= 1:
        return failed < tried
    if failed >= tried * limit:
        return False  # the median is never farther from the mean
    return _tail_chance(failed, tried, limit, step=-1) <= _SIGNIFICANCE


def is_not_below(failed: int, tried: int, limit: float) -> bool:
    """Return whether so many failures prove, with 95 % confidence, that their share is not below the limit."""
    if limit >= 1:
        return failed >= tried
    if failed <= tried * limit:
        return False
    return _tail_chance(failed, tried, limit, step=1) <= _SIGNIFICANCE


def tries_needed(failed: int, tried: int, limit: float) -> int | None:
    """Return how many attempts with the same share of failures would prove on which side of the limit the share is.

    None if no reasonable number would.
    """
    # So many that (1 - limit) ** tries is 5 %: for small limits the "rule of three", 3 / limit.
    if not failed:
        return ceil(log(_SIGNIFICANCE) / log1p(-limit)) if limit < 1 else 1
    low, high = 1.0, 1.0
    while not _decides(failed, tried, limit, high):
        low, high = high, high * 2
        if high > _MOST_TIMES_MORE:
            return None
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if _decides(failed, tried, limit, middle) else (middle, high)
    return ceil(high * tried)


def _decides(failed: int, tried: int, limit: float, times: float) -> bool:
    more_failed, more_tried = round(failed * times), round(tried * times)
    return is_below(more_failed, more_tried, limit) or is_not_below(more_failed, more_tried, limit)


def _tail_chance(failed: int, tried: int, share: float, step: int) -> float:
    """Return the probability of at most (step -1) or at least (step 1) so many failures, away from the mean."""
    chance = exp(
        lgamma(tried + 1)
        - lgamma(failed + 1)
        - lgamma(tried - failed + 1)
        + failed * log(share)
        + (tried - failed) * log1p(-share)
    )
    odds, total, at = share / (1 - share), 0.0, failed
    while 0 <= at <= tried and chance > _NEGLIGIBLE * total:
        total += chance
        # Each term follows from its neighbour by the ratio of their binomial coefficients.
        chance *= (tried - at) / (at + 1) * odds if step > 0 else at / ((tried - at + 1) * odds)
        at += step
    return total
