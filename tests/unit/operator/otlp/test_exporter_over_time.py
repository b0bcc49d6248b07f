"""Pushes over minutes, in virtual time: when each is begun, however long the one before took.

`test_exporter.py` has the same with a real collector.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar

import pytest
from prometheus_client import Metric
from sshload_operator.control.otlp.exporter import Exporter
from sshload_operator.control.otlp.options import OtlpOptions
from sshload_operator.control.posting import Attempt, Posted
from virtual_time import run_at_once


def nothing() -> Iterator[Metric]:
    return iter(())


STARTER: ContextVar[str] = ContextVar("starter")


class Slow(Exporter):
    """Pushes that take so long each, then none at all, and note when they began."""

    def __init__(self, *takes_s: float, interval_s: int = 60) -> None:
        self.counts: Counter[str] = Counter()
        super().__init__(
            OtlpOptions("http://collector/v1/metrics", interval_s, None),
            nothing,
            {},
            lambda outcome, times: self.counts.update({outcome: times}),
        )
        self.takes_s = list(takes_s)
        self.began_s: list[float] = []
        self.is_cancelled = False
        self.knows_of: set[str] = set()

    async def push(self) -> Attempt:
        self.began_s.append(asyncio.get_running_loop().time() - 1_000)
        self.knows_of.add(STARTER.get("nobody"))
        try:
            await asyncio.sleep(self.takes_s.pop(0) if self.takes_s else 0)
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        return Attempt(Posted.DELIVERED)


@pytest.mark.parametrize(
    ("takes_s", "began_s"),
    [
        pytest.param((), [0, 60, 120, 180], id="at once"),
        pytest.param((3, 50), [0, 60, 120, 180], id="less than an interval"),
        pytest.param((90,), [0, 90, 150], id="more than one: the next follows at once, and none is made up for"),
    ],
)
def test_a_push_is_begun_at_each_interval_after_the_begin_of_the_one_before(
    takes_s: tuple[float, ...], began_s: list[float]
) -> None:
    async def play() -> Slow:
        found = Slow(*takes_s)
        found.start()
        await asyncio.sleep(200)
        await found.stop()
        return found

    found = run_at_once(play())
    assert found.began_s == began_s
    assert found.counts["delivered"] == len(began_s)


def test_a_stop_ends_a_push_that_is_under_way_and_no_other_is_begun() -> None:
    async def play() -> Slow:
        found = Slow(1_000)
        found.start()
        await asyncio.sleep(10)
        await found.stop()
        await asyncio.sleep(5_000)
        return found

    found = run_at_once(play())
    assert (found.began_s, found.is_cancelled, found.counts["delivered"]) == ([0], True, 0)


def test_an_exporter_that_was_never_started_is_stopped_all_the_same() -> None:
    run_at_once(Slow().stop())


def test_each_outcome_is_known_before_there_was_any() -> None:
    assert Slow().counts == dict.fromkeys(set(Posted) - {Posted.GIVEN_UP}, 0)


def test_pushes_hold_nothing_of_what_started_them() -> None:
    """What starts them has the body of an event, which would stay in memory as long as they go on."""

    async def play() -> Slow:
        STARTER.set("an event")
        found = Slow()
        found.start()
        await asyncio.sleep(1)
        await found.stop()
        return found

    assert run_at_once(play()).knows_of == {"nobody"}


@pytest.mark.parametrize(("limit_s", "total_s", "connect_s"), [(None, 10, 5), (3.0, 3.0, 3.0)])
def test_an_answer_has_10_s_and_the_connection_5_s_of_these(
    limit_s: float | None, total_s: float, connect_s: float
) -> None:
    limits = () if limit_s is None else (limit_s,)
    made = Exporter(OtlpOptions("http://collector/", 60, None), nothing, {}, lambda *_: None, *limits)
    assert (made._timeout.total, made._timeout.connect) == (total_s, connect_s)
