"""A bound on how long a step may take, which ends it in the step's timeout outcome."""

from types import TracebackType

from gevent.timeout import Timeout
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.outcomes import StepFailure, timeout_outcome


class TimeLimit(Timeout):
    """A context that raises StepFailure where what is inside takes longer. Limits nest, each ending its own inside."""

    def __init__(self, seconds: float, step: Step) -> None:
        super().__init__(seconds)
        self._step = step

    @property
    def outcome(self) -> Outcome:
        """What a step ends in that this limit cuts off."""
        return timeout_outcome(self._step)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
        if value is self:
            raise StepFailure(self.outcome, f"{self._step} took longer than {self.seconds:g} s") from None
