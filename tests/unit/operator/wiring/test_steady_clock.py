"""The time by which a run is judged."""

from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from sshload_operator.control.live.tests import TestState
from sshload_operator.world import steady_clock
from sshload_operator.world.steady_clock import SteadyClock

STEP = timedelta(hours=1)


@pytest.mark.parametrize("step", [STEP, -STEP], ids=["forward", "back"])
def test_a_step_of_the_machines_clock_is_no_time_for_a_test_that_is_worked_on(
    monkeypatch: pytest.MonkeyPatch, step: timedelta
) -> None:
    class Stepped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + step

    before = datetime.now(UTC)
    sight = TestState(has_children=False)
    monkeypatch.setattr(steady_clock, "datetime", Stepped)
    assert timedelta(0) <= sight.clock.now() - before < STEP
    assert abs(SteadyClock().now() - before - step) < STEP
