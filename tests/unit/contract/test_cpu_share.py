"""A tenth of a CPU for whoever asks, by clocks that the test turns."""

from contextlib import suppress
from types import SimpleNamespace

import pytest
from sshload_contract.front import cpu_share as module
from sshload_contract.front.cpu_share import CpuShare


class Clocks:
    """A thread that computes, or waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = self.cpu_s = 100.0
        monkeypatch.setattr(
            module, "time", SimpleNamespace(monotonic=lambda: self.now_s, thread_time=lambda: self.cpu_s)
        )

    def compute(self, cpu_s: float) -> None:
        self.now_s += cpu_s
        self.cpu_s += cpu_s


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def test_what_was_never_done_may_be_done_at_once(clocks: Clocks) -> None:
    assert CpuShare().free_at_s <= clocks.now_s


def test_work_takes_a_tenth_of_the_time_in_pieces_or_at_once_and_also_if_it_fails(clocks: Clocks) -> None:
    share, begun_s = CpuShare(), clocks.now_s
    for _ in range(4):
        with suppress(ValueError), share.used():
            clocks.compute(0.5)
            raise ValueError
    assert share.free_at_s == pytest.approx(begun_s + 10 * 2.0 - 3 * 0.5)  # the pieces after the first are in its rest
    share, begun_s = CpuShare(), clocks.now_s
    with share.used():
        clocks.compute(2.0)
    assert share.free_at_s == begun_s + 10 * 2.0


def test_waiting_counts_as_no_work_and_saves_nothing_up(clocks: Clocks) -> None:
    share = CpuShare()
    with share.used():
        clocks.now_s += 1_000
    assert share.free_at_s == clocks.now_s
    clocks.now_s += 1_000
    with share.used():
        clocks.compute(1.0)
    assert share.free_at_s == clocks.now_s + 9.0
