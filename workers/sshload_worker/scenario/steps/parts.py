"""The parts of a command and of the reading of a file, which are counted in one go once it has ended."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Self

from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import Course
from sshload_worker.scenario.steps.step_run import StepRun


@dataclass(frozen=True, slots=True)
class Parts:
    """The names of an operation's timings. The last two parts are those that a Course ends with: reading and closing.

    `silent` and `speaking` are all of them in one order, without and with that of the first byte.
    """

    whole: str
    first_byte: str
    parts: tuple[str, ...]
    silent: tuple[str, ...]
    speaking: tuple[str, ...]

    @classmethod
    @cache
    def of(cls, name: str, whole: Timing, *parts: Timing) -> Self:
        """Return the names of the parts of the step `name`."""
        first_byte, *all_names = (measured_step(name, timing) for timing in (Timing.FIRST_BYTE, *parts, whole))
        return cls(all_names[-1], first_byte, tuple(all_names[:-1]), tuple(all_names), (*all_names, first_byte))

    def count_success(self, run: StepRun, begin_ns: int, begins_ns: tuple[int, ...], course: Course) -> None:
        """Count that all went well since `begin_ns`. `begins_ns` are those of the parts before the reading."""
        started_ns, output_end_ns, closed_ns = course.started_ns, course.output_end_ns, course.closed_ns
        if not run.connection.times_parts:
            run.clock.succeeded((self.whole,), (begin_ns,), (closed_ns,))
            return
        begins_ns = (*begins_ns, started_ns, output_end_ns, begin_ns)
        ends_ns = (*begins_ns[1:-1], closed_ns, closed_ns)
        if course.first_byte_ns:
            run.clock.succeeded(self.speaking, (*begins_ns, started_ns), (*ends_ns, course.first_byte_ns))
        else:
            run.clock.succeeded(self.silent, begins_ns, ends_ns)

    def count_failure(
        self, run: StepRun, begin_ns: int, begins_ns: tuple[int, ...], course: Course, outcome: Outcome
    ) -> None:
        """Count the parts that ended well, the one that did not, and the whole. A part begins at 0 that never did."""
        clock = run.clock
        if run.connection.times_parts:
            if course.first_byte_ns:
                clock.succeeded((self.first_byte,), (course.started_ns,), (course.first_byte_ns,))
            instants_ns = (*begins_ns, course.started_ns, course.output_end_ns, course.closed_ns)
            for part, (part_begin_ns, part_end_ns) in zip(self.parts, pairwise(instants_ns), strict=True):
                if part_end_ns:
                    clock.succeeded((part,), (part_begin_ns,), (part_end_ns,))
                elif part_begin_ns:
                    clock.record(part, part_begin_ns, outcome)
        clock.record(self.whole, begin_ns, outcome)
