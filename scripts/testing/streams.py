"""Which tests a lane gets next: those of one file after the other, and in the end a share of what others have left."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

_MOST_AT_ONCE = 25
"""To hand out thousands of tests one by one takes longer than many of them do."""


@dataclass(slots=True, eq=False)
class Stream:
    """Tests that a lane takes in this order: those of a file, or, `whole`, those that one lane has to run."""

    whole: bool
    tests: deque[int] = field(default_factory=deque)
    begun: bool = False


class Streams:
    """All tests, by their numbers, as streams for a number of lanes."""

    def __init__(self, names: Iterable[tuple[str, bool]], lanes: int) -> None:
        """Take the name of each test's stream, and whether it is whole, in the order in which tests are to begin."""
        self._lanes = lanes
        self._current: dict[int, Stream] = {}
        streams: dict[tuple[str, bool], Stream] = {}
        for test, name in enumerate(names):
            streams.setdefault(name, Stream(name[1])).tests.append(test)
        self._streams = list(streams.values())

    def take(self, lane: int) -> list[int]:
        """Return the tests that this lane is to run now, empty where none are left for it.

        They are the next of its file, else the first of one that nobody has begun, else of the one with the most left.
        """
        stream = self._stream_for(self._current.get(lane))
        if stream is None:
            return []
        stream.begun = True
        self._current[lane] = stream
        count = len(stream.tests)
        if not stream.whole:
            count = max(1, min(_MOST_AT_ONCE, count // (2 * self._lanes)))
        return [stream.tests.popleft() for _ in range(count)]

    def give_back(self, lane: int, tests: Iterable[int]) -> None:
        """Take back what a lane could not run, in its order."""
        stream = self._current[lane]
        stream.tests.extendleft(reversed(list(tests)))
        if stream.whole:
            stream.begun = False

    def _stream_for(self, own: Stream | None) -> Stream | None:
        self._streams = [stream for stream in self._streams if stream.tests]
        if own is not None and own.tests and not own.whole:
            return own
        fresh = (stream for stream in self._streams if not stream.begun)
        return next(fresh, max(self._streams, key=lambda stream: len(stream.tests), default=None))
