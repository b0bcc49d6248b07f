"""What a server has answered counts, even if it has ended the connection since; what it had not answered is lost."""

from types import SimpleNamespace
from typing import Any, cast

import asyncssh
import pytest
from asyncssh.constants import (
    FX_CONNECTION_LOST,
    FX_NO_CONNECTION,
    FX_NO_SUCH_FILE,
    OPEN_ADMINISTRATIVELY_PROHIBITED,
    OPEN_CONNECT_FAILED,
)
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.clients.asyncssh.driver import Driver
from sshload_worker.clients.openssh import channel
from sshload_worker.outcomes import StepFailure

MISSING = asyncssh.SFTPError(FX_NO_SUCH_FILE, "no such file")
LOST = asyncssh.SFTPError(FX_CONNECTION_LOST, "lost")
NEVER = asyncssh.SFTPError(FX_NO_CONNECTION, "none")
REFUSED = asyncssh.ChannelOpenError(OPEN_ADMINISTRATIVELY_PROHIBITED, "prohibited")
UNOPENED = asyncssh.ChannelOpenError(OPEN_CONNECT_FAILED, "SSH connection closed")
GONE = asyncssh.ConnectionLost("gone")
CLOSED, SAID_WHY = "the server closed the connection", "the server disconnected: too many"


@pytest.mark.parametrize(
    ("error", "step", "outcome", "when_open", "when_ended"),
    [
        pytest.param(MISSING, Timing.READ, Outcome.SFTP_NO_SUCH_FILE, True, True, id="a status"),
        pytest.param(REFUSED, Timing.CHANNEL_OPEN, Outcome.CHANNEL_REFUSED, True, True, id="a refused channel"),
        pytest.param(LOST, Timing.READ, None, True, False, id="the library's own status"),
        pytest.param(NEVER, Timing.READ, None, True, False, id="the library's other own status"),
        pytest.param(UNOPENED, Timing.CHANNEL_OPEN, None, True, False, id="the library's own word of a channel"),
        pytest.param(GONE, Timing.READ, None, False, False, id="no answer"),
    ],
)
@pytest.mark.parametrize("reason", ["", "too many"])
def test_asyncssh(  # noqa: PLR0913 - a table
    error: Exception,
    step: str,
    outcome: Outcome | None,
    reason: str,
    *,
    when_open: bool,
    when_ended: bool,
) -> None:
    def fail() -> None:
        raise error

    for is_ended, counts in ((False, when_open), (True, when_ended)):
        milestones = SimpleNamespace(ended=Event(), disconnect_text=reason if is_ended else "", error=None)
        if is_ended:
            milestones.ended.set()
        loop = SimpleNamespace(call=lambda function: function())
        driver = Driver(cast("Any", loop), cast("Any", SimpleNamespace(milestones=milestones)))
        with pytest.raises(StepFailure) as found:
            driver.call(step, fail)
        if counts:
            assert found.value.outcome is not Outcome.DISCONNECTED
            assert outcome in (None, found.value.outcome)
        else:
            assert found.value.outcome is Outcome.DISCONNECTED
            assert found.value.message == (SAID_WHY if reason and is_ended else CLOSED)


class Master:
    """The log of an OpenSSH client, as far as it has come."""

    def __init__(self, *, refusal: str | None = None, accepted: int = 3, refused: int = 2, ended: bool = False) -> None:
        self._refusal, self._answered, self._ended = refusal, (accepted, refused), ended

    def claim_refusal(self) -> str | None:
        return self._refusal

    def answered_requests(self) -> tuple[int, int]:
        return self._answered

    def closed_channels(self) -> int:
        return self._answered[0]

    def has_ended(self) -> bool:
        return self._ended


@pytest.mark.parametrize(
    ("master", "before", "outcome"),
    [
        pytest.param(Master(accepted=4), (3, 2), None, id="accepted"),
        pytest.param(Master(accepted=4, ended=True), (3, 2), None, id="accepted, and ended since"),
        pytest.param(Master(refused=3), (3, 2), Outcome.EXEC_REJECTED, id="refused"),
        pytest.param(Master(refused=3, ended=True), (3, 2), Outcome.EXEC_REJECTED, id="refused, and ended since"),
        pytest.param(Master(accepted=4, refused=3), (3, 2), Outcome.EXEC_REJECTED, id="one of two refused"),
        pytest.param(Master(), (3, 2), Outcome.EXEC_REJECTED, id="closed without an answer"),
        pytest.param(Master(ended=True), (3, 2), None, id="ended before an answer, which is no refusal"),
        pytest.param(Master(), None, None, id="a forward, which is no command"),
        pytest.param(Master(refusal="no", ended=True), None, Outcome.CHANNEL_REFUSED, id="a forward that was refused"),
        pytest.param(
            Master(refusal="no", accepted=4), (3, 2), Outcome.CHANNEL_REFUSED, id="a channel that was refused"
        ),
    ],
)
def test_requests_of_openssh(master: Master, before: tuple[int, int] | None, outcome: Outcome | None) -> None:
    if outcome is None:
        channel._check_accepted(cast("Any", master), before)
        return
    with pytest.raises(StepFailure) as found:
        channel._check_accepted(cast("Any", master), before)
    assert found.value.outcome is outcome


@pytest.mark.parametrize(
    ("closed", "ended", "is_lost"), [(3, False, False), (3, True, True), (4, False, False), (4, True, False)]
)
def test_channels_of_openssh(closed: int, *, ended: bool, is_lost: bool) -> None:
    master = cast("Any", Master(accepted=closed, ended=ended))
    if not is_lost:
        channel._check_closed(master, 3)
        return
    with pytest.raises(StepFailure) as found:
        channel._check_closed(master, 3)
    assert found.value.outcome is Outcome.DISCONNECTED
