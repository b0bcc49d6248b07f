from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    ThinkTime,
    UsersLoad,
    UsersStage,
)
from sshload_worker.pacing.share import Share

WARM_UPS = st.sampled_from([0.0, 0.5, 3.0])

arrivals_loads = st.builds(
    ArrivalsLoad,
    stages=st.lists(
        st.builds(
            ArrivalsStage,
            rate=st.floats(min_value=0, max_value=80, allow_nan=False),
            duration_s=st.floats(min_value=0.1, max_value=5),
            to_rate=st.none() | st.floats(min_value=0, max_value=80, allow_nan=False),
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
    process=st.sampled_from(ArrivalProcess),
    max_in_flight=st.integers(min_value=1, max_value=1000),
    seed=st.integers(min_value=0, max_value=2**32),
)
burst_loads = st.builds(
    BurstLoad,
    connections=st.integers(min_value=1, max_value=50),
    repeat=st.integers(min_value=1, max_value=5),
    interval_s=st.floats(min_value=0.1, max_value=10),
)
hold_loads = st.builds(
    HoldLoad,
    sessions=st.integers(min_value=1, max_value=60),
    ramp_up_s=st.sampled_from([0.0, 0.3, 2.0, 7.1]),
    duration_s=st.floats(min_value=0.1, max_value=5),
    keep_alive_s=st.sampled_from([0.0, 0.5, 3.3]),
    probe_rate=st.sampled_from([0.0, 0.7, 10.0, 80.0]),
)
users_loads = st.builds(
    UsersLoad,
    stages=st.lists(
        st.builds(
            UsersStage,
            users=st.integers(min_value=0, max_value=30),
            duration_s=st.floats(min_value=0.1, max_value=5),
            to_users=st.none() | st.integers(min_value=0, max_value=30),
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
    spawn_rate=st.sampled_from([0.0, 0.7, 10.0, 1000.0]),
    think_time=st.just(ThinkTime(0.0, 0.0)),
)


def constant(*stages: tuple[float, float]) -> ArrivalsLoad:
    return ArrivalsLoad(
        stages=tuple(ArrivalsStage(rate=rate, duration_s=seconds) for rate, seconds in stages),
        process=ArrivalProcess.CONSTANT,
        max_in_flight=100,
        seed=1,
    )


@given(
    load=arrivals_loads | burst_loads | hold_loads, warm_up_s=WARM_UPS, workers=st.integers(min_value=1, max_value=7)
)
def test_the_union_over_workers_is_exactly_the_schedule_of_one(
    load: ArrivalsLoad | BurstLoad | HoldLoad, warm_up_s: float, workers: int
) -> None:
    whole = list(load.due(warm_up_s))
    shares = [list(Share(index, workers).take(load.due(warm_up_s))) for index in range(workers)]
    assert sorted(offset for share in shares for offset in share) == whole
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(load=arrivals_loads | burst_loads | hold_loads, warm_up_s=WARM_UPS)
def test_arrivals_never_go_back_and_end_with_the_load(
    load: ArrivalsLoad | BurstLoad | HoldLoad, warm_up_s: float
) -> None:
    offsets = list(load.due(warm_up_s))
    assert all(before <= after for before, after in pairwise(offsets))
    assert all(0 <= offset <= warm_up_s + load.lasts_s for offset in offsets)


def test_constant_arrivals_are_evenly_spaced_stage_by_stage() -> None:
    assert list(constant((2, 1), (4, 0.5)).due(0.0)) == [0.0, 0.5, 1.0, 1.25]


def test_a_stage_of_rate_zero_is_a_pause() -> None:
    assert list(constant((1, 2), (0, 3), (1, 1)).due(0.0)) == [0.0, 1.0, 5.0]


def test_the_warm_up_runs_the_first_rate_before_the_stages() -> None:
    offsets = list(constant((2, 1), (100, 1)).due(1.0))
    assert [offset for offset in offsets if offset < 1.0] == [0.0, 0.5]
    assert offsets[2:4] == [1.0, 1.5]


@given(
    rate=st.floats(min_value=0, max_value=80),
    to_rate=st.floats(min_value=0, max_value=80),
    duration_s=st.floats(min_value=0.5, max_value=20),
)
def test_a_ramp_has_begun_as_many_at_each_moment_as_the_area_below_its_rate(
    rate: float, to_rate: float, duration_s: float
) -> None:
    stages = (ArrivalsStage(rate=rate, duration_s=duration_s, to_rate=to_rate),)
    load = ArrivalsLoad(stages=stages, process=ArrivalProcess.CONSTANT, max_in_flight=1, seed=1)
    offsets = list(load.due(0.0))
    for share in (0.25, 0.5, 0.75, 1.0):
        after_s = share * duration_s
        rate_then = rate + (to_rate - rate) * share
        area = (rate + rate_then) / 2 * after_s
        assert sum(offset < after_s for offset in offsets) == pytest.approx(area, abs=1.001)
    assert load.iterations == pytest.approx((rate + to_rate) / 2 * duration_s)


def test_a_poisson_ramp_has_as_many_arrivals_in_each_part_as_its_rate_says() -> None:
    stages = (ArrivalsStage(rate=0, duration_s=400, to_rate=100),)
    offsets = list(ArrivalsLoad(stages=stages, process=ArrivalProcess.POISSON, max_in_flight=1, seed=7).due(0.0))
    for begin_s in range(0, 400, 100):
        expected = 100 * (begin_s + 50) / 4
        assert sum(begin_s <= offset < begin_s + 100 for offset in offsets) == pytest.approx(
            expected, abs=5 * expected**0.5
        )


def test_users_of_a_ramp_begin_evenly_and_leave_evenly() -> None:
    up, down = UsersStage(users=1, duration_s=8, to_users=5), UsersStage(users=5, duration_s=2, to_users=3)
    load = UsersLoad(stages=(up, down), spawn_rate=0, think_time=ThinkTime(0, 0))
    changes = [(change.at_s, change.user, change.begins) for change in load.changes(0.0)]
    rising = [(0.0, 0, True), (1.0, 1, True), (3.0, 2, True), (5.0, 3, True), (7.0, 4, True)]
    assert changes == [*rising, (8.5, 4, False), (9.5, 3, False)]


def test_poisson_arrivals_have_the_mean_rate_and_the_spread_of_a_memoryless_process() -> None:
    load = ArrivalsLoad(
        stages=(ArrivalsStage(rate=50, duration_s=400),), process=ArrivalProcess.POISSON, max_in_flight=1, seed=7
    )
    offsets = list(load.due(0.0))
    gaps = [after - before for before, after in pairwise(offsets)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert len(offsets) / 400 == pytest.approx(50, rel=0.03)
    assert variance**0.5 / mean == pytest.approx(1, abs=0.05)


def test_poisson_arrivals_come_at_the_same_times_however_their_rate_is_cut_into_stages() -> None:
    def offsets(*stages: ArrivalsStage) -> list[float]:
        return list(ArrivalsLoad(stages, ArrivalProcess.POISSON, max_in_flight=1, seed=7).due(0.0))

    whole = offsets(ArrivalsStage(rate=0.7, duration_s=90))
    assert offsets(*[ArrivalsStage(rate=0.7, duration_s=1)] * 90) == pytest.approx(whole)


def test_the_highest_rate_of_a_stage_is_one_that_it_has() -> None:
    assert [ArrivalsStage(0.5, 1, to_rate).most_rate for to_rate in (None, 0.2, 0.8)] == [0.5, 0.5, 0.8]


def test_the_same_seed_gives_the_same_poisson_arrivals() -> None:
    def offsets(seed: int) -> list[float]:
        stages = (ArrivalsStage(rate=50, duration_s=2),)
        load = ArrivalsLoad(stages=stages, process=ArrivalProcess.POISSON, max_in_flight=1, seed=seed)
        return list(load.due(0.0))

    assert offsets(1) == offsets(1)
    assert offsets(1) != offsets(2)


def test_a_burst_has_all_its_connections_at_one_instant() -> None:
    load = BurstLoad(connections=3, repeat=2, interval_s=10)
    assert list(load.due(0.0)) == [0.0] * 3 + [10.0] * 3
    assert load.lasts_s == 20


def test_a_burst_warms_up_with_one_burst_of_its_own() -> None:
    load = BurstLoad(connections=2, repeat=1, interval_s=10)
    assert list(load.due(5.0)) == [0.0, 0.0, 5.0, 5.0]


@given(total=st.integers(min_value=0, max_value=10_000), workers=st.integers(min_value=1, max_value=50))
def test_the_parts_of_a_limit_add_up_to_it(total: int, workers: int) -> None:
    assert sum(Share(index, workers).part(total) for index in range(workers)) == total


@given(load=users_loads, warm_up_s=WARM_UPS)
def test_every_user_that_leaves_had_begun_and_none_begins_twice(load: UsersLoad, warm_up_s: float) -> None:
    running: set[int] = set()
    at_s = 0.0
    for change in load.changes(warm_up_s):
        assert change.at_s >= at_s
        at_s = change.at_s
        assert (change.user in running) is not change.begins
        running.symmetric_difference_update({change.user})
        assert running == set(range(len(running)))
    if load.spawn_rate == 0.0:
        last = load.stages[-1]
        assert len(running) == (last.users if last.to_users is None else last.to_users)


@given(load=users_loads, workers=st.integers(min_value=1, max_value=6))
def test_every_user_belongs_to_exactly_one_worker(load: UsersLoad, workers: int) -> None:
    for change in load.changes(0.0):
        assert sum(Share(index, workers).owns(change.user) for index in range(workers)) == 1


def test_users_begin_at_the_spawn_rate_and_leave_at_it() -> None:
    load = UsersLoad(
        stages=(UsersStage(users=3, duration_s=10), UsersStage(users=1, duration_s=10)),
        spawn_rate=2,
        think_time=ThinkTime(0, 0),
    )
    changes = [(change.at_s, change.user, change.begins) for change in load.changes(0.0)]
    assert changes == [(0.0, 0, True), (0.5, 1, True), (1.0, 2, True), (10.0, 2, False), (10.5, 1, False)]


def test_a_stage_too_short_for_its_ramp_ends_where_it_got() -> None:
    load = UsersLoad(
        stages=(UsersStage(users=100, duration_s=1), UsersStage(users=0, duration_s=10)),
        spawn_rate=4,
        think_time=ThinkTime(0, 0),
    )
    begun = [change.user for change in load.changes(0.0) if change.begins]
    left = [change.user for change in load.changes(0.0) if not change.begins]
    assert begun == [0, 1, 2, 3]
    assert left == [3, 2, 1, 0]


def exact(value: float) -> Fraction:
    return Fraction(str(value))


@given(
    stages=st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.1, 2.0, 7.0]),
            st.none() | st.sampled_from([0.0, 0.7, 3.3]),
            st.sampled_from([0.1, 0.5, 1.0, 3.0]),
        ),
        min_size=1,
        max_size=12,
    ),
    warm_up_s=st.sampled_from([0.0, 0.7, 3.0]),
    workers=st.integers(min_value=1, max_value=5),
)
def test_stages_have_begun_at_each_border_what_their_rates_come_to_from_the_start_on_and_none_rounds_by_itself(
    stages: list[tuple[float, float | None, float]], warm_up_s: float, workers: int
) -> None:
    played = tuple(ArrivalsStage(rate, seconds, to_rate) for rate, to_rate, seconds in stages)
    load = replace(constant((1, 1)), stages=played)
    shares = [list(Share(index, workers).take(load.due(warm_up_s))) for index in range(workers)]
    offsets = [offset for share in shares for offset in share]
    expected, end_s = exact(stages[0][0]) * exact(warm_up_s), warm_up_s
    assert sum(offset < end_s for offset in offsets) == ceil(expected)
    for rate, to_rate, seconds in stages:
        expected += (exact(rate) + exact(rate if to_rate is None else to_rate)) / 2 * exact(seconds)
        end_s += seconds
        assert sum(offset < end_s for offset in offsets) == ceil(expected)
    assert len(offsets) == ceil(expected)


def test_ten_stages_of_half_an_arrival_each_begin_five() -> None:
    assert list(constant(*[(0.5, 1)] * 10).due(0.0)) == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_a_fraction_of_an_arrival_that_the_warm_up_leaves_is_carried_into_the_window() -> None:
    assert list(constant((0.5, 10)).due(1.0)) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_probes_of_a_warm_up_leave_their_fraction_for_the_time_after_the_ramp() -> None:
    load = HoldLoad(sessions=1, ramp_up_s=5, duration_s=4, keep_alive_s=0, probe_rate=0.5)
    assert list(load.due(1.0)) == [0.0, 7.0, 9.0]


def test_the_spawn_rate_counts_over_all_stages_however_short_each_is() -> None:
    stages = (UsersStage(users=10, duration_s=1),) * 10
    load = UsersLoad(stages=stages, spawn_rate=0.5, think_time=ThinkTime(0, 0))
    assert [change.at_s for change in load.changes(1.0)] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


@given(load=hold_loads, warm_up_s=WARM_UPS, workers=st.integers(min_value=1, max_value=7))
def test_every_held_session_logs_in_once_evenly_within_the_ramp(load: HoldLoad, warm_up_s: float, workers: int) -> None:
    shares = [list(Share(index, workers).take(enumerate(load.logins(warm_up_s)))) for index in range(workers)]
    logins = sorted(login for share in shares for login in share)
    assert [number for number, _ in logins] == list(range(load.sessions))
    offsets = [offset for _, offset in logins]
    assert offsets[0] == warm_up_s
    assert all(warm_up_s <= offset <= warm_up_s + load.ramp_up_s for offset in offsets)
    for before, after in pairwise(offsets):
        assert after - before == pytest.approx(load.ramp_up_s / load.sessions, abs=1e-6)
    assert all(Share(index, workers).owns(number) for index, share in enumerate(shares) for number, _ in share)


@given(load=hold_loads, warm_up_s=WARM_UPS)
def test_keep_alives_go_round_all_sessions_evenly_each_once_in_its_interval(load: HoldLoad, warm_up_s: float) -> None:
    asked = list(load.keep_alives(warm_up_s))
    assert bool(asked) <= (load.keep_alive_s > 0)
    assert [number for _, number in asked] == [count % load.sessions for count in range(len(asked))]
    assert all(warm_up_s < at_s < warm_up_s + load.lasts_s for at_s, _ in asked)
    for number in range(load.sessions):
        own = [at_s for at_s, asked_number in asked if asked_number == number]
        for before, after in pairwise(own):
            assert after - before == pytest.approx(load.keep_alive_s)
    for turn, (at_s, _) in enumerate(asked, start=1):
        late_s = at_s - warm_up_s - load.keep_alive_s * turn / load.sessions
        assert -1e-6 <= late_s <= min(0.025, load.keep_alive_s / 100) + 1e-6


@pytest.mark.parametrize(
    ("sessions", "keep_alive_s", "instants"),
    [
        pytest.param(10_000, 30.0, 1_200, id="each 25 ms"),
        pytest.param(10_000, 0.5, 100, id="a hundred times in an interval"),
        pytest.param(50, 30.0, 50, id="each session by itself"),
    ],
)
def test_sessions_whose_turns_are_close_ask_for_signs_of_life_together(
    sessions: int, keep_alive_s: float, instants: int
) -> None:
    load = HoldLoad(sessions=sessions, ramp_up_s=0.0, duration_s=60.0, keep_alive_s=keep_alive_s, probe_rate=1.0)
    asked = list(islice(load.keep_alives(0.0), sessions))
    together = Counter(at_s for at_s, _ in asked)
    assert len(together) == instants
    assert max(together.values()) - min(together.values()) <= 1


def test_probes_begin_after_the_ramp_and_before_it_only_in_the_warm_up() -> None:
    load = HoldLoad(sessions=5, ramp_up_s=10, duration_s=2, keep_alive_s=0, probe_rate=1)
    assert list(load.due(3.0)) == [0.0, 1.0, 2.0, 13.0, 14.0]
    assert load.lasts_s == 12
