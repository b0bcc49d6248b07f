"""The step that runs rsync: the worker's own program, with a channel of the session as its remote shell.

rsync starts a remote shell (`-e`), and exchanges data through the shell's stdin and stdout with the rsync that the
shell runs on the server. Here the shell is a small script, which passes the command line and then rsync's data to the
worker, and the server's data from the worker to rsync. So it works with every client library, and rsync has no
credentials.

The server may send anything. rsync writes the files that it receives to a batch file, which is /dev/null, so nothing is
stored on the worker's disk, which is memory. rsync's own memory is limited, and the step's timeout limits its time.
"""

import atexit
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from shutil import rmtree
from signal import SIGKILL
from tempfile import mkdtemp

import gevent
from sshload_contract.steps import RsyncDownload, RsyncStep, RsyncUpload
from sshload_contract.vocabulary import Outcome, Timing, measured_step

from sshload_worker.clients.interface import Channel, CommandEnd
from sshload_worker.clients.openssh.process import PipeEnd, Pipes, Process
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.command import check_end
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import pieces, raise_mismatch

# rsync's remote shell: it writes the command line and a zero byte, and then rsync's data, to descriptor 4, and passes
# the data from descriptor 3 to rsync. Each `cat` has only the descriptors that it uses, so that its end is noticed.
_SHELL = """/bin/sh -c 'shift; printf "%s\\0" "$*" >&4; exec 5<&0; cat <&5 >&4 3<&- & exec cat <&3 4>&- 5<&-' sh"""
_SERVER = "server"
_COMMAND_LIMIT_BYTES = 65_536
_STATISTICS_BYTES = 4_096
_MEMORY_LIMIT_BYTES = 256 * 2**20
_FILE_LIMIT_BYTES = 65_536
_FILE_TIME_S = 1_500_000_000
_FILES = re.compile(r"^Number of regular files transferred: ([0-9]{1,19})$", re.MULTILINE)
_SIZE = re.compile(r"^Total transferred file size: ([0-9]{1,19}) bytes$", re.MULTILINE)
_OF_THE_STREAM = frozenset((2, 5, 10, 12))
"""Exit codes of rsync: the server's output is not the rsync protocol, or ends early."""

_OUT_OF_MEMORY = 22

_OF_THE_WORKER = frozenset((1, 13, 14, 21))
"""Exit codes of rsync that only the worker can have caused, if the server has not sent anything."""


def prepare_rsync(step: RsyncStep) -> None:
    """Make the files that the step sends, because this takes too long for a step."""
    if isinstance(step.transfer, RsyncUpload):
        _made_files(step.transfer.files, step.transfer.size_bytes)


def run_rsync(step: RsyncStep, run: StepRun) -> None:
    """Run rsync; raises StepFailure if the rsync of either side fails, or the result is not as expected."""
    measured, arguments = measured_step(step.name, step.kind), _arguments(step, run)
    run.clock.timed(measured, partial(_rsync, step, run, arguments, partial(run.clock.moved, measured)))


def _rsync(step: RsyncStep, run: StepRun, arguments: list[str], moved: Callable[[int], None]) -> None:
    with run.channel_limit():
        channel = run.time_part(step.name, Timing.CHANNEL_OPEN, run.connection.open_channel)
    with run.step_limit(step.kind), _program(arguments) as rsync:
        run.time_part(step.name, Timing.EXEC, partial(channel.execute, rsync.command()))
        run.time_part(step.name, Timing.TRANSFER, partial(rsync.carry, channel, moved))
        end = run.time_part(step.name, Timing.CLOSE, channel.close)
    _check(rsync, end)
    if isinstance(step.transfer, RsyncDownload):
        raise_mismatch(_mismatch(step.transfer, rsync.output.decode("utf-8", "replace")))


def _arguments(step: RsyncStep, run: StepRun) -> list[str]:
    transfer = step.transfer
    shared = ["--recursive", "--times", "-s", "--blocking-io", "--stats", "--no-human-readable", f"--rsh={_SHELL}"]
    path = run.fill_in(transfer.path)
    # A second colon after the first would mean a module of an rsync daemon.
    remote = f"{_SERVER}:{'./' if path.startswith(':') else ''}{path}"
    compressed = ["--compress"] if step.compress else []
    if isinstance(transfer, RsyncDownload):
        batch = f"--only-write-batch={_folder() / 'batch'}"
        return [*shared, *compressed, batch, remote, f"{_folder() / 'empty'}/"]
    deleted = ["--delete"] if transfer.delete else []
    return [*shared, *compressed, *deleted, f"{_made_files(transfer.files, transfer.size_bytes)}/", remote]


class _Rsync:
    """A running rsync. `output` is the end of its stdout, `has_received` whether it was passed data of the server."""

    def __init__(self, arguments: list[str]) -> None:
        self.output = b""
        self._first = b""
        self._server_ended = False
        self.has_received = False
        self._pipes = Pipes()
        self._to_shell = PipeEnd(reading=False)
        self._from_shell = PipeEnd(reading=True)
        environment = {"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath), "HOME": str(_folder())}
        try:
            given = (*self._pipes.given(), self._to_shell.given, self._from_shell.given)
            self._process = Process(["rsync", *arguments], environment, given)
        except BaseException:
            self._close()
            raise
        for end in (self._pipes, self._to_shell, self._from_shell):
            end.give_away()
        self._process.limit(_MEMORY_LIMIT_BYTES, _FILE_LIMIT_BYTES)
        self._pipes.stdin.close()
        self._listener = gevent.spawn(self._listen)

    @property
    def exit_code(self) -> int:
        """Its exit code, after `carry` has returned."""
        return self._process.exit_code

    @property
    def signal(self) -> int:
        """The signal that ended it, 0 if none did."""
        return self._process.signal

    @property
    def stderr(self) -> bytes:
        """The beginning of its stderr."""
        return self._pipes.stderr

    def command(self) -> str:
        """Return the command that it wants to run on the server; raises StepFailure if it ends before."""
        data = b""
        while b"\0" not in data:
            piece = self._from_shell.read()
            if not piece or len(data) > _COMMAND_LIMIT_BYTES:
                self._await_end()
                raise StepFailure(Outcome.GENERATOR_FAULT, f"rsync did not start: {_first_line(self.stderr)}")
            data += piece
        command, _, self._first = data.partition(b"\0")
        return command.decode()

    def carry(self, channel: Channel, moved: Callable[[int], None]) -> None:
        """Carry data between rsync and the server until both have ended; pass the number of bytes of each piece on."""
        sender = gevent.spawn(self._send, channel, moved)
        try:
            self._receive(channel, moved)
            self._to_shell.close()
            self._await_end()
            sender.get()
        finally:
            sender.kill(block=False)

    def _send(self, channel: Channel, moved: Callable[[int], None]) -> None:
        piece = self._first or self._from_shell.read()
        while piece:
            channel.write(piece)
            moved(len(piece))
            piece = self._from_shell.read()
        if not self._server_ended:
            channel.send_end()

    def _receive(self, channel: Channel, moved: Callable[[int], None]) -> None:
        while piece := channel.read():
            moved(len(piece))
            self.has_received = True
            try:
                self._to_shell.write(piece)
            except BrokenPipeError:  # rsync has ended; the rest of the server's data is dropped
                continue
        self._server_ended = True

    def _listen(self) -> None:
        with suppress(gevent.GreenletExit):  # kept by a greenlet, it would keep all of this
            while piece := self._pipes.stdout.read():
                self.output = (self.output + piece)[-_STATISTICS_BYTES:]

    def _await_end(self) -> None:
        self._process.ended.wait()
        self._listener.join()
        self._pipes.await_stderr()

    def end(self) -> None:
        """Kill it and its shell, if it has not ended. Never waits."""
        self._process.kill()
        self._listener.kill(block=False)
        self._close()

    def _close(self) -> None:
        for end in (self._pipes, self._to_shell, self._from_shell):
            end.close()


@contextmanager
def _program(arguments: list[str]) -> Iterator[_Rsync]:
    rsync = _Rsync(arguments)
    try:
        yield rsync
    finally:
        rsync.end()


def _check(rsync: _Rsync, end: CommandEnd) -> None:
    """Raise StepFailure if either side failed, with the outcome of the side that caused it."""
    code, message = rsync.exit_code, _first_line(rsync.stderr)
    if code == 0 or end.signal or end.exit_code is None:
        check_end(end, 0)
        return
    # A server can tell rsync with which code to exit, and can crash it, as soon as rsync has received data.
    if rsync.signal == SIGKILL or (code in _OF_THE_WORKER and not rsync.has_received):
        raise StepFailure(Outcome.GENERATOR_FAULT, f"the worker's rsync ended with {code}: {message}")
    if code == _OUT_OF_MEMORY:
        limit = f"{_MEMORY_LIMIT_BYTES // 2**20} MiB"
        raise StepFailure(
            Outcome.OUTPUT_MISMATCH, f"rsync needs more than {limit} of memory for the server's output: {message}"
        )
    if end.exit_code == 0 and code in _OF_THE_STREAM:
        raise StepFailure(Outcome.OUTPUT_MISMATCH, f"the server's output is not rsync's protocol: {message}")
    reason = _first_line(end.stderr) or message
    raise StepFailure(Outcome.EXIT_CODE, f"exit code {end.exit_code or code}: {reason}")


def _first_line(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip().partition("\n")[0]


def _mismatch(expected: RsyncDownload, output: str) -> str:
    """Return the difference from the expected result, "" if there is none."""
    for what, pattern, wanted in (("files", _FILES, expected.expect_files), ("bytes", _SIZE, expected.expect_bytes)):
        found = pattern.search(output)
        count = int(found[1]) if found is not None else None
        if wanted is not None and count != wanted:
            return f"{'an unknown number of' if count is None else count} {what}, expected {wanted}"
    return ""


@cache
def _folder() -> Path:
    """Return this process's directory of files for rsync, which is made when it is first used."""
    folder = Path(mkdtemp(prefix="sshload-rsync-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    (folder / "batch").symlink_to(os.devnull)
    (folder / "empty").mkdir()
    return folder


@cache
def _made_files(files: int, size_bytes: int) -> Path:
    """Return a directory with `files` files of this size: hard links to one file, so that they take its size once.

    Their modification time is always the same, so that the files of all workers are identical.
    """
    made = _folder() / f"{files}-{size_bytes}"
    made.mkdir()
    first = made / "0"
    with first.open("wb") as file:
        file.writelines(pieces(size_bytes))
    os.utime(first, (_FILE_TIME_S, _FILE_TIME_S))
    for number in range(1, files):
        (made / str(number)).hardlink_to(first)
    return made
