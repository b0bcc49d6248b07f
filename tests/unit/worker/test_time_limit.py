from collections.abc import Callable
from contextlib import suppress

import gevent
import pytest
from gevent import monkey, sleep, socket
from gevent.event import Event
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.step_clock import Deadline, TimeLimit


def test_what_takes_too_long_ends_in_its_steps_timeout() -> None:
    with pytest.raises(StepFailure, match=r"^kex took longer than 0\.01 s$") as caught, TimeLimit(0.01, Timing.KEX):
        sleep(60)
    assert caught.value.outcome is Outcome.KEX_TIMEOUT


def test_what_ends_in_time_is_left_alone_by_its_limit_and_by_those_that_follow() -> None:
    with TimeLimit(0.01, Timing.EXEC):
        pass  # no switch, at which a machine that stands still would let it be cut off
    with TimeLimit(60, Timing.EXEC):
        sleep(0.03)


def test_a_limit_that_goes_on_ends_what_follows_by_its_new_length_and_step() -> None:
    with pytest.raises(StepFailure, match=r"^auth took longer than 0\.02 s$") as caught:
        _go_on_to_a_shorter_one()
    assert caught.value.outcome is Outcome.AUTH_TIMEOUT


def _go_on_to_a_shorter_one() -> None:
    with TimeLimit(0.01, Timing.KEX) as limit:
        limit.go_on(60, Timing.EXEC)
        sleep(0.03)
        limit.go_on(0.02, Timing.AUTH)
        sleep(60)


@pytest.mark.parametrize(
    ("outer_s", "inner_s", "outcome"),
    [
        pytest.param(0.01, 60, Outcome.AUTH_TIMEOUT, id="the outer one"),
        pytest.param(60, 0.01, Outcome.CONNECT_TIMEOUT, id="the inner one"),
        pytest.param(0.01, 0.01, Outcome.AUTH_TIMEOUT, id="of two alike, the outer one, which began first"),
    ],
)
def test_of_nested_limits_the_one_that_is_reached_first_ends_its_own_inside(
    outer_s: float, inner_s: float, outcome: Outcome
) -> None:
    with pytest.raises(StepFailure) as caught, TimeLimit(outer_s, Timing.AUTH), TimeLimit(inner_s, Timing.CONNECT):
        sleep(60)
    assert caught.value.outcome is outcome


def test_each_of_many_is_cut_off_in_the_order_in_which_they_began_also_those_that_begin_meanwhile() -> None:
    ended: list[tuple[int, int]] = []

    def limited(number: int) -> None:
        for turn in range(2):
            with suppress(StepFailure), TimeLimit(0.02, Timing.EXEC):
                sleep(60)
            ended.append((turn, number))

    gevent.joinall([gevent.spawn(limited, number) for number in range(5)], raise_error=True)
    assert ended == [(turn, number) for turn in range(2) for number in range(5)]


def test_a_limit_holds_after_all_of_its_length_have_ended_and_a_new_one_begins() -> None:
    with TimeLimit(0.01, Timing.EXEC):
        pass
    sleep(0.02)
    with pytest.raises(StepFailure), TimeLimit(0.01, Timing.EXEC):
        sleep(60)


def test_one_that_clears_up_with_a_wait_of_its_own_keeps_no_other_from_its_end() -> None:
    released = Event()

    def clears_up() -> None:
        with suppress(StepFailure), TimeLimit(0.01, Timing.EXEC):
            try:
                sleep(60)
            finally:
                released.wait()

    slow = gevent.spawn(clears_up)
    sleep(0)
    with pytest.raises(StepFailure), TimeLimit(0.01, Timing.EXEC):
        sleep(60)
    released.set()
    slow.join()


def test_a_deadline_tells_how_what_nobody_waits_for_has_ended_unless_it_was_cancelled() -> None:
    failures: list[StepFailure] = []
    reached = Event()

    def reach(failure: StepFailure) -> None:
        failures.append(failure)
        reached.set()

    Deadline(0.01, Timing.KEEP_ALIVE, failures.append).cancel()
    Deadline(0.01, Timing.KEEP_ALIVE, reach)
    assert reached.wait(300)
    (failure,) = failures
    assert (failure.outcome, failure.message) == (Outcome.STEP_TIMEOUT, "keepAlive took longer than 0.01 s")


stand_still: Callable[[float], None] = monkey.get_original("time", "sleep")
"""Holds the whole process, as a pause of it does."""


@pytest.mark.parametrize("links", [1, 3], ids=["by the socket's own greenlet", "by greenlets that wait for each other"])
def test_what_arrived_while_the_process_stood_still_is_served_before_a_limit_that_passed_meanwhile(links: int) -> None:
    ours, theirs = socket.socketpair()
    heard = [Event() for _ in range(links)]
    took_place: list[bytes] = []

    def hear() -> None:
        took_place.append(ours.recv(1))
        heard[0].set()

    def hand_on(link: int) -> None:
        heard[link - 1].wait()
        heard[link].set()

    waiting = [gevent.spawn(hear), *(gevent.spawn(hand_on, link) for link in range(1, links))]
    with TimeLimit(0.05, Timing.EXEC):
        sleep(0)
        theirs.send(b"!")
        stand_still(0.1)
        heard[-1].wait()
    gevent.joinall(waiting)
    assert took_place == [b"!"]
    ours.close()
    theirs.close()


def test_what_has_not_arrived_when_the_process_goes_on_is_cut_off() -> None:
    ours, theirs = socket.socketpair()
    waiting = gevent.spawn(ours.recv, 1)
    with pytest.raises(StepFailure), TimeLimit(0.05, Timing.EXEC):
        _stand_still_then(0.1, waiting.join)
    waiting.kill()
    ours.close()
    theirs.close()


def _stand_still_then(seconds: float, wait: Callable[[], object]) -> None:
    stand_still(seconds)
    wait()
