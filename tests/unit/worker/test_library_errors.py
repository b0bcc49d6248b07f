import threading
from unittest.mock import Mock

import asyncssh
import pytest
from asyncssh.constants import OPEN_REQUEST_SESSION_FAILED
from gevent import GreenletExit
from gevent.timeout import Timeout
from paramiko import ssh_exception
from paramiko.sftp import SFTPError
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.clients.asyncssh.driver import library_outcome as asyncssh_outcome
from sshload_worker.clients.file_protocols import status_failure
from sshload_worker.clients.openssh.log import failure, sftp_failure
from sshload_worker.clients.paramiko.transport import Driver
from sshload_worker.clients.paramiko.transport import library_outcome as paramiko_outcome
from sshload_worker.outcomes import StepFailure


@pytest.mark.parametrize(
    ("step", "error", "lost", "outcome"),
    [
        pytest.param(
            Timing.KEX, ssh_exception.IncompatiblePeer("none"), True, Outcome.KEX_FAILED, id="nothing in common"
        ),
        pytest.param(Timing.KEX, ssh_exception.SSHException("bad signature"), True, Outcome.KEX_FAILED, id="a bad kex"),
        pytest.param(Timing.KEX, EOFError(), True, Outcome.DISCONNECTED, id="a close during the kex"),
        pytest.param(
            Timing.AUTH, ssh_exception.AuthenticationException("no"), False, Outcome.AUTH_REJECTED, id="a rejected key"
        ),
        pytest.param(
            Timing.AUTH, ssh_exception.AuthenticationException("EOF"), True, Outcome.DISCONNECTED, id="a close in auth"
        ),
        pytest.param(
            Timing.AUTH,
            ssh_exception.BadAuthenticationType("", []),
            True,
            Outcome.AUTH_REJECTED,
            id="a method not taken",
        ),
        pytest.param(
            Timing.CHANNEL_OPEN, ssh_exception.ChannelException(1, ""), False, Outcome.CHANNEL_REFUSED, id="no channel"
        ),
        pytest.param(Timing.EXEC, ssh_exception.SSHException(""), False, Outcome.EXEC_REJECTED, id="no command"),
        pytest.param(Timing.EXEC, ssh_exception.SSHException(""), True, Outcome.DISCONNECTED, id="a close in exec"),
        pytest.param(Timing.WRITE, OSError("Socket is closed"), True, Outcome.DISCONNECTED, id="a closed socket"),
        pytest.param(Timing.SUBSYSTEM, SFTPError("garbage"), False, Outcome.SFTP_BAD_MESSAGE, id="no SFTP"),
    ],
)
def test_paramikos_errors_say_what_went_wrong(step: str, error: Exception, lost: bool, outcome: Outcome) -> None:  # noqa: FBT001
    assert paramiko_outcome(step, error, lost=lost) is outcome


@pytest.mark.parametrize(
    ("step", "error", "lost", "outcome"),
    [
        pytest.param(Timing.KEX, asyncssh.KeyExchangeFailed("none"), True, Outcome.KEX_FAILED, id="nothing in common"),
        pytest.param(Timing.KEX, asyncssh.ProtocolError("what"), True, Outcome.KEX_FAILED, id="a bad kex"),
        pytest.param(Timing.KEX, asyncssh.HostKeyNotVerifiable("?"), True, Outcome.HOST_KEY_MISMATCH, id="a host key"),
        pytest.param(Timing.KEX, asyncssh.ConnectionLost("gone"), True, Outcome.DISCONNECTED, id="a close in kex"),
        pytest.param(Timing.AUTH, asyncssh.PermissionDenied("no"), True, Outcome.AUTH_REJECTED, id="a rejected key"),
        pytest.param(
            Timing.CHANNEL_OPEN, asyncssh.ChannelOpenError(1, "no"), False, Outcome.CHANNEL_REFUSED, id="no channel"
        ),
        pytest.param(
            Timing.CHANNEL_OPEN,
            asyncssh.ChannelOpenError(OPEN_REQUEST_SESSION_FAILED, "no"),
            False,
            Outcome.EXEC_REJECTED,
            id="a channel, but no subsystem",
        ),
        pytest.param(
            Timing.CHANNEL_OPEN,
            asyncssh.ChannelOpenError(2, "closed"),
            True,
            Outcome.DISCONNECTED,
            id="a close instead",
        ),
        pytest.param(Timing.READ, asyncssh.ProtocolError("what"), True, Outcome.DISCONNECTED, id="a bad packet"),
    ],
)
def test_asyncsshs_errors_say_what_went_wrong(step: str, error: Exception, lost: bool, outcome: Outcome) -> None:  # noqa: FBT001
    assert asyncssh_outcome(step, error, lost=lost) is outcome


@pytest.mark.parametrize(
    ("step", "line", "outcome", "message"),
    [
        pytest.param(
            Timing.CONNECT,
            "ssh: connect to host a port 1: Connection refused",
            Outcome.REFUSED,
            "Connection refused",
            id="refused",
        ),
        pytest.param(
            Timing.CONNECT,
            "ssh: connect to host a port 1: Connection timed out",
            Outcome.CONNECT_TIMEOUT,
            "timed out",
            id="no answer",
        ),
        pytest.param(
            Timing.CONNECT, "ssh: connect to host a port 1: No route to host", Outcome.CONNECT_FAILED, "", id="no route"
        ),
        pytest.param(
            Timing.BANNER,
            "debug1: kex_exchange_identification: banner line 0: Exceeded MaxStartups",
            Outcome.THROTTLED,
            "Exceeded MaxStartups",
            id="throttled",
        ),
        pytest.param(
            Timing.BANNER,
            "debug1: kex_exchange_identification: banner line 0: HTTP/1.1 400 Bad Request",
            Outcome.NOT_SSH,
            "HTTP",
            id="another protocol",
        ),
        pytest.param(
            Timing.BANNER,
            "kex_exchange_identification: Connection closed by remote host",
            Outcome.RESET_BEFORE_BANNER,
            "",
            id="a close before the banner",
        ),
        pytest.param(
            Timing.BANNER,
            "Connection reset by UNKNOWN port -1",
            Outcome.RESET_BEFORE_BANNER,
            "",
            id="a reset before the banner, in other words",
        ),
        pytest.param(
            Timing.KEX, "Unable to negotiate with a port 1: no matching", Outcome.KEX_FAILED, "", id="nothing in common"
        ),
        pytest.param(Timing.KEX, "Host key verification failed.", Outcome.HOST_KEY_MISMATCH, "", id="a host key"),
        pytest.param(Timing.KEX, "Connection reset by 127.0.0.1 port 1", Outcome.DISCONNECTED, "", id="a reset in kex"),
        pytest.param(
            Timing.AUTH, "root@a: Permission denied (publickey).", Outcome.AUTH_REJECTED, "", id="a rejected key"
        ),
        pytest.param(
            Timing.AUTH,
            "Received disconnect from a port 1:2: Too many authentication failures",
            Outcome.TOO_MANY_AUTH_FAILURES,
            "Too many",
            id="too many keys",
        ),
        pytest.param(
            Timing.AUTH,
            "Received disconnect from a port 1:2: Too many authentication failures, I say",
            Outcome.DISCONNECTED,
            "Too many",
            id="told to go",
        ),
        pytest.param(
            Timing.AUTH,
            "Received disconnect from a port 1:2: ssh: connect to host a port 1: Connection refused",
            Outcome.DISCONNECTED,
            "",
            id="a server that speaks as ssh does",
        ),
        pytest.param(
            Timing.EXEC,
            "debug1: Exit status -1",
            Outcome.DISCONNECTED,
            "the server closed the connection",
            id="a close of which ssh says nothing",
        ),
        pytest.param(
            Timing.BANNER,
            "debug1: kex_exchange_identification: banner line 0: ssh: connect to host a port 1: Connection refused",
            Outcome.NOT_SSH,
            "",
            id="a line before the banner in ssh's words",
        ),
    ],
)
def test_openssh_says_what_went_wrong(step: str, line: str, outcome: Outcome, message: str) -> None:
    said = failure(step, ["debug1: before", line, "debug1: after"])
    assert said.outcome is outcome
    assert message in said.message


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('Can\'t ls: "/missing" not found', Outcome.SFTP_NO_SUCH_FILE),
        ('remote mkdir "/tmp": Failure', Outcome.SFTP_FAILURE),
        ('remote open "/secret": Permission denied', Outcome.SFTP_PERMISSION_DENIED),
        ('File "/missing" not found.', Outcome.SFTP_NO_SUCH_FILE),
        ('remote mkdir "/Permission denied": Failure', Outcome.SFTP_FAILURE),
        ("Expected SSH2_FXP_DATA(103) packet, got 104", Outcome.SFTP_BAD_MESSAGE),
        ("Unexpected reply 7", Outcome.SFTP_BAD_MESSAGE),
        ("Ensure the remote shell produces no output for non-interactive sessions.", Outcome.SFTP_BAD_MESSAGE),
        ("something else", Outcome.SFTP_OTHER),
    ],
)
def test_sftp_says_what_went_wrong(text: str, outcome: Outcome) -> None:
    assert sftp_failure(text).outcome is outcome


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (2, Outcome.SFTP_NO_SUCH_FILE),
        (3, Outcome.SFTP_PERMISSION_DENIED),
        (4, Outcome.SFTP_FAILURE),
        (8, Outcome.SFTP_OP_UNSUPPORTED),
        (31, Outcome.SFTP_OTHER),
    ],
)
def test_an_sftp_status_is_told_by_its_name(code: int, outcome: Outcome) -> None:
    assert status_failure(code, "").outcome is outcome


def ended_while_it_waits_for_a_lock(end: BaseException) -> None:
    """Do what paramiko's channel does where a wait for its lock is ended: release what it does not hold."""
    lock = threading.Lock()
    try:
        raise end
    finally:
        lock.release()


@pytest.mark.parametrize("end", [GreenletExit(), Timeout()])
def test_what_ends_a_call_of_paramiko_passes_through_its_error_about_a_lock(end: BaseException) -> None:
    """Else a time limit, or the end of a run, would count as a lost connection."""
    with pytest.raises(type(end)) as raised:
        Driver(Mock()).call(Timing.WRITE, ended_while_it_waits_for_a_lock, end)
    assert raised.value is end


def test_an_error_of_paramiko_after_a_call_was_ended_is_a_failure_of_its_own() -> None:
    """What cleans up after the end of a call makes calls too."""
    driver = Driver(Mock(disconnect_text="", refusals={}))

    def write_and_close() -> None:
        try:
            driver.call(Timing.WRITE, ended_while_it_waits_for_a_lock, GreenletExit())
        finally:
            driver.call(Timing.CLOSE, int, "no number")

    with pytest.raises(StepFailure):
        write_and_close()


def test_a_refusal_that_no_call_waited_for_is_not_that_of_a_later_call_or_of_another_step() -> None:
    refused = StepFailure(Outcome.EXEC_REJECTED, "no")
    transport = Mock(disconnect_text="", refusals={Timing.EXEC: refused}, is_active=lambda: False)

    def end(*, after_refusal: bool) -> None:
        if after_refusal:
            transport.refusals[Timing.EXEC] = refused
        raise EOFError

    for step, after_refusal, expected in (
        (Timing.READ, False, Outcome.DISCONNECTED),
        (Timing.EXEC, False, Outcome.DISCONNECTED),
        (Timing.EXEC, True, Outcome.EXEC_REJECTED),
    ):
        with pytest.raises(StepFailure) as raised:
            Driver(transport).call(step, end, after_refusal=after_refusal)
        assert raised.value.outcome is expected
