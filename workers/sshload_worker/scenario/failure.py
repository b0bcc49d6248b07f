"""From what ended an iteration or a login to the finding that is counted."""

from gevent import GreenletExit
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.time_limit import TimeLimitReached


def finding(error: BaseException) -> StepFailure:
    """Return the outcome of what ended in `error`, and what to say about it.

    It is never `error` itself: who keeps an error in a variable makes a cycle of it, its traceback and its frames. Then
    the collector of garbage frees a session and its channels in any order, on which libssh2 crashes.
    """
    match error:
        case StepFailure():
            return StepFailure(error.outcome, error.message)
        case TimeLimitReached():
            return error.failure
        case GreenletExit():
            return StepFailure(Outcome.UNFINISHED, "still running at the end of the drain")
        case OSError():
            return StepFailure(Outcome.GENERATOR_FAULT, f"no socket to be had: {error.strerror}")
    return StepFailure(Outcome.GENERATOR_FAULT, "the worker met an error of its own: its log has the traceback")
