"""An iteration ends in one outcome, gives its session back, and says whether its user goes on, however it ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from time import monotonic_ns
from typing import Any, cast

import gevent
import pytest
from gevent.event import Event
from run_configs import client
from sshload_contract.vocabulary import Outcome, Trait, Window
from sshload_contract.wire.report import Health
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.steps.step_run import StepRun

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
CONNECTION = cast("Any", object())
Task = Callable[[StepRun, int | None], bool]


@dataclass
class Lent:
    """Sessions, of which each that is acquired is noted when it comes back. `failure` is why there is none."""

    failure: BaseException | None = None
    released: list[tuple[Any, int | None, bool]] = field(default_factory=list)

    def acquire(self, _clock: object, _user: int | None) -> Any:
        if self.failure is not None:
            raise self.failure
        return CONNECTION

    def release(self, connection: Any, user: int | None, *, usable: bool) -> None:
        self.released.append((connection, user, usable))


def iteration(task: Task, lent: Lent | None = None) -> Iteration:
    return Iteration(
        worker=3,
        sessions=cast("Any", lent or Lent()),
        steps=(),
        timeouts=client().timeouts,
        recorder=Recorder("run", 3),
        numbers=count(),
        forward_rule=cast("Any", None),
        task=task,
    )


def raising(error: BaseException) -> Task:
    def task(_run: StepRun, _user: int | None) -> bool:
        raise error

    return task


def due() -> Due:
    return Due(monotonic_ns(), Window.MEASURED, 2)


def ended(made: Iteration) -> tuple[int, int, dict[str, int], int]:
    """Return how many iterations have succeeded and failed, in what, and how many are still running."""
    report = made.recorder.take_report(HEALTHY, final=True)
    counts = report.counts[Window.MEASURED]
    failed_by = {str(error.outcome): error.count for error in report.errors}
    return counts.succeeded, counts.failed, failed_by, report.in_flight


@pytest.mark.parametrize("continues", [True, False])
def test_one_that_succeeds_gives_its_session_back_for_another_one_and_its_task_says_who_goes_on(
    *, continues: bool
) -> None:
    seen: list[tuple[str, int | None]] = []

    def task(run: StepRun, user: int | None) -> bool:
        assert run.connection is CONNECTION
        seen.append((run.iteration, user))
        return continues

    lent = Lent()
    made = iteration(task, lent)
    assert [made.run(due(), user) for user in (7, None)] == [continues] * 2
    assert seen == [("3-0", 7), ("3-1", None)]
    assert lent.released == [(CONNECTION, 7, True), (CONNECTION, None, True)]
    assert ended(made) == (2, 0, {}, 0)


def test_what_steps_share_is_closed_after_them_and_fails_the_iteration_if_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(StepRun, "close", lambda _: raising(StepFailure(Outcome.DISCONNECTED, "gone"))(_, None))
    made = iteration(lambda _run, _user: True)
    made.run(due())
    assert ended(made) == (0, 1, {Outcome.DISCONNECTED: 1}, 0)


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.OK])
def test_one_whose_step_fails_gives_back_what_another_one_may_use(outcome: Outcome) -> None:
    lent = Lent()
    made = iteration(raising(StepFailure(outcome, "why")), lent)
    assert made.run(due(), 7)
    assert lent.released == [(CONNECTION, 7, Trait.KEEPS_SESSION in outcome.traits)]
    assert ended(made) == (0, 1, {outcome: 1}, 0)


def test_a_session_with_an_open_subsystem_is_of_no_use_to_another_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepRun, "holds_subsystem", True)
    lent = Lent()
    iteration(raising(StepFailure(Outcome.EXIT_CODE, "1")), lent).run(due(), 7)
    assert lent.released == [(CONNECTION, 7, False)]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(StepFailure(Outcome.REFUSED, "no"), Outcome.REFUSED, id="refused"),
        pytest.param(OSError(24, "Too many open files"), Outcome.GENERATOR_FAULT, id="no descriptors"),
    ],
)
def test_one_that_gets_no_session_has_none_to_give_back(error: BaseException, outcome: Outcome) -> None:
    lent = Lent(error)
    made = iteration(raising(AssertionError()), lent)
    assert made.run(due())
    assert lent.released == []
    assert ended(made) == (0, 1, {outcome: 1}, 0)


def test_an_error_of_our_own_is_counted_and_not_hidden() -> None:
    lent = Lent()
    made = iteration(raising(ValueError("a bug")), lent)
    with pytest.raises(ValueError, match="a bug"):
        made.run(due(), 7)
    assert lent.released == [(CONNECTION, 7, False)]
    assert ended(made) == (0, 1, {Outcome.GENERATOR_FAULT: 1}, 0)


def test_one_that_is_killed_is_unfinished_and_ends_its_session() -> None:
    lent = Lent()
    made = iteration(lambda _run, _user: Event().wait(), lent)
    running = gevent.spawn(made.run, due(), 7)
    gevent.sleep(0)
    assert made.recorder.in_flight == 1
    running.kill()
    assert lent.released == [(CONNECTION, 7, False)]
    assert ended(made) == (0, 1, {Outcome.UNFINISHED: 1}, 0)
