"""The parts of a login, a command or a file that is read. They are counted together, when the operation has ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Self

from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.recording.recorder import Spans
from sshload_worker.scenario.step_clock import StepClock

_INSTANTS_BEFORE = 2
"""The start of the whole operation, and the first byte: they come before the instants of the parts."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The names of an operation's timings: its parts, each of which begins when the one before it ends, and the whole.

    `silent` are all timings of an operation without output. `speaking` has that of the first byte too, which is timed
    from the start of the part with the index `reading`.
    """

    whole: str
    first_byte: str
    parts: tuple[str, ...]
    reading: int
    silent: Spans
    speaking: Spans

    @classmethod
    @cache
    def of(cls, name: str, whole: str, *parts: Timing) -> Self:
        """Return the names of the timings of the step `name`."""
        first_byte, *all_names = (measured_step(name, timing) for timing in (Timing.FIRST_BYTE, *parts, whole))
        reading = parts.index(Timing.READ) if Timing.READ in parts else 0
        places = range(_INSTANTS_BEFORE, _INSTANTS_BEFORE + len(parts) + 1)
        between = (*pairwise(places), (0, places[-1]))
        silent = Spans(tuple(all_names), between)
        speaking = Spans((*all_names, first_byte), (*between, (places[reading], 1)))
        return cls(all_names[-1], first_byte, tuple(all_names[:-1]), reading, silent, speaking)

    def count_success(
        self, clock: StepClock, begin_ns: int, instants_ns: tuple[int, ...], first_byte_ns: int = 0
    ) -> None:
        """Count an operation that succeeded. `instants_ns` are the start of the first part, and the end of each."""
        clock.operation(self.speaking if first_byte_ns else self.silent, (begin_ns, first_byte_ns, *instants_ns))

    def count_failure(
        self, clock: StepClock, begin_ns: int, instants_ns: Sequence[int], outcome: Outcome, first_byte_ns: int = 0
    ) -> None:
        """Count the parts that succeeded, the one that failed, and the whole.

        `instants_ns` are as in `count_success`, as far as the operation came: instants after the failure are 0 or
        missing.
        """
        if first_byte_ns:
            clock.succeeded(self.first_byte, instants_ns[self.reading], first_byte_ns)
        pairs = pairwise((*instants_ns, 0))
        for part, (part_begin_ns, part_end_ns) in zip(self.parts, pairs, strict=False):
            if part_end_ns:
                clock.succeeded(part, part_begin_ns, part_end_ns)
            elif part_begin_ns:
                clock.record(part, part_begin_ns, outcome)
        clock.record(self.whole, begin_ns, outcome)
