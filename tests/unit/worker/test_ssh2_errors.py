import pytest
from ssh2 import exceptions as ssh2_errors
from sshload_contract.vocabulary import Outcome, Step
from sshload_worker.clients.ssh2.driver import library_outcome


@pytest.mark.parametrize(
    ("step", "error", "outcome"),
    [
        (Step.KEX, ssh2_errors.KexFailureError, Outcome.KEX_FAILED),
        (Step.KEX, ssh2_errors.KeyExchangeError, Outcome.KEX_FAILED),
        (Step.KEX, ssh2_errors.SocketDisconnectError, Outcome.DISCONNECTED),
        (Step.KEX, ssh2_errors.SocketRecvError, Outcome.DISCONNECTED),
        (Step.AUTH, ssh2_errors.AuthenticationError, Outcome.AUTH_REJECTED),
        (Step.AUTH, ssh2_errors.PublickeyUnverifiedError, Outcome.AUTH_REJECTED),
        (Step.AUTH, ssh2_errors.SocketDisconnectError, Outcome.DISCONNECTED),
        (Step.AUTH, ssh2_errors.FileError, Outcome.GENERATOR_FAULT),
        (Step.CHANNEL_OPEN, ssh2_errors.ChannelFailure, Outcome.CHANNEL_REFUSED),
        (Step.EXEC, ssh2_errors.ChannelRequestDenied, Outcome.EXEC_REJECTED),
        (Step.READ, ssh2_errors.SocketRecvError, Outcome.DISCONNECTED),
        (Step.READ, ssh2_errors.ProtocolError, Outcome.DISCONNECTED),
        (Step.CHANNEL_OPEN, ssh2_errors.DecryptError, Outcome.DISCONNECTED),
        (Step.EXEC, ssh2_errors.InvalidMACError, Outcome.DISCONNECTED),
        (Step.AUTH, ssh2_errors.OutOfBoundaryError, Outcome.DISCONNECTED),
        (Step.KEX, ssh2_errors.BadUseError, Outcome.GENERATOR_FAULT),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)
def test_a_library_error_is_told_apart_by_its_type_and_step(
    step: Step, error: type[Exception], outcome: Outcome
) -> None:
    assert library_outcome(step, error) is outcome


def test_no_error_of_the_library_passes_for_a_success() -> None:
    errors = [error for error in vars(ssh2_errors).values() if isinstance(error, type) and issubclass(error, Exception)]
    assert len(errors) > 50
    assert all(library_outcome(step, error) is not Outcome.OK for step in Step for error in errors)
