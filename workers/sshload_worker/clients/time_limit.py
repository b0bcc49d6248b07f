"""A bound on how long a step may take, which ends it in the step's timeout outcome."""

from collections.abc import Iterator
from contextlib import contextmanager

from gevent.timeout import Timeout
from sshload_contract.vocabulary import Step

from sshload_worker.outcomes import StepFailure, timeout_outcome


@contextmanager
def time_limit(seconds: float, step: Step) -> Iterator[None]:
    """Raise StepFailure where what is inside takes longer. Limits nest: each ends only its own inside."""
    timeout = Timeout(seconds)
    timeout.start()
    try:
        yield
    except Timeout as expired:
        if expired is not timeout:
            raise
        raise StepFailure(timeout_outcome(step), f"{step} took longer than {seconds:g} s") from None
    finally:
        timeout.close()
