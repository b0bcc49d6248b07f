from time import monotonic_ns
from typing import Any, cast

import gevent
import pytest
from sshload_contract.vocabulary import Outcome, Window
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import SessionPool
from sshload_worker.scenario.step_clock import Due, StepClock


class PlayedSession:
    """One that the server never closes."""

    def is_lost(self) -> bool:
        return False


class PlayedConnector:
    """Is refused at first so often, then logs in; `open` are the sessions that it was not told to end."""

    def __init__(self, refusals: int) -> None:
        self._refusals = refusals
        self.open: list[PlayedSession] = []

    def connect(self, clock: StepClock) -> PlayedSession:  # noqa: ARG002 - nothing is timed
        if self._refusals:
            self._refusals -= 1
            raise StepFailure(Outcome.REFUSED, "refused")
        self.open.append(PlayedSession())
        return self.open[-1]

    def disconnect(self, session: PlayedSession) -> None:
        self.open.remove(session)


def test_a_place_that_an_iteration_has_filled_before_its_turn_is_not_logged_into_again() -> None:
    connector = PlayedConnector(refusals=2)
    pool = SessionPool(cast("Any", connector), range(2))
    clock = StepClock(Recorder("run", 0), Due(monotonic_ns(), Window.WARM_UP))
    preparing = gevent.spawn(pool.prepare, clock, 0.2)
    while connector._refusals == 2:
        gevent.sleep(0)
    with pytest.raises(StepFailure):
        pool.acquire(clock, None)
    used = pool.acquire(clock, None)
    preparing.get()
    assert connector.open == [used]
    pool.close()
    assert connector.open == []
