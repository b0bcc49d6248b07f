"""Files by OpenSSH's sftp and scp, each operation a program of its own on the login's connection.

A file to be sent is first written to the private directory, and a file to be read is first fetched into it.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import gevent
from sshload_contract.steps import OPENSSH_FILE_LIMIT_BYTES
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.by_parts import read_by_parts
from sshload_worker.clients.interface import Course
from sshload_worker.clients.openssh.log import sftp_failure
from sshload_worker.clients.openssh.master import Master
from sshload_worker.clients.openssh.process import Pipes, Process
from sshload_worker.clients.openssh.settings import SERVER, Directory
from sshload_worker.outcomes import StepFailure

_READ_BYTES = 262_144
_SIZE_WORD = 4  # the position of the size in a line of `ls -ln`


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
        code, said, wrong = self._run(["sftp", "-q", *self._sizes, *self._shared(), "-b", "-", SERVER], request)
        if code:
            raise self._failure() or sftp_failure(_last_line(wrong))
        return said.partition("\n")[2]  # the first line repeats the command

    def scp(self, arguments: list[str]) -> None:
        """Run scp; raises StepFailure."""
        code, _, wrong = self._run(["scp", "-q", "-O", *self._shared(), *arguments], "")
        if code:
            raise self._failure() or StepFailure(Outcome.SCP_FAILED, _last_line(wrong))

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

    def _run(self, command: list[str], said: str) -> tuple[int, str, str]:
        pipes = Pipes()
        try:
            try:
                self._running = Process(command, self._directory.environment, tuple(pipes.given()))
            finally:
                pipes.give_away()
            with suppress(BrokenPipeError):  # a program that has ended reports the reason itself
                pipes.stdin.write(said.encode())
            pipes.stdin.close()
            output = bytearray()
            while piece := pipes.stdout.read():
                output += piece
            self._running.ended.wait()
            pipes.await_stderr()
            return self._running.exit_code, output.decode("utf-8", "replace"), pipes.stderr.decode("utf-8", "replace")
        finally:
            pipes.close()

    def _failure(self) -> StepFailure | None:
        refusal = self._master.claim_refusal()
        if refusal is not None:
            return StepFailure(Outcome.CHANNEL_REFUSED, refusal)
        if self._master.has_ended():
            return StepFailure(Outcome.DISCONNECTED, "the connection ended")
        return None


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
        """Return the next piece, empty at the end."""
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

    def __init__(self, programs: FileTransfer) -> None:
        self._programs = programs

    def open_to_read(self, path: str) -> LocalCopy:
        """Fetch a file."""
        return open_download(
            self._programs, lambda here: self._programs.sftp(f"get -- {_escaped(path)} {_escaped(str(here))}\n")
        )

    def read_file(self, path: str, take: Callable[[bytes], object], course: Course) -> None:
        """Open a file, pass each piece of it to `take`, and close it."""
        read_by_parts(partial(self.open_to_read, path), take, course)

    def open_to_write(self, path: str) -> LocalCopy:
        """Open a local file for writing, which `close` sends."""
        return open_upload(
            self._programs, lambda here: self._programs.sftp(f"put -- {_escaped(str(here))} {_escaped(path)}\n")
        )

    def list_directory(self, path: str) -> int:
        """Return the number of a directory's entries, without `.` and `..`."""
        lines = self._programs.sftp(f"ls -1a -- {_listed(path)}\n").splitlines()
        return len([line for line in lines if line.rstrip("/").rpartition("/")[2] not in (".", "..")])

    def stat(self, path: str) -> int:
        """Return a file's size in bytes."""
        words = self._programs.sftp(f"ls -ln -- {_listed(path)}\n").split()
        return int(words[_SIZE_WORD]) if len(words) > _SIZE_WORD else 0

    def mkdir(self, path: str) -> None:
        """Make a directory."""
        self._programs.sftp(f"mkdir -- {_escaped(path)}\n")

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        self._programs.sftp(f"rmdir -- {_escaped(path)}\n")

    def rename(self, path: str, to: str) -> None:
        """Rename a file."""
        self._programs.sftp(f"rename -l -- {_escaped(path)} {_escaped(to)}\n")

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._programs.sftp(f"rm -- {_escaped(path)}\n")

    def close(self) -> None:
        """Do nothing: each operation has ended its own subsystem."""


def _escaped(path: str) -> str:
    """Return a path as one word of an sftp command, with the characters of patterns escaped.

    Within quotes sftp would escape patterns itself, but it escapes a backslash in a way that it does not undo.
    """
    return re.sub(r"([\s\\\"'*?\[#])", r"\\\1", path)


def _listed(path: str) -> str:
    """Return a path as one word for sftp's `ls`, where a brace is special too unless it is escaped within quotes."""
    return _escaped(path).replace("{", '"\\{"')


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "the program printed no message")
