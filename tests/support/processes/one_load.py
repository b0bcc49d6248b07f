"""One worker's generator in this process, its whole load, and all that it counted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, monotonic_ns

import gevent
from gevent import Greenlet
from one_iteration import prepare, unexpected
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.pacing.generator import Generator
from sshload_worker.pacing.share import Share
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.target_login import prepare_target, resolve_first_hop
from sshload_worker.scenario.target_sessions import target_connector
from sshload_worker.summary.totals import Totals
from until import Heard

_NS_PER_S = 1_000_000_000
_CONDITION_TIMEOUT_S = 300.0
_POLL_S = 0.01


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
            gevent.sleep(_POLL_S)


@contextmanager
def one_load(config: RunConfig) -> Iterator[OneLoad]:
    """Run the whole load of a config with one worker in this process; nothing of it outlives the block."""
    heard = Heard(Timing.LOGIN, Timing.TOTAL)
    recorder = Recorder(config.run_id, 0, heard, heard.steps)
    login = prepare_target(config, resolve_first_hop(config, unexpected))
    held = HeldSessions(target_connector(login, recorder), config.client.timeouts, recorder)
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
