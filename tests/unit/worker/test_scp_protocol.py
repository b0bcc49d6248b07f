"""scp's protocol against what no scp says."""

import pytest
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.file_protocols import begin_read
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.outcomes import StepFailure


class Saying:
    """A channel on which the server says this and nothing else (clients.interface.Channel)."""

    def __init__(self, *said: bytes) -> None:
        self._pieces = iter(said)

    def request_terminal(self) -> None: ...

    def start_shell(self) -> None: ...

    def execute(self, command: str) -> None: ...

    def read(self) -> bytes:
        return next(self._pieces, b"")

    def write(self, data: bytes) -> None: ...

    def send_end(self) -> None: ...

    def close(self) -> CommandEnd:
        return CommandEnd(0, "", b"")


@pytest.mark.parametrize(
    "size",
    [pytest.param("9" * 5_000, id="more digits than Python reads"), pytest.param("\u0661", id="another script's")],
)
def test_a_size_that_no_file_has_is_a_failure_of_scp(size: str) -> None:
    with pytest.raises(StepFailure) as failed:
        begin_read(Saying(f"C0644 {size} name\n".encode()), "path")
    assert (failed.value.outcome, failed.value.message) == (Outcome.SCP_FAILED, "the server's scp announced no file")
