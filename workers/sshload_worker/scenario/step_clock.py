"""StepClock: times the steps of one iteration and remembers in which of them it failed."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic_ns
from typing import TypeVar

from gevent import GreenletExit
from sshload_contract.sample import Sample
from sshload_contract.vocabulary import Outcome, Step, Window

from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder

T = TypeVar("T")

_NS_PER_US = 1_000


@dataclass(frozen=True, slots=True)
class Due:
    """When an iteration is due and when its window ends, as monotonic nanoseconds."""

    at_ns: int
    window: Window
    window_end_ns: int


class StepClock:
    """Times steps, nested ones too (a login and its kex), each ending in exactly one outcome."""

    def __init__(self, recorder: Recorder, due: Due) -> None:
        self._recorder = recorder
        self._due = due
        self._failed_step = ""

    def timed(self, name: str, call: Callable[[], T]) -> T:
        """Run `call` and count how long it took and how it ended."""
        begin_ns = monotonic_ns()
        outcome = Outcome.GENERATOR_FAULT
        try:
            result = call()
            outcome = Outcome.OK
        except StepFailure as failure:
            outcome = failure.outcome
            raise
        except GreenletExit:
            outcome = Outcome.UNFINISHED
            raise
        finally:
            self.record(name, begin_ns, outcome)
        return result

    def record(self, name: str, begin_ns: int, outcome: Outcome) -> None:
        """Count a step that began at `begin_ns` and ends now. The innermost failing step is remembered."""
        latency_us = (monotonic_ns() - begin_ns) // _NS_PER_US
        self._recorder.sample(Sample(name, self._due.window, self._due.at_ns, latency_us, outcome))
        if outcome is not Outcome.OK and not self._failed_step:
            self._failed_step = name

    def transferred(self, name: str, count: int) -> None:
        """Count bytes of payload that the step `name` has moved."""
        self._recorder.transferred(name, self._due.window, count)

    def total(self, outcome: Outcome, message: str) -> None:
        """Count the whole iteration, from when it was due until now, and where it failed, if it did."""
        self.record(str(Step.TOTAL), self._due.at_ns, outcome)
        if outcome is not Outcome.OK:
            self._recorder.failure(self._failed_step, self._due.window, outcome, message)
        self._recorder.ended(self._due.window, outcome, inside=monotonic_ns() <= self._due.window_end_ns)
