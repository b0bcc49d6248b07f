"""What operations of a client cost, and the clients as processes: ours, the least there can be, and Go's."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from programs import Server
from run_configs import EXEC_TRUE, NOWHERE, client, run_config
from sshload_contract.load import Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import ScenarioStep, SftpReadStep
from sshload_contract.vocabulary import Timing, Window
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from whole_run import Process, WholeRun

HERE = Path(__file__).parent
KEX = "curve25519-sha256"
HYBRID = "mlkem768x25519-sha256"
CIPHER = "aes128-gcm@openssh.com"
FILE_BYTES = 11_534_336
SMALL_FILE_BYTES = 1_024
MS_PER_S = 1_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a number of operations took in CPU and in time."""

    operations: int
    cpu_s: float
    wall_s: float

    @property
    def cpu_ms(self) -> float:
        """CPU per operation, in milliseconds."""
        return self.cpu_s / self.operations * MS_PER_S

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.operations / self.wall_s


@dataclass(frozen=True, slots=True)
class Work:
    """One kind of operation, `at_once` of them under way at a time.

    Of "sftp-files", an operation reads the file so many times over a subsystem of its own, and counts as so many.
    """

    name: str
    at_once: int
    operations: int
    seconds: float
    command: str = "true"
    path: str = ""
    files: int = 1


@dataclass(frozen=True, slots=True)
class Works:
    """All works that are measured, each with so many of its usual operations, or for so many seconds.

    Clients that end by themselves do `share` of the operations; the worker works for `seconds`.
    """

    share: float
    seconds: float
    download_bytes: int
    file_bytes: int
    small_files: int

    @property
    def connect_exec(self) -> Work:
        """A login and a command on each connection."""
        return Work("connect-exec", at_once=10, operations=self._operations(2_000), seconds=self.seconds)

    @property
    def exec(self) -> Work:
        """Commands on live sessions."""
        return Work("exec", at_once=10, operations=self._operations(20_000), seconds=self.seconds)

    @property
    def download(self) -> Work:
        """The output of a command, on one session."""
        command = f"send {self.download_bytes}"
        return Work("exec", at_once=1, operations=self._operations(8), seconds=self.seconds, command=command)

    @property
    def sftp_read(self) -> Work:
        """Files by SFTP, on live sessions."""
        operations = self._operations(100)
        return Work("sftp-read", at_once=10, operations=operations, seconds=self.seconds, path=str(self.file_bytes))

    @property
    def sftp_files(self) -> Work:
        """Small files by SFTP, several over each subsystem, on live sessions."""
        operations, path = self._operations(20), str(SMALL_FILE_BYTES)
        files = self.small_files
        return Work("sftp-files", at_once=10, operations=operations, seconds=self.seconds, path=path, files=files)

    def _operations(self, usual: int) -> int:
        return max(1, round(usual * self.share))


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients, against one server, with a key that it takes.

    `python` is the command of the Python that runs the worker and the least client.

    The worker warms up for `warm_up_s` before it is measured. All exchange keys by `kex`.
    """

    server: Server
    user: str
    key: Path
    folder: Path
    go_client: Path
    warm_up_s: float
    python: tuple[str, ...] = (sys.executable,)
    kex: str = KEX

    def bare(self, work: Work) -> Cost:
        """Let the least client of gevent and ssh2-python work."""
        return _cost(_run([*self.python, *self.bare_command(work)]))

    def bare_command(self, work: Work) -> list[str]:
        """Return what follows the Python that runs the least client."""
        return [str(HERE / "bare_client.py"), "--port", str(self.server.port), "--user", self.user,
                "--key", str(self.key), "--kex", self.kex, "--ciphers", CIPHER, "--work", work.name,
                "--command", work.command, "--path", work.path, "--at-once", str(work.at_once),
                "--operations", str(work.operations)]  # fmt: skip

    def go(self, work: Work, *, defaults: bool = False) -> Cost:
        """Let Go's client work, by the same algorithms, or by those that it prefers itself."""
        host_key = self.folder / "host.pub"
        host_key.write_text(self.server.host_key)
        algorithms = [] if defaults else ["-kex", self.kex, "-ciphers", CIPHER]
        return _cost(_run([str(self.go_client), "-address", f"127.0.0.1:{self.server.port}", "-user", self.user,
                           "-key", str(self.key), "-host-key", str(host_key), "-work", work.name,
                           "-command", work.command, "-path", work.path, "-at-once", str(work.at_once),
                           "-operations", str(work.operations), "-files", str(work.files), *algorithms]))  # fmt: skip

    def product(self, work: Work) -> Cost:
        """Let a worker work, with its master and all recording."""
        step: ScenarioStep = replace(EXEC_TRUE, command=work.command)
        counted: str = Timing.COMMAND
        if work.path:
            step, counted = SftpReadStep(name="", path=work.path, expect_bytes=None, expect_sha256=""), "sftpRead"
        load = UsersLoad(
            stages=(UsersStage(users=work.at_once, duration_s=work.seconds),),
            spawn_rate=0.0,
            think_time=ThinkTime(0.0, 0.0),
        )
        reuse = SessionReuse.NONE if work.name == "connect-exec" else SessionReuse.USER
        with self.worker_run(self.config(load, (step,) * work.files, reuse)) as run:
            summary = run.summary()
            assert run.exit_codes() == [0]
        (stats,) = (step for step in summary.trial.steps if step.step == counted and step.window is Window.MEASURED)
        assert stats.count
        assert not summary.trial.load.failed
        return Cost(stats.count, run.figures()["cpu_s"], run.figures()["wall_s"])

    def config(self, load: Load, steps: tuple[ScenarioStep, ...], reuse: SessionReuse) -> RunConfig:
        """Return a run of these steps after the warm-up."""
        known_hosts = self.folder / "known_hosts"
        known_hosts.write_text(f"[127.0.0.1]:{self.server.port} {self.server.host_key}")
        target = replace(
            NOWHERE,
            host="127.0.0.1",
            port=self.server.port,
            user=self.user,
            private_key_path=str(self.key),
            known_hosts_path=str(known_hosts),
        )
        config = run_config(target, load)
        return replace(
            config,
            client=replace(client(), kex_algorithms=(self.kex,), ciphers=(CIPHER,)),
            scenario=replace(config.scenario, session_reuse=reuse, steps=steps),
            warm_up_s=self.warm_up_s,
        )

    @contextmanager
    def worker_run(self, config: RunConfig, *before: str, ports: bool = False) -> Iterator["MeasuredRun"]:
        """Start a master and one measured worker, whose command follows `before` (chrt)."""
        run = MeasuredRun(self, config, before, ports=ports)
        try:
            run.add_worker(0)
            yield run
        finally:
            run.end()


class MeasuredRun(WholeRun):
    """A master as ever, and a worker that tells what it cost."""

    def __init__(self, clients: Clients, config: RunConfig, before: Sequence[str], *, ports: bool) -> None:
        self._before = (*before, *clients.python)
        self._figures_path = clients.folder / ("figures.ports" if ports else "figures")
        super().__init__(clients.folder, config)

    def figures(self) -> dict[str, Any]:
        """Return what the worker told."""
        return dict(json.loads(self._figures_path.read_text()))

    def _start(self, role: str, *options: str) -> Process:
        if role == "master":
            return super()._start(role, *options)
        measured = [str(HERE / "measured_worker.py"), str(self._figures_path)]
        command = [*self._before, *measured, "--role", role, "--config", str(self._config_path), *options]
        with self.stderr_path.open("ab") as stderr:
            return subprocess.Popen(command, stdout=stderr, stderr=stderr)


def _run(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def _cost(figures: dict[str, Any]) -> Cost:
    assert not figures.get("failures")
    return Cost(figures["operations"], figures["cpu_s"], figures["wall_s"])
