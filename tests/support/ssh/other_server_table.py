"""The table of servers that are not OpenSSH: how each step ends there, by every library.

`python tests/support/ssh/other_server_table.py` prints docs/reference/other-servers.md.
"""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import other_servers as run
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
    SftpSetstatStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome

CONTENT = bytes(range(256)) * 1_200
MUCH_BYTES = 3_000_000
PROMPTING = """sh -c 'while printf "ready> " && read -r line; do echo "you said $line"; done'"""


KEEP_ALIVE = "keep-alive requests of a held session"
"""What is done besides, by the libraries that can ask for a reply."""


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

    def tidy(self) -> None:
        """Remove what a step has made if the next one, which was to remove it, could not."""
        shutil.rmtree(self.folder / "made", ignore_errors=True)


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
        "a shell that is told to exit": Doing((ShellStep("", "", "", "echo sum-$((40+2)); exit\n", "sum-42", 1),)),
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
        "sftpSetstat": Doing((SftpSetstatStep("", f"{at}/file", "0600"),)),
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
    """How an iteration ends otherwise, in one of several ways if it depends on what is noticed first, and why.

    If a step is given, it fails in this one.
    """

    outcomes: tuple[Outcome, ...]
    why: str
    step: str = ""


@dataclass(frozen=True)
class Other:
    """A server, and what ends otherwise there.

    It ends so for every library, for one of them in all that it does, or in one thing. Libraries that are left out do
    nothing there, each for a reason.
    """

    start: Start
    ends: Mapping[str, Ending] = field(default_factory=dict)
    by_library: Mapping[tuple[str, Library], Ending] = field(default_factory=dict)
    always: Mapping[Library, Ending] = field(default_factory=dict)
    left_out: Mapping[Library, str] = field(default_factory=dict)

    def ending(self, name: str, library: Library) -> Ending | None:
        """Return how an iteration of what is so named ends otherwise by this library, None if it does not."""
        return self.always.get(library) or self.by_library.get((name, library)) or self.ends.get(name)


def _for_each(names: Iterable[str], libraries: Iterable[Library], ending: Ending) -> dict[tuple[str, Library], Ending]:
    return {(name, library): ending for name in names for library in libraries}


_NO_COMMANDS = Ending((Outcome.EXEC_REJECTED,), "mod_sftp runs no commands")
_COMMANDS = (
    "a command",
    "a command with the exit code 3",
    "a command that fails",
    "a command that a signal kills",
    "a command with much output",
    "a command that closes its output first",
    "a shell",
    "a shell that is told to exit",
    "a command on a terminal",
    "gitUploadPack",
)
_SHELLS = ("a shell", "a command on a terminal")
_EXISTS = Ending((Outcome.SFTP_OTHER,), "MINA SSHD answers with status 11, of version 6 of the protocol")
_SHELL_CODE = Ending((Outcome.EXIT_CODE,), "MINA SSHD runs a program of Java's, which has exit codes only")
_NEW_VERSION = Ending((Outcome.SFTP_OTHER,), "MINA SSHD asks for version 6 of the protocol, whose status this is, 11")
_NO_FORWARDS = Ending((Outcome.CHANNEL_REFUSED,), "mod_sftp has no such channels, and ends the connection besides")
_KEEPS_OPEN = Ending(
    (Outcome.STEP_TIMEOUT,),
    "Dropbear answers the close of a channel (RFC 4254 section 5.3) only once the program has ended, and does not hang"
    " up its terminal: let what the step sends end the program",
    step="close",
)
_NO_STATUS = Ending(
    (Outcome.OK, Outcome.NO_EXIT_STATUS),
    "MINA SSHD ends the output of its `scp` before it tells the exit status, and tells none if the client, which has"
    " nothing more to say, has closed the channel in between",
)
_NO_REPLY = Ending(
    (Outcome.UNFINISHED,),
    "TinySSH answers the request by `SSH_MSG_UNIMPLEMENTED`, which is for messages that a side does not know (RFC 4253"
    " section 11.4), and not by a refusal (RFC 4254 section 4): leave `keepAlive` out",
)
_NO_CIPHER = Ending(
    (Outcome.KEX_FAILED,), "TinySSH has one cipher, `chacha20-poly1305@openssh.com`, which paramiko lacks"
)
_TAKES_ONE_PACKET = (
    "TinySSH takes one packet of those that arrive together, and the next one when more arrives; asyncssh sends an"
    " empty `SSH_MSG_IGNORE` before each packet, so that now and then it waits for an answer for ever"
)
_ENDS_CONNECTION = Ending(
    (Outcome.OK, Outcome.DISCONNECTED),
    "TinySSH answers the close of a channel by the end of the connection, unless the program has ended before",
)
_ONE_CHANNEL = Ending(
    (Outcome.CHANNEL_REFUSED, Outcome.DISCONNECTED),
    "TinySSH has one channel for each connection, which ends with it, and this needs two: one is to verify",
)
_SFTP_WRITES = ("sftpWrite", "sftpWrite of an empty file", "other requests of SFTP")
_SFTP = ("sftpRead", "sftpRead of an empty file", "sftpList", "sftpStat", "sftpSetstat", *_SFTP_WRITES)
_SCP_WRITES = ("scpWrite", "scpWrite of an empty file")
_SSH2 = (Library.SSH2_PYTHON,)
_OPENSSH = (Library.OPENSSH,)

OTHERS: dict[str, Other] = {
    "ProFTPD (mod_sftp)": Other(
        run.proftpd,
        {**dict.fromkeys(_COMMANDS, _NO_COMMANDS), "forward": _NO_FORWARDS},
        {("sftpMkdir of a directory that is there", Library.MINA_SSHD): _NEW_VERSION},
    ),
    "Dropbear": Other(
        run.dropbear,
        by_library=_for_each(_SHELLS, (Library.SSH2_PYTHON, Library.PARAMIKO, Library.ASYNCSSH), _KEEPS_OPEN),
    ),
    "TinySSH": Other(
        run.tinyssh,
        {KEEP_ALIVE: _NO_REPLY, "forward": Ending((Outcome.CHANNEL_REFUSED,), "TinySSH has no forwards")},
        {
            **_for_each((*_SHELLS, "a shell that is told to exit", *_SFTP), _SSH2, _ENDS_CONNECTION),
            **_for_each(_SCP_WRITES, _SSH2, _ONE_CHANNEL),
            **_for_each((*_SFTP_WRITES, *_SCP_WRITES), _OPENSSH, _ONE_CHANNEL),
        },
        {Library.PARAMIKO: _NO_CIPHER},
        {Library.ASYNCSSH: _TAKES_ONE_PACKET},
    ),
    "asyncssh": Other(run.asyncssh_server),
    "Go (x/crypto/ssh, pkg/sftp)": Other(run.go_server),
    "Apache MINA SSHD": Other(
        run.mina_server,
        {"sftpMkdir of a directory that is there": _EXISTS, "a command that a signal kills": _SHELL_CODE},
        _for_each(_SCP_WRITES, _OPENSSH, _NO_STATUS),
    ),
}

_HEAD = """# Servers that are not OpenSSH

The outcome of each step at other servers. `make test-all LAYERS=integration` plays every cell with every client
library that has the step (`tests/integration/worker/test_other_servers.py`). This page is made from the table of that
test.

"Expected" is the outcome at a server that has all that the step needs. Below, each server has what ends otherwise
there, and why: of the libraries that are named, or of all if none is. All else ends as expected. [Faulty
servers](faulty-servers.md) has servers that break the protocol.
"""


def page() -> str:
    """Return the page of the reference."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    done = {**doings(Place(Path("/"), 0, 0)), KEEP_ALIVE: Doing(())}
    yield _HEAD
    yield "| what is done | expected |"
    yield "|---|---|"
    for title, doing in done.items():
        yield f"| {title} | `{doing.outcome}` |"
    yield ""
    for name, other in OTHERS.items():
        yield f"## {name}\n"
        for library, why in other.left_out.items():
            yield f"`{library}` is not played: {why}.\n"
        for library, ending in other.always.items():
            yield f"`{library}`: {_told(ending)}, whatever is done.\n"
        otherwise: dict[str, list[str]] = {}
        for title in done:
            otherwise.setdefault(_otherwise(title, other), []).append(title)
        if set(otherwise) == {""}:
            yield "Each outcome is the expected one.\n"
            continue
        yield "| what is done | otherwise |"
        yield "|---|---|"
        for told, titles in otherwise.items():
            if told:
                yield f"| {'; '.join(titles)} | {told} |"
        yield ""


def _otherwise(title: str, other: Other) -> str:
    told = [_told(other.ends[title])] if title in other.ends else []
    libraries: dict[str, list[str]] = {}
    for (named, library), ending in other.by_library.items():
        if named == title:
            libraries.setdefault(_told(ending), []).append(f"`{library}`")
    return "; ".join([*told, *(f"{', '.join(named)}: {said}" for said, named in libraries.items())])


def _told(ending: Ending) -> str:
    where = f" in `{ending.step}`" if ending.step else ""
    return f"{' or '.join(f'`{outcome}`' for outcome in ending.outcomes)}{where}, because {ending.why}"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - for whoever writes the page again
