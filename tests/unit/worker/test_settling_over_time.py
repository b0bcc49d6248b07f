"""How often and how long a target is asked before a trial, in virtual time.

`tests/integration/worker/test_settling.py` has the same with a target that answers by HTTP.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from runs import target_stats
from sshload_contract.wire.target import TargetStats
from sshload_worker.coordination import settling as module
from sshload_worker.coordination.settling import Settling
from sshload_worker.coordination.stats import UnresponsiveError
from virtual_greenlets import VirtualClock


@dataclass
class Target:
    """A target that is ready from `ready_s` on; until then it refuses at once, or with `hangs` not within the limit."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    ready_s: float = 0.0
    hangs: bool = False
    stats: Callable[[float], TargetStats | None] = lambda _: target_stats(1)
    asked: list[tuple[float, float]] = field(default_factory=list)
    fetched_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def at_s(self) -> float:
        """The time since the begin."""
        return round(self.clock.now_s - 1_000.0, 3)

    def check_ready(self, url: str, timeout_s: float) -> None:
        assert url == "http://target/stats"
        self.asked.append((self.at_s, timeout_s))
        if self.at_s < self.ready_s:
            if self.hangs:
                self.clock.sleep(timeout_s + 0.001)
            raise UnresponsiveError("not yet")

    def fetch(self, kind: type, url: str) -> TargetStats:
        assert (kind, url) == (TargetStats, "http://target/stats")
        self.fetched_s.append(self.at_s)
        stats = self.stats(self.at_s)
        if stats is None:
            raise UnresponsiveError("no answer")
        return stats

    def settling(self, **how: Any) -> Settling:
        return Settling("http://target/stats", self.problems.append, **how)

    def settle(self, settling: Settling) -> str:
        activity: str = self.clock.run(settling.settle)
        return activity


Make = Callable[..., Target]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def made(**how: Any) -> Target:
        target = Target(**how)
        monkeypatch.setattr(module, "gevent", SimpleNamespace(sleep=target.clock.sleep))
        monkeypatch.setattr(module, "monotonic", target.clock.monotonic)
        monkeypatch.setattr(module, "check_ready", target.check_ready)
        monkeypatch.setattr(module, "fetch_stats", target.fetch)
        return target

    return made


def test_a_target_that_refuses_is_asked_ten_times_a_second_and_each_problem_is_told(make: Make) -> None:
    target = make(ready_s=1.0)
    assert target.settle(target.settling()) == ""
    assert target.asked == [(pytest.approx(number / 10), 0.2) for number in range(11)]
    assert target.problems == ["not yet"] * 10 + [""]


def test_a_target_that_is_slow_to_answer_gets_twice_the_time_up_to_a_second(make: Make) -> None:
    target = make(ready_s=6.0, hangs=True)
    target.settle(target.settling())
    assert [timeout_s for _, timeout_s in target.asked] == [0.2, 0.4, 0.8, *[1.0] * 5]


def test_a_target_that_is_to_become_idle_is_asked_less_and_less_often_up_to_four_times_a_second(make: Make) -> None:
    target = make(stats=lambda at_s: target_stats(1, sessions=0 if at_s >= 2.0 else 3))
    assert target.settle(target.settling()) == ""
    pauses_s = [round(later - earlier, 3) for earlier, later in pairwise(target.fetched_s)]
    assert pauses_s[:4] == [0.05, 0.1, 0.2, 0.25]
    assert set(pauses_s[4:]) == {0.25}
    assert 2.0 <= target.at_s < 2.25


def test_a_target_that_does_not_become_idle_is_given_up_after_30_s_or_the_time_that_is_asked_for(make: Make) -> None:
    target = make(stats=lambda _: target_stats(1, sessions=3))
    assert "3 sessions open" in target.settle(target.settling())
    assert 30.0 <= target.at_s < 30.25
    soon = make(stats=lambda _: target_stats(1, sessions=3))
    assert "3 sessions open" in soon.settle(soon.settling(idle_timeout_s=0.05))
    assert soon.fetched_s == [0.0, 0.05]


def test_a_target_that_need_not_be_idle_is_not_asked_for_its_counts(make: Make) -> None:
    target = make(stats=lambda _: target_stats(1, sessions=3))
    assert (target.settle(target.settling(awaits_idle=False)), target.fetched_s) == ("", [])
    assert target.problems == [""]


def test_a_target_that_tells_no_counts_is_taken_for_idle(make: Make) -> None:
    target = make(stats=lambda _: None)
    settling = target.settling()
    assert (target.settle(settling), target.fetched_s) == ("", [0.0])
    assert settling.stats() is None


def test_what_is_left_is_told_in_sessions_and_in_processes_more_than_at_first(make: Make) -> None:
    told = iter([target_stats(1, processes=5), target_stats(1, processes=4), target_stats(1, processes=8)])
    target = make(stats=lambda _: next(told))
    settling = target.settling(idle_timeout_s=0.0)
    assert [target.settle(settling), target.settle(settling)] == ["", ""]
    assert target.settle(settling) == (
        "when the trial began, the target still had 0 sessions open and 3 processes more than before the first trial"
    )


def test_logins_that_the_target_has_not_told_of_are_those_since_it_was_seen_first(make: Make) -> None:
    told = iter([target_stats(7), target_stats(8), target_stats(9), target_stats(12)])
    target = make(stats=lambda _: next(told))
    settling = target.settling(idle_timeout_s=0.0)
    assert target.settle(settling) == ""
    settling.expect(2)
    assert target.settle(settling) == "when the trial began, the target had not yet reported 1 earlier logins"
    assert [target.settle(settling), target.settle(settling)] == ["", ""]
