"""A master in the process of the test, whose workers are processes.

Its waiting begins when they are connected, however long they take to start. And a test can let its patience or its
search's budget be over, in place of waiting for that.

One worker's generator in this process, its whole load, and all that it counted.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, monotonic_ns

import gevent
import pytest
from free_ports import free_port
from gevent import Greenlet
from one_iteration import prepare, unexpected
from run_configs import TOKEN
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.master_log import read_master_log
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.coordination.master import Master
from sshload_worker.coordination.messages import encrypt_lines
from sshload_worker.pacing.generator import Generator
from sshload_worker.pacing.share import Share
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.target_login import resolve_first_hop
from sshload_worker.scenario.target_sessions import prepare_target
from sshload_worker.summary.totals import Totals
from until import Heard
from warm_processes import WarmProcess, start_warm_worker

_TIMEOUT_S = 300.0
_POLL_S = 0.02


@dataclass
class MasterHere:
    """A master, and its connected workers. `add_worker` starts one more, of an index."""

    master: Master
    workers: tuple[WarmProcess, ...]
    add_worker: Callable[[int], None]
    capsys: pytest.CaptureFixture[str]
    _running: "Greenlet[[], None] | None" = None

    def begin(self) -> None:
        """Let the master follow the run from now on."""
        self._running = gevent.spawn(self.master.run)
        gevent.sleep(0)

    def wait_until(self, condition: Callable[[Master], bool]) -> None:
        """Wait until a condition is true of the master."""
        deadline_s = time.monotonic() + _TIMEOUT_S
        while not condition(self.master):
            assert time.monotonic() < deadline_s, self.capsys.readouterr()
            gevent.sleep(_POLL_S)

    def lose_patience(self) -> None:
        """Let the time that the master waits for its workers and the target be over."""
        self.master.config = replace(self.master.config, workers_timeout_s=0.0)

    def use_up_budget(self) -> None:
        """Let the time of the search be over, which has begun."""
        search = self.master.config.load
        assert search.is_search
        assert self.master._first_start_s is not None
        self.master._first_start_s -= search.budget_s

    def summary(self) -> RunSummary:
        """Wait for the end of the run; return the summary that the master has printed."""
        assert self._running is not None
        self._running.get(timeout=_TIMEOUT_S)
        log = read_master_log(self.capsys.readouterr().out)
        assert log.summary is not None, log.problem
        return log.summary

    def exit_codes(self) -> list[int]:
        """Wait for the workers' ends and return their exit codes."""
        return [worker.wait(_TIMEOUT_S) for worker in self.workers]


@contextmanager
def master_here(
    folder: Path, config: RunConfig, capsys: pytest.CaptureFixture[str], workers: int | None = None
) -> Iterator[MasterHere]:
    """Start a master and its workers (all that the run wants, or so many); yield when all of these are connected."""
    (folder / "run.json").write_text(to_json(config))
    port, stderr_path = free_port(), folder / "stderr"
    encrypt_lines(TOKEN)
    master = Master(config, TOKEN)
    master.listen("127.0.0.1", port)
    command = ["--role", "worker", "--config", str(folder / "run.json")]
    to_master = ["--master-host", "127.0.0.1", "--master-port", str(port)]
    started: list[WarmProcess] = []

    def add_worker(index: int) -> None:
        arguments = [*command, *to_master, "--index", str(index)]
        started.append(start_warm_worker(arguments, stderr_path, stderr_path))

    try:
        for index in range(config.workers if workers is None else workers):
            add_worker(index)
        deadline_s = time.monotonic() + _TIMEOUT_S
        while master.worker_registry.connected < len(started):
            assert time.monotonic() < deadline_s, f"the workers do not come: {stderr_path.read_text()}"
            gevent.sleep(_POLL_S)
        yield MasterHere(master, tuple(started), add_worker, capsys)
    finally:
        for worker in started:
            worker.kill()
            worker.wait()


_NS_PER_S = 1_000_000_000
_CONDITION_TIMEOUT_S = 300.0
_LOAD_POLL_S = 0.01


@dataclass(frozen=True)
class OneLoad:
    """A generator at work, and where it counts."""

    generator: Generator
    recorder: Recorder
    heard: Heard
    work: "Greenlet[[], None]"

    def finish(self) -> Totals:
        """Wait for the end of the load and return what was counted."""
        self.work.get()
        totals = Totals()
        totals.add(self.recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True))
        return totals

    def stop(self) -> Totals:
        """End the load now, what runs as unfinished, and return what was counted."""
        self.generator.stop()
        return self.finish()

    def wait_until(self, condition: Callable[[Recorder], bool]) -> None:
        """Wait until a condition is true of what is counted."""
        deadline_s = monotonic() + _CONDITION_TIMEOUT_S
        while not condition(self.recorder):
            assert monotonic() < deadline_s, f"held: {self.recorder.held}, connections: {self.recorder.connections}"
            gevent.sleep(_LOAD_POLL_S)


@contextmanager
def one_load(config: RunConfig) -> Iterator[OneLoad]:
    """Run the whole load of a config with one worker in this process; nothing of it outlives the block."""
    heard = Heard(Timing.LOGIN, Timing.TOTAL)
    recorder = Recorder(config.run_id, 0, heard, heard.steps)
    target = prepare_target(config, resolve_first_hop(config, unexpected))
    held = HeldSessions(target.connector(recorder), config.client.timeouts, recorder)
    start_ns = monotonic_ns() + int(config.start_lead_s * _NS_PER_S)
    generator = Generator(config, Share(0, 1), prepare(config, recorder), held, start_ns)
    work = gevent.spawn(generator.run)
    try:
        yield OneLoad(generator, recorder, heard, work)
    finally:
        generator.stop()
        work.join()


def counted(totals: Totals, step: str) -> dict[tuple[Window, Outcome], int]:
    """Return how often the step ended how, in which window."""
    return {
        (window, outcome): histogram.count
        for (name, window, outcome), histogram in totals.histograms.items()
        if name == step
    }


def latencies(totals: Totals, step: str, window: Window = Window.MEASURED) -> LatencyHistogram:
    """Return the latencies of a step's successes."""
    return totals.successes(step, window)


def failures(totals: Totals) -> set[tuple[str, Outcome, int]]:
    """Return what failed in which step, and how often."""
    return {(step, outcome, failed.count) for (step, outcome, _), failed in totals.errors.items()}
