"""The table of faulty servers: what each does, what a client is to do there, and how each library has to tell of it.

`python tests/support/ssh/fault_table.py` prints docs/reference/faulty-servers.md.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import server_faults as it
from client_kinds import Kind
from server_faults import BRIEF_S, FILE, all_of
from sshload_contract.client import Library
from sshload_contract.steps import (
    ExecStep,
    ScenarioStep,
    ScpWriteStep,
    SftpListStep,
    SftpReadStep,
    SftpStatStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome, Timing
from staged_ssh_server import Stage, StagedServer

COMMAND = ExecStep(name="", command="any", expect_exit_code=0, expect_stdout="")
READ = SftpReadStep(name="", path="/any", expect_bytes=len(FILE), expect_sha256=hashlib.sha256(FILE).hexdigest())
STAT = SftpStatStep(name="", path="/any")
LIST = SftpListStep(name="", path="/any", expect_entries=2)
MUCH = b"much" * 250_000
"""Output for which the clients' windows have room, and which takes many packets."""

ANYWHERE = "any part"
"""The part of a step that fails where two things happen at once and either may be heard of first."""

_LOGIN = ("banner", "kex", "auth")
_SUMS = {
    COMMAND: str(Timing.COMMAND),
    READ: "sftpRead",
    STAT: "sftpStat",
    LIST: "sftpList",
}


@dataclass(frozen=True)
class Otherwise:
    """How an iteration ends by a library that tells less than others, or is told less, and why that is so."""

    outcome: Outcome
    part: str
    why: str
    brief: str = ""


@dataclass(frozen=True)
class Fault:
    """What a server does, and how an iteration of `doing` ends at it, in which of its parts.

    `brief` are the time limits that are exceeded, by their names in the spec.
    """

    serve: Stage
    outcome: Outcome
    part: str = ""
    brief: str = ""
    doing: ScenarioStep = COMMAND
    otherwise: Mapping[Library, Otherwise] = field(default_factory=dict)

    def ends(self, kind: Kind) -> tuple[Outcome, str]:
        """Return how an iteration ends by a kind of client, and in which step; ANYWHERE stands for any."""
        told = self._told_by(kind)
        known = kind.times_parts or told.part in ("", ANYWHERE, *_LOGIN)
        return told.outcome, told.part if known else _SUMS[self.doing]

    def brief_for(self, kind: Kind) -> list[str]:
        """Return the time limits that are to be brief, so that they are exceeded."""
        return self._told_by(kind).brief.split()

    def _told_by(self, kind: Kind) -> "Fault | Otherwise":
        return self.otherwise.get(kind.library, self)


_S = StagedServer
_LOGGED_IN = all_of(_S.exchange_own_keys, _S.let_in)
_CHANNEL = all_of(_LOGGED_IN, _S.open_channel)
_RUNNING = all_of(_CHANNEL, _S.start)

_BEFORE_SSH = {
    "closes before the banner": Fault(it.hang_up, Outcome.RESET_BEFORE_BANNER, "banner"),
    "resets before the banner": Fault(it.reset, Outcome.RESET_BEFORE_BANNER, "banner"),
    "never sends a banner": Fault(it.be_silent, Outcome.BANNER_TIMEOUT, "banner", "banner"),
    "sends half of a banner": Fault(
        all_of(it.writes(b"SSH-2.0-ha"), it.be_silent), Outcome.BANNER_TIMEOUT, "banner", "banner"
    ),
    "closes in the middle of its banner": Fault(
        all_of(it.writes(b"SSH-2.0-ha"), it.hang_up), Outcome.RESET_BEFORE_BANNER, "banner"
    ),
    "sends its banner byte by byte, too slowly": Fault(
        all_of(it.writes(b"SSH-2.0-" + b"slow" * 20, BRIEF_S / 5), it.be_silent),
        Outcome.BANNER_TIMEOUT,
        "banner",
        "banner",
    ),
    "sends a banner of 1,000 bytes": Fault(
        all_of(it.writes(b"SSH-2.0-" + b"x" * 990 + b"\r\n"), it.be_silent),
        Outcome.NOT_SSH,
        "banner",
        otherwise={
            Library.OPENSSH: Otherwise(
                Outcome.KEX_TIMEOUT,
                "kex",
                "ssh takes version lines of up to 8 KiB, where RFC 4253 section 4.2 has 255 bytes",
                brief="kex",
            )
        },
    ),
    "sends a banner without end": Fault(
        all_of(it.writes(b"SSH-2.0-" + b"x" * 100_000), it.be_silent), Outcome.NOT_SSH, "banner"
    ),
    "speaks SSH 1": Fault(
        all_of(it.writes(b"SSH-1.5-old\r\n"), it.be_silent),
        Outcome.NOT_SSH,
        "banner",
        otherwise={
            Library.OPENSSH: Otherwise(
                Outcome.NOT_SSH, "kex", "ssh says that it has the version before it says that it refuses it"
            )
        },
    ),
    "speaks HTTP": Fault(all_of(it.writes(b"HTTP/1.1 400 Bad Request\r\n\r\n"), it.hang_up), Outcome.NOT_SSH, "banner"),
    "sends bytes that are no text": Fault(
        all_of(it.writes(bytes(range(256)) * 4), it.hang_up), Outcome.NOT_SSH, "banner"
    ),
    "sends lines without end": Fault(it.write_for_ever, Outcome.NOT_SSH, "banner"),
    "says Exceeded MaxStartups": Fault(
        all_of(it.writes(b"Exceeded MaxStartups\r\n"), it.hang_up), Outcome.THROTTLED, "banner"
    ),
    "says Not allowed at this time": Fault(
        all_of(it.writes(b"Not allowed at this time\r\n"), it.hang_up), Outcome.DROPPED_UNKNOWN, "banner"
    ),
}
_KEY_EXCHANGE = {
    "closes after its banner": Fault(all_of(_S.hear_offer, it.hang_up), Outcome.DISCONNECTED, "kex"),
    "resets after its banner": Fault(all_of(_S.hear_offer, it.reset), Outcome.DISCONNECTED, "kex"),
    "is silent after its banner": Fault(all_of(_S.hear_offer, it.be_silent), Outcome.KEX_TIMEOUT, "kex", "kex"),
    "sends noise after its banner": Fault(
        all_of(it.writes(b"SSH-2.0-x\r\n" + bytes(range(255, 0, -1)) * 8), it.be_silent),
        Outcome.KEX_FAILED,
        "kex",
        otherwise={
            Library.MINA_SSHD: Otherwise(
                Outcome.KEX_TIMEOUT,
                "kex",
                "MINA SSHD waits for more before it refuses a packet whose length cannot be",
                brief="kex",
            )
        },
    ),
    "disconnects in the key exchange": Fault(all_of(_S.hear_offer, it.disconnect), Outcome.DISCONNECTED, "kex"),
    "has no algorithm in common": Fault(_S.offer_unknown_keys, Outcome.KEX_FAILED, "kex"),
    "forges the signature of its host key": Fault(
        all_of(_S.exchange_forged_keys, it.be_silent), Outcome.KEX_FAILED, "kex"
    ),
    "has another host key": Fault(
        all_of(_S.exchange_strange_keys, _S.let_in, it.be_silent), Outcome.HOST_KEY_MISMATCH, "kex"
    ),
}
_LOGIN_FAULTS = {
    "closes in the login": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, _S.hear_signature, it.hang_up), Outcome.DISCONNECTED, "auth"
    ),
    "resets in the login": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, _S.hear_signature, it.reset), Outcome.DISCONNECTED, "auth"
    ),
    "disconnects in the login": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, _S.hear_signature, it.disconnect), Outcome.DISCONNECTED, "auth"
    ),
    "never agrees to authenticate": Fault(
        all_of(_S.exchange_own_keys, it.be_silent),
        Outcome.AUTH_TIMEOUT,
        "auth",
        "auth",
        otherwise={
            Library.SSH2_PYTHON: Otherwise(
                Outcome.KEX_TIMEOUT,
                "kex",
                "libssh2 asks for the authentication service within its key exchange",
                brief="kex",
            )
        },
    ),
    "never answers the login": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, _S.hear_signature, it.be_silent),
        Outcome.AUTH_TIMEOUT,
        "auth",
        "auth",
    ),
    "refuses the login": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, it.refuse_every_login), Outcome.AUTH_REJECTED, "auth"
    ),
    "refuses the login, and disconnects": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, it.at_once(it.refuse_login, it.disconnect)),
        Outcome.AUTH_REJECTED,
        "auth",
    ),
    "wants more than the key": Fault(
        all_of(_S.exchange_own_keys, _S.accept_service, it.ask_for_more), Outcome.AUTH_REJECTED, "auth"
    ),
}
_CHANNEL_FAULTS = {
    "closes when a channel is asked for": Fault(
        all_of(_LOGGED_IN, _S.hear_channel, it.hang_up), Outcome.DISCONNECTED, "channelOpen"
    ),
    "refuses the channel": Fault(
        all_of(_LOGGED_IN, it.refuse_channel, it.serve_on), Outcome.CHANNEL_REFUSED, "channelOpen"
    ),
    "refuses the channel, and disconnects": Fault(
        all_of(_LOGGED_IN, it.at_once(it.refuse_channel, it.disconnect)), Outcome.CHANNEL_REFUSED, "channelOpen"
    ),
    "refuses the channel, and closes": Fault(
        all_of(_LOGGED_IN, it.at_once(it.refuse_channel, it.hang_up)), Outcome.CHANNEL_REFUSED, "channelOpen"
    ),
    "never opens the channel": Fault(
        all_of(_LOGGED_IN, _S.hear_channel, it.be_silent), Outcome.STEP_TIMEOUT, "channelOpen", "channel step"
    ),
    "refuses the command": Fault(all_of(_CHANNEL, it.refuse_command, it.serve_on), Outcome.EXEC_REJECTED, "exec"),
    "refuses the command, and disconnects": Fault(
        all_of(_CHANNEL, it.at_once(it.refuse_command, it.disconnect)), Outcome.EXEC_REJECTED, "exec"
    ),
    "refuses the command, and closes": Fault(
        all_of(_CHANNEL, it.at_once(it.refuse_command, it.hang_up)), Outcome.EXEC_REJECTED, "exec"
    ),
    "refuses the command, and tells an exit status of 0": Fault(
        all_of(_CHANNEL, it.refuse_command, it.exits(0), it.serve_on), Outcome.EXEC_REJECTED, "exec"
    ),
    "never starts the command": Fault(
        all_of(_CHANNEL, _S.hear_start, it.be_silent), Outcome.STEP_TIMEOUT, "exec", "step"
    ),
    "closes the channel in place of starting the command": Fault(
        all_of(_CHANNEL, _S.hear_start, _S.close_channel, it.be_silent),
        Outcome.EXEC_REJECTED,
        "exec",
    ),
    "resets in place of starting the command": Fault(
        all_of(_CHANNEL, _S.hear_start, it.reset), Outcome.DISCONNECTED, "exec"
    ),
}
_DISCONNECTED_SSH = {
    Library.OPENSSH: Otherwise(
        Outcome.DISCONNECTED, "command", "ssh ends with the connection, and keeps how the command ended to itself"
    )
}
_COMMAND_FAULTS = {
    "is silent in the middle of the output": Fault(
        all_of(_RUNNING, it.says(b"half"), it.be_silent), Outcome.STEP_TIMEOUT, "read", "step"
    ),
    "sends output byte by byte, for ever": Fault(all_of(_RUNNING, it.drip), Outcome.STEP_TIMEOUT, "read", "step"),
    "sends output as fast as it can, for ever": Fault(all_of(_RUNNING, it.flood), Outcome.STEP_TIMEOUT, "read", "step"),
    "sends words on stderr as fast as it can, for ever": Fault(
        all_of(_RUNNING, it.flood_stderr), Outcome.STEP_TIMEOUT, "read", "step"
    ),
    "resets in the middle of the output": Fault(
        all_of(_RUNNING, it.says(b"half"), it.reset), Outcome.DISCONNECTED, "read"
    ),
    "closes in the middle of the output": Fault(
        all_of(_RUNNING, it.says(b"half"), it.hang_up), Outcome.DISCONNECTED, "read"
    ),
    "disconnects in the middle of the output": Fault(
        all_of(_RUNNING, it.says(b"half"), it.disconnect), Outcome.DISCONNECTED, "read"
    ),
    "sends a packet that is not authentic": Fault(
        all_of(_RUNNING, it.says(b"half"), it.garble, it.be_silent), Outcome.DISCONNECTED, "read"
    ),
    "tells no exit status": Fault(
        all_of(_RUNNING, it.says(b"all"), _S.end_output, _S.close_channel, it.be_silent),
        Outcome.NO_EXIT_STATUS,
        "command",
    ),
    "closes the channel at once": Fault(
        all_of(_RUNNING, _S.close_channel, it.be_silent), Outcome.NO_EXIT_STATUS, "command"
    ),
    "tells an exit status of 3": Fault(
        all_of(_RUNNING, _S.end_output, it.exits(3), _S.close_channel, it.be_silent), Outcome.EXIT_CODE, "command"
    ),
    "tells of a signal": Fault(
        all_of(_RUNNING, _S.end_output, it.exits_by(b"KILL"), _S.close_channel, it.be_silent),
        Outcome.KILLED_BY_SIGNAL,
        "command",
    ),
    "tells an exit status a while after the end of the output": Fault(
        all_of(_RUNNING, it.says(b"all"), it.ends_output_before(it.exits(0)), _S.close_channel, it.be_silent),
        Outcome.OK,
    ),
    "tells of a signal a while after the end of the output": Fault(
        all_of(_RUNNING, it.ends_output_before(it.exits_by(b"KILL")), _S.close_channel, it.be_silent),
        Outcome.KILLED_BY_SIGNAL,
        "command",
    ),
    "closes the channel a while after the end of the output": Fault(
        all_of(_RUNNING, it.ends_output_before(_S.close_channel), it.be_silent), Outcome.NO_EXIT_STATUS, "command"
    ),
    "ends the output and never closes the channel": Fault(
        all_of(_RUNNING, it.says(b"all"), _S.end_output, it.exits(0), it.be_silent),
        Outcome.STEP_TIMEOUT,
        "close",
        "step",
    ),
    "tells an exit status of 0, and closes": Fault(
        all_of(_RUNNING, it.says(b"all"), _S.end_output, it.exits(0), it.hang_up), Outcome.DISCONNECTED, ANYWHERE
    ),
    "tells an exit status of 0, and disconnects": Fault(
        all_of(_RUNNING, it.says(b"all"), _S.end_output, it.exits(0), it.disconnect), Outcome.DISCONNECTED, ANYWHERE
    ),
    "tells an exit status of 0 before the end of the output, and closes": Fault(
        all_of(_RUNNING, it.says(b"all"), it.exits(0), it.hang_up), Outcome.DISCONNECTED, ANYWHERE
    ),
    "ends the output, and closes": Fault(
        all_of(_RUNNING, it.says(b"all"), _S.end_output, it.hang_up), Outcome.DISCONNECTED, ANYWHERE
    ),
    "closes the channel, and closes": Fault(
        all_of(_RUNNING, it.says(b"all"), _S.end_output, it.exits(0), _S.close_channel, it.hang_up), Outcome.OK
    ),
    "closes the channel, and closes at once": Fault(
        all_of(_RUNNING, it.at_once(it.says(b"all"), _S.end_output, it.exits(0), _S.close_channel, it.hang_up)),
        Outcome.OK,
    ),
    "closes the channel, and disconnects at once": Fault(
        all_of(_RUNNING, it.at_once(it.says(b"all"), _S.end_output, it.exits(0), _S.close_channel, it.disconnect)),
        Outcome.OK,
        otherwise=_DISCONNECTED_SSH,
    ),
    "starts the command, sends all of it, and disconnects, all at once": Fault(
        all_of(
            _CHANNEL,
            it.at_once(_S.start, it.says(b"all"), _S.end_output, it.exits(3), _S.close_channel, it.disconnect),
        ),
        Outcome.EXIT_CODE,
        "command",
        otherwise=_DISCONNECTED_SSH,
    ),
    "closes the channel after much output, and closes at once": Fault(
        all_of(_RUNNING, it.at_once(it.says(MUCH), _S.end_output, it.exits(0), _S.close_channel, it.hang_up)),
        Outcome.OK,
    ),
    "disconnects in the middle of much output": Fault(
        all_of(_RUNNING, it.at_once(it.says(MUCH), it.exits(0), it.disconnect)), Outcome.DISCONNECTED, "read"
    ),
    "ends the output, tells an exit status of 0, and disconnects at once": Fault(
        all_of(_RUNNING, it.at_once(it.says(b"all"), _S.end_output, it.exits(0), it.disconnect)),
        Outcome.DISCONNECTED,
        ANYWHERE,
    ),
    "closes the channel without an end of the output": Fault(
        all_of(_RUNNING, it.says(b"all"), it.exits(0), _S.close_channel, it.be_silent), Outcome.OK
    ),
    "sends output after its end": Fault(
        all_of(_RUNNING, _S.end_output, it.says(b"late"), it.exits(0), _S.close_channel, it.be_silent),
        Outcome.OK,
        otherwise={
            Library.ASYNCSSH: Otherwise(
                Outcome.DISCONNECTED,
                ANYWHERE,
                "asyncssh ends a connection on which data follows its end (RFC 4254 section 5.3)",
            )
        },
    ),
    "sends output after the close": Fault(
        all_of(_RUNNING, _S.end_output, it.exits(0), _S.close_channel, it.says(b"late"), it.be_silent),
        Outcome.OK,
    ),
    "says what needs no answer between all else": Fault(
        all_of(
            _S.exchange_own_keys,
            it.chatter,
            _S.let_in,
            it.chatter,
            _S.open_channel,
            it.chatter,
            _S.start,
            it.chatter,
            _S.end_output,
            it.exits(0),
            it.chatter,
            _S.close_channel,
            it.be_silent,
        ),
        Outcome.OK,
    ),
    "asks for what no client knows": Fault(
        all_of(
            _CHANNEL,
            it.request_unknown,
            _S.start,
            it.request_unknown,
            _S.end_output,
            it.exits(0),
            _S.close_channel,
            it.be_silent,
        ),
        Outcome.OK,
    ),
}
NO_STATUS_OF_SCP = Fault(
    all_of(_RUNNING, it.take_by_scp, it.ends_output_before(_S.close_channel), it.be_silent),
    Outcome.NO_EXIT_STATUS,
    "scpWrite",
    doing=ScpWriteStep(name="", path="/any", size_bytes=0, verify=Verify.NONE),
)
"""Not in the table, since not every library has scp."""
_SFTP_FAULTS = {
    "takes no input": Fault(
        all_of(_LOGGED_IN, _S.open_shut_channel, _S.start, it.be_silent),
        Outcome.STEP_TIMEOUT,
        "subsystem",
        "channel step",
        doing=READ,
    ),
    "has no SFTP": Fault(
        all_of(_CHANNEL, it.refuse_command, it.serve_on),
        Outcome.EXEC_REJECTED,
        "subsystem",
        doing=READ,
        otherwise={
            Library.OPENSSH: Otherwise(
                Outcome.SFTP_CONNECTION_LOST,
                "sftpRead",
                "ssh keeps the refusal to itself, and sftp is only told of the end",
            ),
            Library.MINA_SSHD: Otherwise(
                Outcome.SFTP_CONNECTION_LOST,
                "sftpRead",
                "MINA SSHD keeps the refusal to itself, and its SFTP is only told of the end",
            ),
        },
    ),
    "speaks no SFTP": Fault(
        all_of(_RUNNING, it.says(b"Welcome to a shell.\n" * 3), it.serve_on),
        Outcome.SFTP_BAD_MESSAGE,
        "subsystem",
        doing=READ,
    ),
    "never begins SFTP": Fault(
        all_of(_RUNNING, it.be_silent), Outcome.STEP_TIMEOUT, "subsystem", "channel step", doing=READ
    ),
    **{
        f"answers with status {code}": Fault(all_of(_RUNNING, it.sftp_statuses(code)), outcome, "open", doing=READ)
        for code, outcome in (
            (2, Outcome.SFTP_NO_SUCH_FILE),
            (3, Outcome.SFTP_PERMISSION_DENIED),
            (4, Outcome.SFTP_FAILURE),
            (5, Outcome.SFTP_BAD_MESSAGE),
            (6, Outcome.SFTP_NO_CONNECTION),
            (7, Outcome.SFTP_CONNECTION_LOST),
            (8, Outcome.SFTP_OP_UNSUPPORTED),
            (14, Outcome.SFTP_OTHER),
        )
    },
    "answers with status 2, and closes": Fault(
        all_of(_RUNNING, it.sftp_opens(it.say_no_file_and_close)),
        Outcome.SFTP_NO_SUCH_FILE,
        "open",
        doing=READ,
    ),
    "reads less than it is asked for": Fault(
        all_of(_RUNNING, it.sftp_reads(it.read_little)),
        Outcome.OK,
        doing=READ,
        otherwise={
            Library.SSH2_PYTHON: Otherwise(
                Outcome.SFTP_BAD_MESSAGE,
                "read",
                "libssh2 has more requests under way, and does not ask again for what is missing",
            )
        },
    ),
    "sends a flag after each piece of a file": Fault(
        all_of(_RUNNING, it.sftp_reads(it.read_with_flag)),
        Outcome.OK,
        doing=READ,
        otherwise={
            Library.ASYNCSSH: Otherwise(
                Outcome.SFTP_BAD_MESSAGE,
                "read",
                "asyncssh takes such a flag only in version 6 of the protocol, where it belongs",
            )
        },
    ),
    "tells no size of the file that is read": Fault(all_of(_RUNNING, it.sftp_without_sizes), Outcome.OK, doing=READ),
    "tells no size when asked for attributes": Fault(all_of(_RUNNING, it.sftp_without_sizes), Outcome.OK, doing=STAT),
    "has a file without end": Fault(
        all_of(_RUNNING, it.sftp_reads(it.read_for_ever)), Outcome.STEP_TIMEOUT, "read", "step", doing=READ
    ),
    "has a file whose name is no text": Fault(
        all_of(_RUNNING, it.list_names(b".", b"..", b"one", it.NO_TEXT)), Outcome.OK, doing=LIST
    ),
    "has a file whose name has a line end": Fault(
        all_of(_RUNNING, it.list_names(b".", b"..", b"one", b"two\nlines")), Outcome.OK, doing=LIST
    ),
    "lists a directory without end": Fault(
        all_of(_RUNNING, it.list_for_ever), Outcome.STEP_TIMEOUT, "sftpList", "step", doing=LIST
    ),
    "fails with words that are no text": Fault(
        all_of(_RUNNING, it.sftp_reads(it.fail_in_no_text)), Outcome.SFTP_FAILURE, "read", doing=READ
    ),
    "ends the file in its middle": Fault(
        all_of(_RUNNING, it.sftp_reads(it.read_half_of_the_file)), Outcome.OUTPUT_MISMATCH, "sftpRead", doing=READ
    ),
    "fails in the middle of a file": Fault(
        all_of(_RUNNING, it.sftp_reads(it.read_nothing)), Outcome.SFTP_FAILURE, "read", doing=READ
    ),
    "answers with a packet of another type": Fault(
        all_of(_RUNNING, it.sftp_reads(it.read_garbage)),
        Outcome.SFTP_BAD_MESSAGE,
        "read",
        doing=READ,
        otherwise={
            Library.SSH2_PYTHON: Otherwise(
                Outcome.STEP_TIMEOUT, "read", "libssh2 leaves aside what it did not ask for", brief="step"
            )
        },
    ),
    "answers what nobody asked": Fault(
        all_of(_RUNNING, it.sftp_reads(it.answer_another)),
        Outcome.SFTP_BAD_MESSAGE,
        "read",
        doing=READ,
        otherwise={
            Library.SSH2_PYTHON: Otherwise(
                Outcome.STEP_TIMEOUT, "read", "libssh2 leaves aside what it did not ask for", brief="step"
            ),
            Library.PARAMIKO: Otherwise(
                Outcome.STEP_TIMEOUT, "read", "paramiko leaves aside what it did not ask for", brief="step"
            ),
        },
    ),
    "is silent in the middle of a file": Fault(
        all_of(_RUNNING, it.sftp_reads(it.sftp_silence)), Outcome.STEP_TIMEOUT, "read", "step", doing=READ
    ),
    "ends in the middle of a file": Fault(
        all_of(_RUNNING, it.sftp_reads(it.end_program)), Outcome.SFTP_CONNECTION_LOST, "read", doing=READ
    ),
    "resets in the middle of a file": Fault(
        all_of(_RUNNING, it.sftp_reads(it.reset_line)), Outcome.DISCONNECTED, "read", doing=READ
    ),
}

GROUPS: dict[str, dict[str, Fault]] = {
    "Before the protocol": _BEFORE_SSH,
    "The key exchange": _KEY_EXCHANGE,
    "The login": _LOGIN_FAULTS,
    "The channel": _CHANNEL_FAULTS,
    "The command": _COMMAND_FAULTS,
    "SFTP": _SFTP_FAULTS,
}
"""The faults by what they disturb; what the server does is a name of its own in all of them."""

FAULTS = {name: fault for group in GROUPS.values() for name, fault in group.items()}

_HEAD = """# Faulty servers

The outcome of an iteration if the server is faulty. `tests/integration/worker/test_faulty_servers.py` plays every fault
with every client library: each iteration ends within its own time limit, is counted once, and leaves no connection,
file descriptor, greenlet or program behind. This page is made from the table of that test.

"The step" is the part in which the iteration fails. `openssh` and `mina-sshd`, whose parts cannot be separated, fail in
their sum (`command`, `sftpRead`). If a library reports less than others, the last column has its outcome and the
reason. [Steps and outcomes](steps-and-outcomes.md) says what each outcome means.
"""


def page() -> str:
    """Return the page of the reference."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    for title, group in GROUPS.items():
        yield f"## {title}\n"
        yield "| the server | outcome | the step | otherwise |"
        yield "|---|---|---|---|"
        alike: dict[tuple[str, str, str], list[str]] = {}
        for name, fault in group.items():
            others = "; ".join(f"`{library}`: {_told(other)}" for library, other in fault.otherwise.items())
            alike.setdefault((fault.outcome, _step(fault.part), others), []).append(name)
        for (outcome, step, others), names in alike.items():
            yield f"| {'; '.join(names)} | `{outcome}` | {step} | {others} |"
        yield ""


def _told(other: Otherwise) -> str:
    where = f" in {_step(other.part)}" if other.part else ""
    return f"`{other.outcome}`{where}, because {other.why}"


def _step(part: str) -> str:
    return part if part in ("", ANYWHERE) else f"`{part}`"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - for whoever writes the page again
