"""A worker's part of a trial in virtual time: when it reports, what it reports, and how it ends."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from run_configs import NOWHERE, arrivals, run_config, scenario
from sshload_contract.load import Search
from sshload_contract.steps import SleepStep
from sshload_contract.wire.report import Health, Report
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from sshload_worker.coordination import trial_part as module
from sshload_worker.coordination.trial_part import TrialPart, WorkerContext
from sshload_worker.pacing.share import Share, TrialOrder
from sshload_worker.scenario.steps.channel import forward_rule
from virtual_greenlets import VirtualClock

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
START_NS = 1_000_500_000_000
LOAD_S = 3.2
RUN = replace(run_config(replace(NOWHERE, host="h", port=2201), arrivals(20, LOAD_S), workers=4), namespace="ns")
ONLY, SECOND = TrialOrder(0, 20.0), Share(1, 4)


@dataclass
class World:
    """What a part of a trial is made of."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    reports: list[tuple[float, Report]] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    part: Any = None
    waiting_of: list[int] = field(default_factory=list)
    health_of: list[dict[str, int]] = field(default_factory=list)

    @property
    def at_s(self) -> float:
        return round(self.clock.now_s - 1_000.0, 3)

    def send(self, report: Report) -> None:
        self.reports.append((self.at_s, report))

    def waiting_ports(self, port: int) -> int:
        self.waiting_of.append(port)
        return 100


class Monitor:
    """A health monitor, and what was asked of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pauses = object()
        self.did: list[str] = []
        world.made["health"] = self

    def start(self) -> None:
        self.did.append("start")

    def stop(self) -> None:
        self.did.append("stop")

    def health(self, **figures: int) -> Health:
        self.world.health_of.append(figures)
        return HEALTHY


class Played:
    """A generator whose load lasts until it is over, or is told to end."""

    def __init__(self, world: World, *of: Any) -> None:
        self.world = world
        self.config, self.share, self.iteration, self.held, self.start_ns = of
        self.trace: Any = None
        self.over = world.clock.event()
        self.is_stopped = False
        world.made["generator"] = self

    def run(self) -> None:
        self.over.wait(LOAD_S)

    def elapsed_s(self) -> float:
        return self.world.at_s

    def finish(self) -> float:
        self.over.set()
        return 1.25

    def stop(self) -> None:
        self.is_stopped = True
        self.over.set()


Make = Callable[..., World]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def made(run: RunConfig = RUN, order: TrialOrder = ONLY, share: Share = SECOND) -> World:
        world = World()
        monkeypatch.setattr(module, "gevent", SimpleNamespace(spawn=gevent.spawn, sleep=world.clock.sleep))
        monkeypatch.setattr(module, "Generator", lambda *of: Played(world, *of))
        monkeypatch.setattr(module, "HealthMonitor", lambda: Monitor(world))
        monkeypatch.setattr(module, "waiting_ports", world.waiting_ports)

        def sessions(scenario: Any, recorder: Any, pool: tuple[int, ...]) -> Any:
            world.made |= {"scenario": scenario, "recorder": recorder, "pool": pool}
            return SimpleNamespace(name="sessions")

        monkeypatch.setattr(module, "Iteration", SimpleNamespace)
        ports: Any = SimpleNamespace(total=lambda connections: 1_000 + connections)
        users: Any = None
        listener: Any = SimpleNamespace(at_once=())
        trace: Any = "a trace"
        target: Any = SimpleNamespace(
            sessions=sessions, connector=lambda recorder: ("of the target", recorder), population=None
        )
        context = WorkerContext(run, target, users, listener, iter(range(9)), ports, trace)
        world.part = TrialPart(context, order, share, START_NS, world.send)
        return world

    return made


def test_workers_report_in_turn_twice_a_second_and_once_at_the_end(make: Make) -> None:
    world = make()
    world.clock.run(world.part.run)
    at_s = [told for told, _ in world.reports]
    assert at_s == pytest.approx([0.25, 0.75, 1.25, 1.75, 2.25, 2.75, LOAD_S])
    assert [report.final for _, report in world.reports] == [False] * 6 + [True]
    assert [report.sequence for _, report in world.reports] == list(range(1, 8))
    assert [report.until_s for _, report in world.reports] == at_s
    assert {(report.run_id, report.worker, report.trial) for _, report in world.reports} == {("test-run", 1, 0)}


def test_nothing_is_reported_after_the_final_report(make: Make) -> None:
    world = make()

    def work() -> None:
        world.part.run()
        world.clock.sleep(10.0)

    world.clock.run(work)
    assert world.reports[-1][0] == pytest.approx(LOAD_S)
    assert world.made["health"].did == ["start", "stop"]


def test_ports_are_those_of_all_processes_of_the_pod_and_those_that_wait_for_the_first_server(make: Make) -> None:
    jump = replace(RUN, via=(replace(NOWHERE, host="jump", port=2222),))
    for run, port in ((RUN, 2201), (jump, 2222)):
        world = make(run)
        world.made["recorder"].connections = 7
        world.clock.run(world.part.run)
        assert world.health_of[0] == {"connections": 1_107, "overflows": 0}
        assert set(world.waiting_of) == {port}


def test_a_part_of_a_trial_makes_its_share_of_the_trials_own_load(make: Make) -> None:
    search = replace(RUN, load=Search(arrivals(20, LOAD_S), most=40, precision=0.5, confirm=0, budget_s=100.0))
    world = make(search, TrialOrder(3, 31.0), Share(2, 4))
    generator = world.made["generator"]
    assert generator.config.trial_load == arrivals(20, LOAD_S).at(31.0)
    assert (generator.share, generator.start_ns, generator.trace) == (Share(2, 4), START_NS, "a trace")
    assert generator.held._connector == ("of the target", world.made["recorder"])
    world.clock.run(world.part.run)
    assert {(report.trial, report.worker) for _, report in world.reports} == {(3, 2)}


def test_iterations_have_the_steps_and_limits_of_the_run_and_are_numbered_over_all_trials(make: Make) -> None:
    steps = (SleepStep(1.0),)
    world = make(replace(RUN, scenario=scenario(*steps)))
    iteration = world.made["generator"].iteration
    assert (iteration.worker, iteration.steps, iteration.timeouts) == (1, steps, RUN.client.timeouts)
    assert (iteration.recorder, iteration.task) == (world.made["recorder"], None)
    assert iteration.sessions.name == "sessions"
    assert iteration.forward_rule == forward_rule(RUN)
    assert list(iteration.numbers) == list(range(9))
    assert world.made["recorder"].pauses is world.made["health"].pauses


@pytest.mark.parametrize(("index", "sessions", "part"), [(0, 10, (0, 4, 8)), (2, 10, (2, 6)), (3, 3, (3,))])
def test_a_pool_is_shared_by_the_workers_each_of_which_has_one_session_at_least(
    make: Make, index: int, sessions: int, part: tuple[int, ...]
) -> None:
    pool = replace(RUN.scenario, session_reuse=SessionReuse.POOL, pool_sessions=sessions)
    assert make(replace(RUN, scenario=pool), share=Share(index, 4)).made["pool"] == part


def test_a_load_that_is_finished_ends_with_its_last_iterations_and_one_that_is_stopped_cuts_them_off(
    make: Make,
) -> None:
    finished, stopped = make(), make()
    assert finished.part.finish() == 1.25
    assert (finished.made["generator"].is_stopped, finished.made["recorder"].is_stopped) == (False, False)
    stopped.part.stop()
    assert (stopped.made["generator"].is_stopped, stopped.made["recorder"].is_stopped) == (True, True)


def test_connections_that_were_begun_are_counted(make: Make) -> None:
    world = make()
    world.made["recorder"].opened = 5
    assert world.part.opened == 5
