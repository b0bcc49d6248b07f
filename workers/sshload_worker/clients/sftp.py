"""SFTP in every library: the outcomes of status codes (draft-ietf-secsh-filexfer-02), and data cut into pieces."""

from collections.abc import Iterator

from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

END_OF_FILE = 1
SFTP_STATUSES = {
    2: Outcome.SFTP_NO_SUCH_FILE,
    3: Outcome.SFTP_PERMISSION_DENIED,
    4: Outcome.SFTP_FAILURE,
    5: Outcome.SFTP_BAD_MESSAGE,
    6: Outcome.SFTP_NO_CONNECTION,
    7: Outcome.SFTP_CONNECTION_LOST,
    8: Outcome.SFTP_OP_UNSUPPORTED,
}


def status_failure(code: int, text: str) -> StepFailure:
    """Return the failure that a status other than OK means."""
    outcome = SFTP_STATUSES.get(code, Outcome.SFTP_OTHER)
    return StepFailure(outcome, text or f"SFTP status {code}")


def split_into_pieces(data: bytes, size: int | None) -> Iterator[bytes]:
    """Yield `data` in pieces of at most `size` bytes, all at once where that is None."""
    if size is None or len(data) <= size:
        yield data
        return
    for begin in range(0, len(data), size):
        yield data[begin : begin + size]
