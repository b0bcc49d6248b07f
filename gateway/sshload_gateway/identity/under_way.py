"""How many requests of one caller are under way: beyond a number, further ones are refused."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class TooManyUnderWayError(Exception):
    """As many requests of the caller are under way as may be."""


class UnderWay:
    """Counts the requests that are under way, by caller; `most` of each may be."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[str] = Counter()

    @contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """Count a request of a caller until the block ends; raises TooManyUnderWayError."""
        if self._counts[caller] >= self._most:
            raise TooManyUnderWayError(f"{self._most} requests of yours are under way: wait for one of them")
        self._counts[caller] += 1
        try:
            yield
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller]
