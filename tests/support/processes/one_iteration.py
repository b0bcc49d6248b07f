"""One iteration of any run's config in this process, and what was counted of it."""

from dataclasses import dataclass
from itertools import count
from time import monotonic_ns

from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ArrivalCounts, NegotiatedCount
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.steps.channel import forward_rule
from sshload_worker.scenario.target_login import prepare_target, resolve_first_hop
from sshload_worker.scenario.target_sessions import target_sessions


@dataclass(frozen=True)
class Counted:
    """The outcome of the total, where it failed and why, and every step's outcome."""

    outcome: Outcome
    failed_step: str
    message: str
    steps: dict[str, Outcome]
    counts: ArrivalCounts
    negotiated: tuple[NegotiatedCount, ...]


def unexpected(problem: str) -> None:
    """Fail: nothing is in the way of a loopback target."""
    raise AssertionError(problem)


def prepare(config: RunConfig, recorder: Recorder) -> Iteration:
    """Return the configured iteration, which counts into `recorder`."""
    login = prepare_target(config, resolve_first_hop(config, unexpected))
    return Iteration(
        worker=0,
        sessions=target_sessions(config.scenario, login, recorder, config.scenario.pool_sessions),
        steps=config.scenario.steps,
        timeouts=config.client.timeouts,
        recorder=recorder,
        numbers=count(),
        forward_rule=forward_rule(config),
    )


def run_once(config: RunConfig) -> Counted:
    """Run one iteration now."""
    recorder = Recorder(config.run_id, 0)
    now_ns = monotonic_ns()
    prepare(config, recorder).run(Due(at_ns=now_ns, window=Window.MEASURED))
    return counted(recorder)


def counted(recorder: Recorder) -> Counted:
    """Return what was counted, of which each step was done once."""
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    steps = {histogram.step: histogram.outcome for histogram in report.histograms}
    assert all(histogram.count == 1 for histogram in report.histograms)
    assert len(steps) == len(report.histograms)
    failed = report.errors[0] if report.errors else None
    assert [error.count for error in report.errors] == ([1] if failed else [])
    return Counted(
        outcome=steps["total"],
        failed_step=failed.step if failed else "",
        message=failed.first_message if failed else "",
        steps=steps,
        counts=report.counts[Window.MEASURED],
        negotiated=report.negotiated,
    )
