"""A bound on how long a step may take, which ends it in the step's timeout outcome."""

from types import TracebackType
from typing import Self

from gevent import getcurrent
from gevent.timeout import Timeout
from sshload_contract.vocabulary import Step

from sshload_worker.outcomes import StepFailure, timeout_outcome


class TimeLimit(Timeout):
    """A context that raises StepFailure where what is inside takes longer. Limits nest, each ending its own inside."""

    def __init__(self, seconds: float, step: Step) -> None:
        super().__init__(seconds)
        self._step = step

    @property
    def failure(self) -> StepFailure:
        """How a step ends that this limit cuts off."""
        return StepFailure(timeout_outcome(self._step), f"{self._step} took longer than {self.seconds:g} s")

    def __enter__(self) -> Self:
        """Begin. That it has not begun yet is known, so that there is no need to ask as gevent does."""
        self.timer.start(getcurrent().throw, self, update=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.timer.close()
        if value is self:
            raise self.failure from None
