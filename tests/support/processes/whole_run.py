"""A master and its workers as processes on loopback, as `sshload run` and the pods have them.

They are forked from a process that has imported all they need (warm_processes). With a launcher they are `python -m
sshload_worker`, and so are workers where a pod has several processes, and those of a locustfile, which need more.
"""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from free_ports import free_port
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.master_log import MasterLog, Snapshot, read_master_log
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from warm_processes import WarmProcess, start_warm_worker

_END_TIMEOUT_S = 600.0
_POLL_S = 0.05

Process = subprocess.Popen[bytes] | WarmProcess


class WholeRun:
    """The processes of one run, and the files that they write. `launcher` is what starts each process, by `python`."""

    def __init__(
        self,
        folder: Path,
        config: RunConfig,
        launcher: Sequence[str | Path] = (),
        python: Sequence[str] = (sys.executable,),
    ) -> None:
        self._launcher = (*launcher, *python)
        cold_workers = config.processes_per_pod > 1 or config.scenario.locustfile_path
        self._warm_roles = () if launcher else ("master",) if cold_workers else ("master", "worker")
        self._folder = folder
        self._config_path = folder / "run.json"
        self._config_path.write_text(to_json(config))
        self.locust_port = free_port()
        self.http_port = free_port()
        self.stdout_path = folder / "master.out"
        self.stderr_path = folder / "stderr"
        for path in (self.stdout_path, self.stderr_path):
            path.touch()
        self.workers: list[Process] = []
        self.master = self._start(
            "master",
            "--bind-host",
            "127.0.0.1",
            "--bind-port",
            str(self.locust_port),
            "--http-port",
            str(self.http_port),
        )

    def add_worker(self, index: int) -> Process:
        """Start a worker, or all workers of a pod."""
        worker = self._start(
            "worker", "--master-host", "127.0.0.1", "--master-port", str(self.locust_port), "--index", str(index)
        )
        self.workers.append(worker)
        return worker

    def log(self) -> MasterLog:
        """Return what the master's standard output says so far."""
        return read_master_log(self.stdout_path.read_text())

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots that the master has printed so far."""
        said = (read_master_log(line).snapshot for line in self.stdout_path.read_text().splitlines())
        return [snapshot for snapshot in said if snapshot is not None]

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition; a deadline turns a hang into a failure that shows all that was said."""
        deadline_s = time.monotonic() + _END_TIMEOUT_S
        while not condition():
            said = self.stderr_path.read_text() + self.stdout_path.read_text()[-3_000:]
            assert time.monotonic() < deadline_s, f"{what} did not come: {said}"
            time.sleep(_POLL_S)

    def iterations(self) -> int:
        """Return how many iterations the newest snapshot knows."""
        snapshot = self.log().snapshot
        return snapshot.iterations if snapshot else 0

    def connected(self) -> int:
        """Return how many workers the newest snapshot knows."""
        snapshot = self.log().snapshot
        return snapshot.workers_connected if snapshot else 0

    def summary(self) -> RunSummary:
        """Wait for the master's end, which must be a good one, and return its summary."""
        self.wait_until(lambda: self.master.poll() is not None, "the master's end")
        assert self.master.returncode == 0, self.stderr_path.read_text()
        log = self.log()
        assert log.summary is not None, log.problem
        return log.summary

    def exit_codes(self) -> list[int | None]:
        """Wait for the workers' ends and return their exit codes."""
        self.wait_until(lambda: all(worker.poll() is not None for worker in self.workers), "the workers' end")
        return [worker.returncode for worker in self.workers]

    def get(self, path: str) -> tuple[int, str]:
        """Return the status and the body that the master's HTTP port answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def end(self) -> None:
        """Kill what still runs."""
        for process in (self.master, *self.workers):
            process.kill()
            process.wait()

    def _start(self, role: str, *options: str) -> Process:
        arguments = ["--role", role, "--config", str(self._config_path), *options]
        stdout_path = self.stderr_path if role == "worker" else self.stdout_path
        if role in self._warm_roles:
            return start_warm_worker(arguments, stdout_path, self.stderr_path)
        command = [*self._launcher, "-m", "sshload_worker", *arguments]
        with self.stderr_path.open("ab") as stderr, stdout_path.open("ab") as stdout:
            return subprocess.Popen(command, stdout=stdout, stderr=stderr)


@contextmanager
def whole_run(
    folder: Path, config: RunConfig, workers: int | None = None, launcher: Sequence[str | Path] = ()
) -> Iterator[WholeRun]:
    """Start a master and its workers (all that the run wants, or so many); nothing of them outlives the block.

    Where a pod has several processes, a worker is a pod.
    """
    run = WholeRun(folder, config, launcher)
    try:
        for index in range(config.workers // config.processes_per_pod if workers is None else workers):
            run.add_worker(index)
        yield run
    finally:
        run.end()
