"""How often a caller may call: a bucket of tokens for each, which fills at an even rate."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

_CALLERS_AT_MOST: Final = 10_000
"""Beyond these, the caller that has called longest ago is forgotten, and begins with a full bucket."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at_s: float


class RateLimit:
    """Admits `burst` requests at once and `rate` per second in the long run, of each caller."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, now_s: float) -> int:
        """Take one request of a caller; return 0, or in how many seconds the caller may try again."""
        bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now_s))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _CALLERS_AT_MOST:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now_s - bucket.at_s) * self._rate)
        bucket.at_s = now_s
        if bucket.tokens < 1:
            return max(1, math.ceil((1 - bucket.tokens) / self._rate))
        bucket.tokens -= 1
        return 0
