"""The table of servers that are not OpenSSH: how each step ends there, by every library.

`python tests/support/ssh/other_server_table.py` prints docs/reference/other-servers.md.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import other_servers as run
from client_kinds import Kind
from other_servers import Start
from sshload_contract.client import Library
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome

CONTENT = bytes(range(256)) * 1_200
MUCH_BYTES = 3_000_000
PROMPTING = """sh -c 'while printf "ready> " && read -r line; do echo "you said $line"; done'"""


@dataclass(frozen=True)
class Place:
    """What the steps use: a folder of the server's machine, a port that answers, and one at which nobody does."""

    folder: Path
    answering_port: int
    silent_port: int

    def prepare(self) -> None:
        """Make the files."""
        (self.folder / "file").write_bytes(CONTENT)
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "three").mkdir()
        for name in ("one", "two words", ".hidden"):
            (self.folder / "three" / name).touch()


@dataclass(frozen=True)
class Doing:
    """Steps, and the outcome of the iteration at a server that has all that they need."""

    steps: tuple[ScenarioStep, ...]
    outcome: Outcome = Outcome.OK


def doings(place: Place) -> dict[str, Doing]:
    """Return all that is done at each server, each by an iteration with a login of its own."""
    at = place.folder
    sha256 = hashlib.sha256(CONTENT).hexdigest()

    def command(text: str, code: int = 0, stdout: str = "") -> tuple[ScenarioStep]:
        return (ExecStep("", text, code, stdout),)

    return {
        "a command": Doing(command("echo here", stdout="^here$")),
        "a command with the exit code 3": Doing(command("exit 3", 3)),
        "a command that fails": Doing(command("echo words >&2; exit 4"), Outcome.EXIT_CODE),
        "a command that a signal kills": Doing(command("kill -9 $$"), Outcome.KILLED_BY_SIGNAL),
        "a command with much output": Doing(command(f"head -c {MUCH_BYTES} /dev/zero")),
        "a command that closes its output first": Doing(command("exec >&- 2>&-; sleep 0.3")),
        "a shell": Doing((ShellStep("", "", "", "echo sum-$((40+2))\n", "sum-42", 1),)),
        "a command on a terminal": Doing((ShellStep("", PROMPTING, "ready> ", "x\n", "you said x", 1),)),
        "sftpRead": Doing((SftpReadStep("", f"{at}/file", len(CONTENT), sha256),)),
        "sftpRead of an empty file": Doing((SftpReadStep("", f"{at}/empty", 0, ""),)),
        "sftpRead of no file": Doing((SftpReadStep("", f"{at}/none", None, ""),), Outcome.SFTP_NO_SUCH_FILE),
        "sftpWrite": Doing((SftpWriteStep("", f"{at}/written", 300_000, Verify.CONTENT),)),
        "sftpWrite of an empty file": Doing((SftpWriteStep("", f"{at}/written-empty", 0, Verify.SIZE),)),
        "sftpWrite into no directory": Doing(
            (SftpWriteStep("", f"{at}/none/file", 10, Verify.NONE),), Outcome.SFTP_NO_SUCH_FILE
        ),
        "sftpList": Doing((SftpListStep("", f"{at}/three", 3),)),
        "sftpList of no directory": Doing((SftpListStep("", f"{at}/none", None),), Outcome.SFTP_NO_SUCH_FILE),
        "sftpStat": Doing((SftpStatStep("", f"{at}/file"),)),
        "sftpStat of no file": Doing((SftpStatStep("", f"{at}/none"),), Outcome.SFTP_NO_SUCH_FILE),
        "other requests of SFTP": Doing(
            (
                SftpMkdirStep("made", f"{at}/made"),
                SftpWriteStep("written", f"{at}/made/file", 10, Verify.SIZE),
                SftpRenameStep("renamed", f"{at}/made/file", f"{at}/made/other"),
                SftpRemoveStep("removed", f"{at}/made/other"),
                SftpRmdirStep("gone", f"{at}/made"),
            )
        ),
        "sftpMkdir of a directory that is there": Doing((SftpMkdirStep("", f"{at}/three"),), Outcome.SFTP_FAILURE),
        "scpRead": Doing((ScpReadStep("", f"{at}/file", len(CONTENT), sha256),)),
        "scpRead of an empty file": Doing((ScpReadStep("", f"{at}/empty", 0, ""),)),
        "scpRead of no file": Doing((ScpReadStep("", f"{at}/none", None, ""),), Outcome.SCP_FAILED),
        "scpWrite": Doing((ScpWriteStep("", f"{at}/sent", 300_000, Verify.CONTENT),)),
        "scpWrite of an empty file": Doing((ScpWriteStep("", f"{at}/sent-empty", 0, Verify.SIZE),)),
        "gitUploadPack": Doing((GitUploadPackStep("", f"{at}/repository"),)),
        "forward": Doing((ForwardStep("", "127.0.0.1", place.answering_port, "hello", "you said hello"),)),
        "forward to a port at which nobody listens": Doing(
            (ForwardStep("", "127.0.0.1", place.silent_port, "", ""),), Outcome.CHANNEL_REFUSED
        ),
    }


@dataclass(frozen=True)
class Ending:
    """How an iteration ends otherwise, and why."""

    outcome: Outcome
    why: str


@dataclass(frozen=True)
class Other:
    """A server, what ends otherwise there, for every library or for those that are named, and what is not played."""

    start: Start
    ends: Mapping[str, Ending] = field(default_factory=dict)
    by_library: Mapping[tuple[str, Library], Ending] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def outcome(self, name: str, doing: Doing, kind: Kind) -> Outcome:
        """Return how an iteration of `doing` ends by this kind of client."""
        ending = self.by_library.get((name, kind.library)) or self.ends.get(name)
        return doing.outcome if ending is None else ending.outcome


_NO_COMMANDS = Ending(Outcome.EXEC_REJECTED, "mod_sftp runs no commands")
_COMMANDS = (
    "a command",
    "a command with the exit code 3",
    "a command that fails",
    "a command that a signal kills",
    "a command with much output",
    "a command that closes its output first",
    "a shell",
    "a command on a terminal",
    "gitUploadPack",
)
_EXISTS = Ending(Outcome.SFTP_OTHER, "MINA SSHD answers with status 11, of version 6 of the protocol")
_SHELL_CODE = Ending(Outcome.EXIT_CODE, "MINA SSHD runs a program of Java's, which has exit codes only")
_NEW_VERSION = Ending(Outcome.SFTP_OTHER, "MINA SSHD asks for version 6 of the protocol, whose status this is, 11")
_WITHOUT_TERMINAL = Ending(Outcome.OUTPUT_MISMATCH, "`ssh` prints why it has no terminal as output")
_DISCONNECTS = "it refuses the channel and ends the connection: `channelRefused` or `disconnected`, what is read first"
_KEEPS_OPEN = (
    "it answers the close of a channel (RFC 4254 section 5.3) only once the program has ended, and hangs up no terminal"
    " before that, so that the step ends in `stepTimeout` in its `close`, but by `openssh`, which waits for no answer"
)
_SCP_ENDS = "`scp` of `openssh` sometimes fails there without a word, on a busy machine; the cause is not known"

OTHERS: dict[str, Other] = {
    "ProFTPD (mod_sftp)": Other(
        run.proftpd,
        dict.fromkeys(_COMMANDS, _NO_COMMANDS),
        {
            ("a shell", Library.OPENSSH): _WITHOUT_TERMINAL,
            ("sftpMkdir of a directory that is there", Library.MINA_SSHD): _NEW_VERSION,
        },
        {"forward": _DISCONNECTS, "forward to a port at which nobody listens": _DISCONNECTS},
    ),
    "Dropbear": Other(run.dropbear, left_out={"a shell": _KEEPS_OPEN, "a command on a terminal": _KEEPS_OPEN}),
    "Go (x/crypto/ssh, pkg/sftp)": Other(run.go_server),
    "Apache MINA SSHD": Other(
        run.mina_server,
        {"sftpMkdir of a directory that is there": _EXISTS, "a command that a signal kills": _SHELL_CODE},
        left_out={"scpWrite": _SCP_ENDS, "scpWrite of an empty file": _SCP_ENDS},
    ),
}

_HEAD = """# Servers that are not OpenSSH

The outcome of each step at other servers. `tests/integration/worker/test_other_servers.py` plays every cell with every
client library that has the step.
This page is made from the table of that test.

"Expected" is the outcome at a server that has all that the step needs. [Faulty servers](faulty-servers.md) has servers
that break the protocol.
"""
_FOOT = """## Not played

- TinySSH, which serves one channel per connection and has no cipher in common with paramiko.
- The server of asyncssh, in which a program of its user answers each step.
"""


def page() -> str:
    """Return the page of the reference."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    for name, other in OTHERS.items():
        yield f"## {name}\n"
        yield "| what is done | expected | otherwise |"
        yield "|---|---|---|"
        for title, doing in doings(Place(Path("/"), 0, 0)).items():
            yield f"| {title} | `{doing.outcome}` | {_otherwise(title, other)} |"
        yield ""
    yield _FOOT


def _otherwise(title: str, other: Other) -> str:
    if title in other.left_out:
        return f"not played: {other.left_out[title]}"
    told = [_told(other.ends[title])] if title in other.ends else []
    told += [f"`{library}`: {_told(end)}" for (named, library), end in other.by_library.items() if named == title]
    return "; ".join(told)


def _told(ending: Ending) -> str:
    return f"`{ending.outcome}`, because {ending.why}"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - for whoever writes the page again
