"""The command `sshload` as a user has it, small tests for it, and whether a command left processes behind."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import yaml
from generator_reruns import rerun_while_lagging
from warm_processes import WarmProcess, start_warm_sshload

SSHLOAD = Path(sys.executable).parent / "sshload"
ENDS_WITHIN_S = 600
"""A deadline that only a fault reaches: a busy machine takes several times as long as a quiet one."""
_MARK = "SSHLOAD_MARK"
_COLUMNS = "200"  # so wide that no sentence of a table is wrapped
_SAID_BYTES = 1_000_000
_UNDER_WAY: "list[Started]" = []
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def status(self) -> dict[str, Any]:
        """The status in its JSON output."""
        status: dict[str, Any] = json.loads(self.out)["status"]
        return status

    @property
    def judgement(self) -> dict[str, Any]:
        """The status in its JSON output, or verdict and reason as its table has them; empty where there are none."""
        if self.out.startswith("{"):
            return self.status
        found = re.match(r"(\w+) \((\w+)\)", self.out)
        return {"verdict": found[1], "reason": found[2]} if found is not None else {}


@dataclass(frozen=True, slots=True)
class Started:
    """A command under way. `mark` stands in the environment of all its processes but sshd's sessions."""

    process: subprocess.Popen[str] | WarmProcess
    mark: str
    out: IO[str]
    err: IO[str]

    def wait(self) -> Ended:
        """Return how it ended; it is killed after ENDS_WITHIN_S."""
        try:
            code = self.process.wait(timeout=ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.out.seek(0)
        return Ended(code, self.out.read(), self.said())

    def end(self) -> None:
        """End it, and all that it started; nothing where it has ended."""
        if self.process.poll() is None:
            self.process.terminate()
            self.wait()

    def said(self) -> str:
        """Return what it printed on standard error so far."""
        return os.pread(self.err.fileno(), _SAID_BYTES, 0).decode()

    def left_behind(self) -> list[str]:
        """Return the command lines of processes that it started and that still run."""
        return [line for pid, line in _processes() if pid != self.process.pid and self.mark in _environment(pid)]

    def process_ids(self, words: str) -> list[int]:
        """Return the processes that it started and whose command line holds `words`."""
        return [pid for pid, line in _processes() if words in line and self.mark in _environment(pid)]

    def folder(self) -> Path:
        """Return the private folder of a local run, while its master runs."""
        (master,) = self.process_ids("--role master")
        return Path(f"/proc/{master}/cwd").readlink()

    def metrics_port(self) -> int:
        """Return the HTTP port of a local run's master, while that runs."""
        (master,) = self.process_ids("--role master")
        words = _read(Path(f"/proc/{master}/cmdline")).split("\0")
        return int(words[words.index("--http-port") + 1])


def metrics(port: int) -> str:
    """Return the metrics that a process of a local run serves at this port."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        page: bytes = answer.read()
    return page.decode()


def start(*arguments: str | Path, within: Sequence[str] = (), as_installed: bool = False) -> Started:
    """Start `sshload` with these arguments; `within` is what is written before the command.

    It is forked from a process that has imported it (warm_processes), but for one within another command, or one that
    is asked for as it is installed.
    """
    mark = uuid4().hex
    out, err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as it is looked at
    own = {"COLUMNS": _COLUMNS, _MARK: mark}
    process: subprocess.Popen[str] | WarmProcess
    if within or as_installed:
        process = subprocess.Popen(
            # As from a terminal: a shell in the background hands down an ignored SIGINT, and nohup an ignored SIGHUP.
            [*within, "env", "--default-signal=INT,HUP", SSHLOAD, *arguments],
            stdout=out,
            stderr=err,
            text=True,
            env={**os.environ, **own},
        )
    else:
        files = Path(f"/proc/{os.getpid()}/fd")
        words = [str(word) for word in arguments]
        process = start_warm_sshload(words, files / str(out.fileno()), files / str(err.fileno()), own)
    started = Started(process, mark, out, err)
    _UNDER_WAY.append(started)
    return started


def end_what_is_under_way() -> None:
    """End the commands that a test has not waited for, as one that fails has not: they load this machine till then."""
    while _UNDER_WAY:
        _UNDER_WAY.pop().end()


def sshload(*arguments: str | Path) -> Ended:
    """Run `sshload` with these arguments to its end."""
    return start(*arguments).wait()


def measured(*arguments: str | Path, output: str = "json") -> Ended:
    """Run a test to its end, again where this machine kept the generator from the CPU; `output` is json or table."""
    return rerun_while_lagging(lambda: sshload("run", *arguments, "--output", output), lambda ended: ended.judgement)


def write_test(folder: Path, **changes: Any) -> Path:
    """Write a small SSHLoadTest (two users for two seconds, one worker) with these parts of the spec changed."""
    spec: dict[str, Any] = {
        "target": {"managed": {}},
        "scenario": {"steps": [{"exec": {"command": "echo here", "expectStdout": "here"}}]},
        "load": {"users": {"stages": [{"users": 2, "duration": "2s"}], "thinkTime": {"min": "100ms", "max": "200ms"}}},
        "warmUp": "0s",
        "thresholds": [{"errorRate": {"below": "99%"}}],  # a single iteration without a failure is enough to judge it
        "workers": {"replicas": 1},
        **changes,
    }
    document = {
        "apiVersion": "sshload.dev/v1alpha1",
        "kind": "SSHLoadTest",
        "metadata": {"name": "small"},
        "spec": spec,
    }
    path = folder / "test.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def wait_until(claim: Callable[[], object], what: str, within_s: float = ENDS_WITHIN_S) -> None:
    """Wait until `claim` holds."""
    deadline = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < deadline, f"{what} not within {within_s} s"
        time.sleep(_POLL_S)


def running(words: str) -> list[str]:
    """Return the command lines that hold `words`, whoever started them."""
    return [line for pid, line in _processes() if words in line and pid != os.getpid()]


def interrupt(started: Started, number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to the command alone, as no terminal does."""
    started.process.send_signal(number)


def _processes() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            line = _read(entry / "cmdline").replace("\0", " ")
            if line:
                yield int(entry.name), line


def _environment(pid: int) -> str:
    return _read(Path(f"/proc/{pid}/environ"))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
