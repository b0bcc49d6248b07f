"""A trace is played at its speed with its amplification; one that cannot be played is refused."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.bounds import ContractError
from sshload_contract.load import ReplayLoad, TraceRef
from sshload_contract.load.replay import MOST_ARRIVALS, Trace, read_trace, write_trace

OFFSETS = st.lists(st.integers(0, 100_000_000).map(lambda us: us / 1e6), min_size=1, max_size=60).map(sorted)
TRACES = st.builds(lambda offsets, rest_s: Trace(offsets, offsets[-1] + rest_s), OFFSETS, st.integers(0, 50))
SPEEDS = st.sampled_from([0.1, 0.5, 1.0, 3.0])


def replay(
    duration_s: float = 10.0, speed: float = 1.0, amplification: float = 1.0, max_rate: float = 1e5
) -> ReplayLoad:
    return ReplayLoad(TraceRef("monday", "trace.txt"), duration_s, speed, amplification, max_rate, 100, 1, "")


@given(trace=TRACES)
def test_a_trace_comes_back_equal_from_its_text(trace: Trace) -> None:
    found = read_trace(write_trace(trace, ["a comment"]).splitlines())
    assert list(found.offsets) == pytest.approx(list(trace.offsets), abs=1e-6)
    assert found.lasts_s == pytest.approx(trace.lasts_s, abs=1e-6)


@given(trace=TRACES, speed=SPEEDS, warm_up_s=st.sampled_from([0.0, 2.0]))
def test_a_replay_begins_each_recorded_arrival_at_its_time(trace: Trace, speed: float, warm_up_s: float) -> None:
    load = replay(20.0, speed)
    due = [offset / speed for offset in trace.offsets if offset / speed < 20.0 + warm_up_s]
    assert list(load.replayed(trace, warm_up_s)) == due


@given(trace=TRACES, speed=SPEEDS, amplification=st.sampled_from([0.3, 1.0, 2.0, 2.5, 7.0]))
def test_copies_of_an_arrival_come_before_the_next_and_never_go_back(
    trace: Trace, speed: float, amplification: float
) -> None:
    load = replay(2_000.0, speed, amplification)
    played = list(load.replayed(trace, 0.0))
    assert all(before <= after for before, after in pairwise(played))
    assert list(load.replayed(trace, 0.0)) == played
    whole = int(amplification)
    arrivals = len(trace.offsets)
    assert whole * arrivals <= len(played) <= (whole + (amplification > whole)) * arrivals
    for number, offset in enumerate(trace.offsets):
        later = sum(at >= offset / speed for at in played)
        assert later >= whole * (arrivals - number)


def test_amplification_keeps_the_share_that_it_says() -> None:
    trace = Trace([number / 10 for number in range(20_000)], 2_000.0)
    assert len(list(replay(2_000.0, amplification=0.25).replayed(trace, 0.0))) == pytest.approx(5_000, rel=0.05)
    assert len(list(replay(2_000.0, amplification=1.5).replayed(trace, 0.0))) == pytest.approx(30_000, rel=0.02)


def test_a_trace_that_is_too_short_is_refused_with_both_times() -> None:
    problem = replay(duration_s=60.0, speed=2.0).problem(Trace([0.0, 5.0], 100.0), 5.0)
    assert "lasts 100 s, which is 50 s at speed 2" in problem
    assert "take 65 s together" in problem
    assert not replay(duration_s=45.0, speed=2.0).problem(Trace([0.0, 5.0], 100.0), 5.0)


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        pytest.param("", "", "no arrival", id="empty"),
        pytest.param("0\nmany\n", "line 2", "must be seconds", id="a word"),
        pytest.param("# comment\n-1\n", "line 2", "must be seconds", id="before the beginning"),
        pytest.param("nan\n", "line 1", "must be seconds", id="no number"),
        pytest.param("inf\n", "line 1", "must be seconds", id="without end"),
        pytest.param("2\n1\n", "line 2", "earlier than the line before", id="out of order"),
        pytest.param("# lasts: 3\n4\n", "", "has an arrival after that", id="after its end"),
        pytest.param("1" * 300, "line 1", "more than 200 characters", id="a long line"),
    ],
)
def test_what_is_no_trace_is_refused_by_its_line(text: str, path: str, problem: str) -> None:
    with pytest.raises(ContractError) as refused:
        read_trace(text.splitlines())
    assert refused.value.path == path
    assert problem in refused.value.problem


@pytest.mark.slow
def test_a_trace_has_an_end_to_its_arrivals() -> None:
    with pytest.raises(ContractError, match="one arrival too many"):
        read_trace("0" for _ in range(MOST_ARRIVALS + 1))


def test_a_refusal_does_not_repeat_what_a_line_says() -> None:
    with pytest.raises(ContractError) as refused:
        read_trace(["hunter2"])
    assert "hunter2" not in str(refused.value)
