"""Samples as Locust's request events, for its statistics, its web page and its plugins."""

from collections.abc import Callable
from typing import Any

from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.outcomes import StepFailure

_US_PER_MS = 1_000

STEPS = (
    Step.LOGIN,
    Step.COMMAND,
    Step.SFTP_READ,
    Step.SFTP_WRITE,
    Step.SFTP_LIST,
    Step.SFTP_STAT,
    Step.SFTP_MKDIR,
    Step.SFTP_RMDIR,
    Step.SFTP_RENAME,
    Step.SFTP_REMOVE,
    Step.SCP_READ,
    Step.SCP_WRITE,
    Step.SHELL,
    Step.FORWARD,
    Step.GIT_UPLOAD_PACK,
    Step.HOLD,
    Step.TOTAL,
)
"""The steps that are told: sums, and not their parts."""


def request_events(environment: Any) -> Callable[[str, Outcome, int], None]:
    """Return what a Recorder is to tell the steps to, so that Locust's `environment` hears of them."""
    fire = environment.events.request.fire

    def tell(step: str, outcome: Outcome, latency_us: int) -> None:
        fire(
            request_type="SSH",
            name=step,
            response_time=latency_us / _US_PER_MS,
            response_length=0,
            exception=None if outcome is Outcome.OK else StepFailure(outcome, str(outcome)),
            context={},
        )

    return tell
