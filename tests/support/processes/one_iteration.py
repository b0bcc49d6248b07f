"""One iteration of any run's config in this process, and what was counted of it.

One pass of a worker through the steps of a scenario, against a real server, and what each step came to.
"""

from dataclasses import dataclass, replace
from itertools import count
from time import monotonic_ns

from run_configs import arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.client import Client
from sshload_contract.steps import ScenarioStep
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ArrivalCounts, NegotiatedCount
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.steps.channel import forward_rule
from sshload_worker.scenario.target_login import resolve_first_hop
from sshload_worker.scenario.target_sessions import prepare_target


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
    target = prepare_target(config, resolve_first_hop(config, unexpected))
    return Iteration(
        worker=0,
        sessions=target.sessions(config.scenario, recorder, range(config.scenario.pool_sessions)),
        steps=config.scenario.steps,
        timeouts=config.client.timeouts,
        recorder=recorder,
        numbers=count(),
        forward_rule=forward_rule(config),
        choices=config.scenario.choices(0),
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


LOGIN_AND_TOTAL = {"startDelay", "connect", "banner", "kex", "auth", "login", "total"}


@dataclass(frozen=True)
class Pass:
    """What one iteration came to. `timed` counts the timings of each of the scenario's steps that succeeded."""

    outcome: Outcome
    failed_step: str
    message: str
    timed: dict[str, int]
    failed: dict[str, Outcome]
    moved: dict[str, int]

    @property
    def failure(self) -> tuple[Outcome, str]:
        """How it ended, and where."""
        return self.outcome, self.failed_step

    def first_without_end(self, *parts: str) -> str:
        """Return the first of a step's parts, given in their order, that did not end well.

        That is where a time limit of the whole step is reached: on a slow machine earlier than in the part that hangs.
        """
        return next(part for part in parts if part not in self.timed)


def one_pass(
    server: SshServer, *steps: ScenarioStep, by: Client | None = None, reuse: SessionReuse = SessionReuse.NONE
) -> Pass:
    """Log in, do these steps, and return what was counted."""
    done = replace(scenario(*steps), session_reuse=reuse, pool_sessions=1)
    config = replace(run_config(endpoint(server), arrivals(1, 1)), scenario=done, client=by or client())
    recorder = Recorder(config.run_id, 0)
    now_ns = monotonic_ns()
    iteration = prepare(config, recorder)
    iteration.run(Due(at_ns=now_ns, window=Window.MEASURED), 0)
    iteration.sessions.close()
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    ended = {histogram.step: histogram.outcome for histogram in report.histograms}
    failure = report.errors[0] if report.errors else None
    return Pass(
        outcome=ended["total"],
        failed_step=failure.step if failure else "",
        message=failure.first_message if failure else "",
        timed={
            histogram.step: histogram.count
            for histogram in report.histograms
            if histogram.outcome is Outcome.OK and histogram.step not in LOGIN_AND_TOTAL
        },
        failed={step: outcome for step, outcome in ended.items() if outcome is not Outcome.OK and step != "total"},
        moved={moved.step: moved.count for moved in report.moved},
    )
