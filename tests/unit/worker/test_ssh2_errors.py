import pytest
from ssh2 import exceptions as ssh2_errors
from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.clients.ssh2.driver import library_outcome


@pytest.mark.parametrize(
    ("step", "error", "outcome"),
    [
        (Timing.KEX, ssh2_errors.KexFailureError, Outcome.KEX_FAILED),
        (Timing.KEX, ssh2_errors.KeyExchangeError, Outcome.KEX_FAILED),
        (Timing.KEX, ssh2_errors.SocketDisconnectError, Outcome.DISCONNECTED),
        (Timing.KEX, ssh2_errors.SocketRecvError, Outcome.DISCONNECTED),
        (Timing.AUTH, ssh2_errors.AuthenticationError, Outcome.AUTH_REJECTED),
        (Timing.AUTH, ssh2_errors.PublickeyUnverifiedError, Outcome.AUTH_REJECTED),
        (Timing.AUTH, ssh2_errors.SocketDisconnectError, Outcome.DISCONNECTED),
        (Timing.AUTH, ssh2_errors.FileError, Outcome.GENERATOR_FAULT),
        (Timing.CHANNEL_OPEN, ssh2_errors.ChannelFailure, Outcome.CHANNEL_REFUSED),
        (Timing.EXEC, ssh2_errors.ChannelRequestDenied, Outcome.EXEC_REJECTED),
        (Timing.READ, ssh2_errors.SocketRecvError, Outcome.DISCONNECTED),
        (Timing.READ, ssh2_errors.ProtocolError, Outcome.DISCONNECTED),
        (Timing.CHANNEL_OPEN, ssh2_errors.DecryptError, Outcome.DISCONNECTED),
        (Timing.EXEC, ssh2_errors.InvalidMACError, Outcome.DISCONNECTED),
        (Timing.AUTH, ssh2_errors.OutOfBoundaryError, Outcome.DISCONNECTED),
        (Timing.KEX, ssh2_errors.BadUseError, Outcome.GENERATOR_FAULT),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_a_library_error_is_told_apart_by_its_type_and_step(
    step: str, error: type[Exception], outcome: Outcome
) -> None:
    assert library_outcome(step, error) is outcome


def test_no_error_of_the_library_passes_for_a_success() -> None:
    errors = [error for error in vars(ssh2_errors).values() if isinstance(error, type) and issubclass(error, Exception)]
    assert len(errors) > 50
    assert all(library_outcome(step, error) is not Outcome.OK for step in TIMINGS for error in errors)
