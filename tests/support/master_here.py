"""A master in the process of the test, whose workers are processes: its waiting begins when they are connected.

So a test can give the master little patience (`workers_timeout_s`), however long the workers take to start.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import gevent
import pytest
from free_ports import free_port
from sshload_contract.codec import to_json
from sshload_contract.master_log import read_master_log
from sshload_contract.run_config import RunConfig
from sshload_contract.run_summary import RunSummary
from sshload_worker.coordination.master import Master

_TIMEOUT_S = 300.0
_POLL_S = 0.02


@dataclass(frozen=True)
class MasterHere:
    """A master that has yet to run, and its connected workers."""

    master: Master
    workers: tuple[subprocess.Popen[bytes], ...]

    def summary(self, capsys: pytest.CaptureFixture[str]) -> RunSummary:
        """Let the master follow the run to its end; return the summary that it prints."""
        capsys.readouterr()
        with gevent.Timeout(_TIMEOUT_S):
            self.master.run()
        log = read_master_log(capsys.readouterr().out)
        assert log.summary is not None, log.problem
        return log.summary

    def exit_codes(self) -> list[int]:
        """Wait for the workers' ends and return their exit codes."""
        return [worker.wait(_TIMEOUT_S) for worker in self.workers]


@contextmanager
def master_here(folder: Path, config: RunConfig, workers: int | None = None) -> Iterator[MasterHere]:
    """Start a master and its workers (all that the run wants, or so many); yield when all of these are connected."""
    (folder / "run.json").write_text(to_json(replace(config, workers_timeout_s=_TIMEOUT_S)))
    port, stderr_path = free_port(), folder / "stderr"
    master = Master(config)
    master.listen("127.0.0.1", port)
    program = [sys.executable, "-m", "sshload_worker", "--role", "worker", "--config", str(folder / "run.json")]
    to_master = ["--master-host", "127.0.0.1", "--master-port", str(port)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        with stderr_path.open("wb") as stderr:
            for index in range(config.workers if workers is None else workers):
                command = [*program, *to_master, "--index", str(index)]
                started.append(subprocess.Popen(command, stdout=stderr, stderr=stderr))
        deadline_s = time.monotonic() + _TIMEOUT_S
        while master.roll_call.connected < len(started):
            assert time.monotonic() < deadline_s, f"the workers do not come: {stderr_path.read_text()}"
            gevent.sleep(_POLL_S)
        yield MasterHere(master, tuple(started))
    finally:
        for worker in started:
            worker.kill()
            worker.wait()
