"""Reading something to its end, whatever it comes from, with bounded memory."""

from collections.abc import Callable
from time import monotonic_ns

from sshload_contract.vocabulary import Outcome, Step, measured_step

from sshload_worker.scenario.steps.step_run import StepRun


def read_to_end(run: StepRun, name: str, read: Callable[[], bytes], take: Callable[[bytes], object]) -> int:
    """Hand each piece to `take`, and return how many bytes came.

    FIRST_BYTE of the step `name` is timed only where there is one.
    """
    begin_ns = monotonic_ns()
    piece = read()
    if piece and run.connection.times_parts:
        run.clock.record(measured_step(name, Step.FIRST_BYTE), begin_ns, Outcome.OK)
    count = 0
    while piece:
        count += len(piece)
        take(piece)
        piece = read()
    return count
