"""TrialPart: one worker's part of one trial, with its own recorder and health monitor."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gevent
from sshload_contract.load.replay import Trace
from sshload_contract.steps import WHOLE_STEPS
from sshload_contract.wire.report import Report
from sshload_contract.wire.reporting import first_report_s, report_interval_s
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.coordination.processes import PortBoard
from sshload_worker.locust_runner.request_events import SummedRequests
from sshload_worker.pacing.generator import Generator
from sshload_worker.pacing.share import Share, TrialOrder
from sshload_worker.recording.health import HealthMonitor, waiting_ports
from sshload_worker.recording.rated_time import RatedTime
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.steps.channel import forward_rule
from sshload_worker.scenario.target_login import first_hop
from sshload_worker.scenario.target_sessions import Target

if TYPE_CHECKING:
    from sshload_worker.locustfile.locust_users import LocustUsers


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What a worker keeps from trial to trial. `numbers` counts its iterations over all trials."""

    run: RunConfig
    target: Target
    locust_users: "LocustUsers | None"
    listener: SummedRequests
    numbers: Iterator[int]
    ports: PortBoard
    trace: Trace | None = None


class TrialPart:
    """Generates one worker's share of one trial's load, from `start_ns` on, and passes each report to `send`."""

    def __init__(
        self, equipment: WorkerContext, order: TrialOrder, share: Share, start_ns: int, send: Callable[[Report], None]
    ) -> None:
        config = order.config(equipment.run)
        self._recorder = Recorder(config.run_id, share.index, equipment.listener, WHOLE_STEPS, trial=order.number)
        self._recorder.rated = RatedTime.of(config.trial_load, config.warm_up_s, start_ns)
        self._health = HealthMonitor()
        self._recorder.pauses = self._health.pauses
        self._ports = equipment.ports
        self._target_port = first_hop(config).port
        self._send = send
        self._share = share
        iteration = _iteration(config, equipment, share, self._recorder)
        held = HeldSessions(equipment.target.connector(self._recorder), config.client.timeouts, self._recorder)
        self._generator = Generator(config, share, iteration, held, start_ns)
        self._generator.trace = equipment.trace
        if (population := equipment.target.population) is not None:
            self._generator.take_turns(len(population), population.most_turns)
            self._recorder.population = len(population)

    def tell_of_used_up_users(self, tell: Callable[[float], object]) -> None:
        """Have `tell` called with the duration of the load if it ends because each user has logged in."""
        self._generator.on_users_used_up = tell

    @property
    def opened(self) -> int:
        """How many connections it has begun."""
        return self._recorder.opened

    def run(self) -> None:
        """Generate the load and report regularly. Send the final report when no iteration is in progress any more."""
        self._health.start()
        reporter = gevent.spawn(self._report_regularly)
        self._generator.run()
        reporter.kill()
        self._report(final=True)
        self._health.stop()

    def finish(self) -> float:
        """End the load now; `run` ends with the last iterations. Return the load's duration."""
        return self._generator.finish()

    def stop(self) -> None:
        """End `run` now. The iterations in progress count neither as successes nor as failures."""
        self._recorder.is_stopped = True
        self._generator.stop()

    def _report_regularly(self) -> None:
        gevent.sleep(first_report_s(self._share.index, self._share.of))
        while True:
            self._report(final=False)
            gevent.sleep(report_interval_s(self._share.of))

    def _report(self, *, final: bool) -> None:
        recorder = self._recorder
        connections = self._ports.total(recorder.connections) + waiting_ports(self._target_port)
        health = self._health.health(connections=connections, overflows=recorder.overflows)
        self._send(recorder.take_report(health, until_s=self._generator.elapsed_s(), final=final))


def _iteration(config: RunConfig, equipment: WorkerContext, share: Share, recorder: Recorder) -> Iteration:
    scenario, locust_users = config.scenario, equipment.locust_users
    pool = tuple(share.take(range(scenario.pool_sessions))) or (share.index,)
    sessions = equipment.target.sessions(scenario, recorder, pool)
    return Iteration(
        worker=share.index,
        sessions=sessions if locust_users is None else locust_users.in_sessions(sessions),
        steps=scenario.steps,
        timeouts=config.client.timeouts,
        recorder=recorder,
        numbers=equipment.numbers,
        forward_rule=forward_rule(config),
        choices=scenario.choices(share.index),
        task=None if locust_users is None else locust_users.run_task,
    )
