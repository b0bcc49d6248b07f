"""Files by OpenSSH's sftp and scp, each operation a program of its own on the login's connection.

A file to be sent is first written to the private directory, and a file to be read is first fetched into it. What a
server sends is limited: the memory of a program, and the disk that the fetched files of a login take together.
"""

import errno
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import gevent
from sshload_contract.steps import OPENSSH_FILE_LIMIT_BYTES
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.by_parts import read_file_by_parts
from sshload_worker.clients.file_protocols import NO_SCP_STATUS
from sshload_worker.clients.interface import SftpRequest, SftpType
from sshload_worker.clients.openssh.log import sftp_failure
from sshload_worker.clients.openssh.master import Master
from sshload_worker.clients.openssh.process import Pipes, Process
from sshload_worker.clients.openssh.settings import SERVER, Directory
from sshload_worker.outcomes import StepFailure

_READ_BYTES = 262_144
_SIZE_WORD = 4  # the position of the size in a line of `ls -ln`
_MEMORY_LIMIT_BYTES = 256 * 2**20  # of which sftp takes 20 MB for 60,000 names in a directory
_DISK_CHECK_INTERVAL_S = 0.2
_ENTRY = re.compile(rb"\S{10,} +\S+ +\S+ +\S+ +\d+ \w{3} [ \d]\d +[\d:]+ (.*)")
"""A line of `ls -ln`. A name may contain line ends, so what does not look like this belongs to the line before."""

_COMMANDS: Final[Mapping[SftpType, str]] = {
    SftpType.REMOVE: "rm -- {}",
    SftpType.MKDIR: "mkdir -- {}",
    SftpType.RMDIR: "rmdir -- {}",
    SftpType.RENAME: "rename -l -- {} {}",
    SftpType.SYMLINK: "ln -s -- {} {}",
    SftpType.SETSTAT: "chmod -- {2:o} {0}",
}
"""sftp's command for each request, with the request's fields."""

_OWN_ENTRIES = (b".", b"..")
_NO_ANSWERS = (Outcome.SFTP_CONNECTION_LOST, Outcome.SFTP_NO_CONNECTION, Outcome.SFTP_OTHER)
"""What sftp says if the connection ends in place of an answer."""

_SCP_LOST = ("lost connection", "Connection closed", "Connection to ")
"""How scp's last line begins then."""

_NO_ROOM = (os.strerror(errno.EFBIG), os.strerror(errno.ENOSPC))


class FileTransfer:
    """Runs sftp and scp on the connection of a login."""

    def __init__(self, master: Master, directory: Directory, sizes: list[str]) -> None:
        """Keep the login, and sftp's options for sizes."""
        self._master = master
        self._directory = directory
        self._sizes = sizes
        self._running: Process | None = None

    def local_file(self) -> Path:
        """Return the path of a new local file."""
        return Path(self._directory.new_name("f"))

    def sftp(self, request: str) -> str:
        """Run sftp with one of its commands, and return its output; raises StepFailure."""
        said = bytearray()
        self.sftp_output(request, said.extend)
        return said.decode("utf-8", "replace").partition("\n")[2]  # the first line repeats the command

    def sftp_output(self, request: str, take: Callable[[bytes], object]) -> None:
        """Run sftp with one of its commands, and pass its output to `take`; raises StepFailure."""
        command = ["sftp", "-q", *self._sizes, *self._shared(), "-b", "-", SERVER]
        code, wrong = self._run(command, request, take)
        if code:
            failure = sftp_failure(_last_line(wrong) or f"sftp ended with exit code {code}, and printed no message")
            raise self._failure(wrong, failure, is_answer=failure.outcome not in _NO_ANSWERS)

    def scp(self, arguments: list[str]) -> None:
        """Run scp; raises StepFailure."""
        statuses = self._master.exit_statuses()
        code, wrong = self._run(["scp", "-q", "-O", *self._shared(), *arguments], "", lambda _: None)
        if not code:
            return
        said = _last_line(wrong)
        failure = StepFailure(
            Outcome.SCP_FAILED, said or f"the server's scp printed no message, and scp ended with {code}"
        )
        if not said and self._master.exit_statuses() == statuses:
            failure = StepFailure(Outcome.NO_EXIT_STATUS, NO_SCP_STATUS)
        raise self._failure(wrong, failure, is_answer=bool(said) and not said.startswith(_SCP_LOST))

    def remote(self, path: str) -> str:
        """Return scp's argument for a file on the server, with a shell's special characters escaped, as scp expects."""
        return f"{SERVER}:" + re.sub(r"([^\w@%+=:,./-])", r"\\\1", path)

    def close(self) -> None:
        """Kill the running program, if any; never waits."""
        if self._running is not None:
            self._running.kill()

    def _shared(self) -> list[str]:
        alone = ["-o", "LogLevel=ERROR", "-o", "ProxyCommand=false"]
        return ["-F", self._directory.config, *alone, "-o", f"ControlPath={self._master.socket_path}"]

    def _run(self, command: list[str], said: str, take: Callable[[bytes], object]) -> tuple[int, str]:
        """Run a program, and return its exit code and the beginning of its stderr."""
        pipes = Pipes()
        watcher = gevent.spawn(self._watch_disk)
        try:
            try:
                self._running = Process(command, self._directory.environment, tuple(pipes.given()))
                self._running.limit(_MEMORY_LIMIT_BYTES, OPENSSH_FILE_LIMIT_BYTES)
            finally:
                pipes.give_away()
            with suppress(BrokenPipeError):  # a program that has ended reports the reason itself
                pipes.stdin.write(said.encode())
            pipes.stdin.close()
            while piece := pipes.stdout.read():
                take(piece)
            self._running.ended.wait()
            pipes.await_stderr()
            return self._running.exit_code, pipes.stderr.decode("utf-8", "replace")
        finally:
            watcher.kill(block=False)
            pipes.close()

    def _watch_disk(self) -> None:
        """Kill the running program if the local files of this login take more than the worker keeps."""
        while True:
            gevent.sleep(_DISK_CHECK_INTERVAL_S)
            if self._running is not None and self._takes_too_much():
                self._running.kill()

    def _is_about_disk(self, line: str) -> bool:
        """Return whether a program could not write a local file, whose name the server does not know."""
        return str(self._directory.path) in line and line.endswith(_NO_ROOM)

    def _takes_too_much(self) -> bool:
        return self._directory.local_bytes() >= OPENSSH_FILE_LIMIT_BYTES

    def _failure(self, wrong: str, failure: StepFailure, *, is_answer: bool) -> StepFailure:
        """Return `failure` unless it has a cause outside of the protocol of files.

        What the server answered there counts, even if it ended the connection after that.
        """
        if self._takes_too_much() or any(self._is_about_disk(line) for line in wrong.splitlines()):
            most = f"the files of a login take at most {OPENSSH_FILE_LIMIT_BYTES} bytes of the worker's disk"
            return StepFailure(Outcome.GENERATOR_FAULT, f"with OpenSSH's programs, {most}, and the server sends more")
        refusal = self._master.claim_refusal()
        if refusal is not None:
            return StepFailure(Outcome.CHANNEL_REFUSED, refusal)
        if not is_answer and self._master.has_ended():
            return StepFailure(Outcome.DISCONNECTED, "the connection ended")
        return failure


class LocalCopy:
    """A local copy of a remote file (clients.interface.RemoteFile). `close` calls `finish`."""

    def __init__(self, path: Path, flags: int, finish: Callable[[], object]) -> None:
        self._path = path
        self._file = os.open(path, flags | os.O_CLOEXEC, 0o600)
        self._open = True
        self._size_bytes = 0
        self._finish = finish

    def __del__(self) -> None:
        self._drop()

    def read(self) -> bytes:
        gevent.sleep(0)  # reading from a disk never lets other greenlets run
        return os.read(self._file, _READ_BYTES)

    def write(self, data: bytes) -> None:
        """Keep all of `data`, which `close` sends. Raises StepFailure if it is more than the worker keeps."""
        self._size_bytes += len(data)
        if self._size_bytes > OPENSSH_FILE_LIMIT_BYTES:
            most = f"a file has at most {OPENSSH_FILE_LIMIT_BYTES} bytes"
            raise StepFailure(Outcome.GENERATOR_FAULT, f"with OpenSSH's programs, {most}")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        gevent.sleep(0)  # writing to a disk never lets other greenlets run

    def close(self) -> None:
        """Send what was written, and delete the local file."""
        try:
            self._finish()
        finally:
            self._drop()

    def _drop(self) -> None:
        if self._open:
            self._open = False
            os.close(self._file)
            self._path.unlink(missing_ok=True)


def open_download(programs: FileTransfer, copy: Callable[[Path], object]) -> LocalCopy:
    """Return a file of the server, which `copy` first copies to a local path."""
    path = programs.local_file()
    try:
        copy(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return LocalCopy(path, os.O_RDONLY, lambda: None)


def open_upload(programs: FileTransfer, copy: Callable[[Path], object]) -> LocalCopy:
    """Return a file that `copy` copies to the server when it is closed."""
    path = programs.local_file()
    return LocalCopy(path, os.O_WRONLY | os.O_CREAT, lambda: copy(path))


class OpenSSHSftp:
    """An SFTP client that opens a subsystem for each operation (clients.interface.Sftp)."""

    read_file = read_file_by_parts

    def __init__(self, programs: FileTransfer) -> None:
        self._programs = programs

    def open_to_read(self, path: str) -> LocalCopy:
        """Fetch a file."""
        return open_download(
            self._programs, lambda here: self._programs.sftp(f"get -- {_escaped(path)} {_escaped(str(here))}\n")
        )

    def open_to_write(self, path: str) -> LocalCopy:
        """Open a local file for writing, which `close` sends."""
        return open_upload(
            self._programs, lambda here: self._programs.sftp(f"put -- {_escaped(str(here))} {_escaped(path)}\n")
        )

    def list_directory(self, path: str) -> int:
        """Return the number of a directory's entries, without `.` and `..`."""
        entries = _Entries()
        self._programs.sftp_output(f"ls -lna -- {_listed(path)}\n", entries.take)
        return entries.count

    def stat(self, path: str) -> int | None:
        words = self._programs.sftp(f"ls -ln -- {_listed(path)}\n").split()
        return int(words[_SIZE_WORD]) if len(words) > _SIZE_WORD else None

    def change(self, request: SftpRequest) -> None:
        fields = (_escaped(field) if isinstance(field, str) else field for field in request.fields)
        self._programs.sftp(_COMMANDS[request.kind].format(*fields) + "\n")

    def close(self) -> None:
        """Do nothing: each operation has ended its own subsystem."""


class _Entries:
    """Counts the entries of a directory in the output of `ls -lna`, without `.` and `..`."""

    def __init__(self) -> None:
        self.count = 0
        self._rest = b""

    def take(self, piece: bytes) -> None:
        """Add the next piece of output."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            entry = _ENTRY.match(line)
            self.count += entry is not None and entry[1].rpartition(b"/")[2] not in _OWN_ENTRIES


def _escaped(path: str) -> str:
    """Return a path as one word of an sftp command, with the characters of patterns escaped.

    Within quotes sftp would escape patterns itself, but it escapes a backslash in a way that it does not undo.
    """
    return re.sub(r"([\s\\\"'*?\[#])", r"\\\1", path)


def _listed(path: str) -> str:
    """Return a path as one word for sftp's `ls`, where a brace is special too unless it is escaped within quotes."""
    return _escaped(path).replace("{", '"\\{"')


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
