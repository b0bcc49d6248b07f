"""What is read from a summary of the connections that came to sshd, and when nothing can be."""

from dataclasses import replace
from typing import Any

import pytest
from plans import EXTERNAL, plan, quickstart
from runs import load, logins, retold, steps, summary, target_stats, throttled
from searches import failed, passed, search_plan, searched
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.decision.max_startups.arrivals import Burst, Even, Memoryless, Users
from sshload_operator.decision.max_startups.measured import Logins, NoFiguresError, measured_logins

ARRIVALS = {"rate": 20, "duration": "30s"}


def only(spec: dict[str, Any], found: RunSummary) -> Logins:
    """Return the logins of a load that makes them in one manner."""
    (one,) = measured_logins(plan(spec), found.trial)
    return one


def of(count: int, dropped: int = 0, **changes: Any) -> RunSummary:
    """Return the summary of so many connections in 30 s."""
    return summary(count - dropped, dropped, steps=logins(count, dropped), errors=throttled(dropped), **changes)


def assert_users(one: Logins, users: int, *, away_s: float) -> None:
    """Hold that the logins are those of users who are away for so long."""
    assert isinstance(one.arrivals, Users)
    assert one.arrivals.users == users
    assert one.arrivals.away_s == pytest.approx(away_s)


def test_the_time_is_that_of_banner_kex_and_auth_and_not_of_connecting() -> None:
    one = only(quickstart(), of(600))
    assert (one.alone_s, one.time_s) == pytest.approx((0.030, 0.060))


def test_dropped_connections_count_for_the_rate_and_not_for_how_many_are_at_once() -> None:
    one = only(quickstart(), of(600, 100))
    assert one.arrivals == Even(20.0)
    assert one.drop_share == pytest.approx(1 / 6)


def test_the_cpu_time_of_sshloads_own_process_is_that_of_no_login() -> None:
    before, after = target_stats(0, cpu_s=1.0, own_cpu_s=1.0), target_stats(600, cpu_s=13.0, own_cpu_s=7.0)
    found = of(600, target_before=before, target_after=after)
    assert only(quickstart(load={"arrivals": ARRIVALS}), found).cpu_allows_per_s == pytest.approx(100)


def test_poisson_arrivals_are_memoryless() -> None:
    assert only(quickstart(load={"arrivals": {"process": "poisson", "stages": [ARRIVALS]}}), of(600)).arrivals == (
        Memoryless(20.0)
    )


def test_even_arrivals_in_crowds_or_behind_a_jump_host_count_as_memoryless() -> None:
    crowd = summary(60_000, 0, steps=logins(60_000, 0))
    assert only(quickstart(), crowd).arrivals == Memoryless(2_000.0)
    assert only(quickstart(target={"external": EXTERNAL}, via=[EXTERNAL]), of(600)).arrivals == Memoryless(20.0)


def test_users_are_away_for_what_is_left_of_their_round() -> None:
    users = {"users": {"stages": [{"users": 4, "duration": "30s"}]}}
    assert_users(only(quickstart(load=users), of(600)), 4, away_s=4 / 20 - 0.060)


def test_a_burst_comes_at_one_instant() -> None:
    burst = {"burst": {"connections": 300, "repeat": 2, "interval": "15s"}}
    assert only(quickstart(load=burst), of(600, 50)).arrivals == Burst(300, 2)


def test_bursts_that_meet_logins_of_the_one_before_come_at_no_instant() -> None:
    burst = {"burst": {"connections": 60, "repeat": 3, "interval": "2s"}}
    (login,) = (step for step in steps(180, 0) if step.step == "login")
    slow = retold(of(180, 50), steps=(*logins(180, 50), replace(login, max_us=2_100_000)))
    with pytest.raises(NoFiguresError, match=r"up to 2\.1 s, so that each burst met logins of the burst 2 s before"):
        measured_logins(plan(quickstart(load=burst)), slow.trial)
    once = {"burst": {**burst["burst"], "repeat": 1}}
    assert only(quickstart(load=once), slow).arrivals == Burst(60, 1)


def test_timeouts_are_connections_that_were_open_for_so_long() -> None:
    late = ErrorCount("auth", Outcome.AUTH_TIMEOUT, Window.MEASURED, 6, "")
    spec = quickstart(client={"timeouts": {"auth": "5s"}})
    one = only(spec, retold(of(600), errors=(late,)))
    assert one.time_s == pytest.approx(0.060 + 6 * 5 / 600)


def test_drops_of_the_warm_up_and_of_jump_hosts_are_not_the_targets() -> None:
    others = (
        ErrorCount("banner", Outcome.THROTTLED, Window.WARM_UP, 50, ""),
        ErrorCount("via1.banner", Outcome.THROTTLED, Window.MEASURED, 50, ""),
    )
    assert only(quickstart(), retold(of(600, 7), errors=(*throttled(7), *others))).dropped == 7


def test_connections_that_were_closed_without_a_word_are_told() -> None:
    reset = ErrorCount("banner", Outcome.RESET_BEFORE_BANNER, Window.MEASURED, 3, "")
    one = only(quickstart(), retold(of(600), errors=(reset,)))
    assert (one.dropped, one.unexplained) == (0, 3)


def test_of_a_search_it_is_the_load_of_the_reported_trial() -> None:
    plan_of_search = search_plan("users")
    found = searched(passed(16), failed(32), lower=16, upper=32, steps=logins(600, 0))
    assert plan_of_search.spec.load.least.amount == 10
    assert_users(measured_logins(plan_of_search, found.trial)[0], 16, away_s=16 / 20 - 0.060)


def test_held_sessions_come_within_the_ramp_and_probes_after_it() -> None:
    hold = {"hold": {"sessions": 400, "rampUp": "10s", "duration": "20s", "probeRate": 5}}
    probes = logins(100, 0)
    found = summary(100, 0, steps=(*probes, *logins(400, 40, "held.")), errors=throttled(40, "held."))
    held, probing = measured_logins(plan(quickstart(load=hold)), found.trial)
    assert (held.arrivals, held.dropped) == (Even(40.0), 40)
    assert (probing.arrivals, probing.dropped) == (Even(5.0), 0)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        pytest.param({"scenario": {"sessionReuse": "pool", "poolSize": 4}}, "sessionReuse", id="kept sessions"),
        pytest.param(
            {"load": {"arrivals": {"stages": [ARRIVALS, {"rate": 40, "duration": "30s"}]}}}, "levels", id="stages"
        ),
        pytest.param({"client": {"library": "openssh"}}, "openssh", id="no parts of a login"),
        pytest.param(
            {
                "target": {"external": EXTERNAL},
                "via": [EXTERNAL],
                "load": {"burst": {"connections": 300, "repeat": 2, "interval": "15s"}},
            },
            "jump hosts",
            id="a burst behind a jump host",
        ),
    ],
)
def test_what_cannot_carry_advice_says_why(changes: dict[str, Any], word: str) -> None:
    spec = quickstart()
    scenario = {**spec["scenario"], **changes.pop("scenario", {})}
    with pytest.raises(NoFiguresError, match=word):
        measured_logins(plan({**spec, "scenario": scenario, **changes}), of(600).trial)


def test_a_few_logins_do_not_tell_how_long_they_take() -> None:
    with pytest.raises(NoFiguresError, match="30 logins"):
        measured_logins(plan(), of(29).trial)
    with pytest.raises(NoFiguresError, match="30 logins"):
        measured_logins(plan(), summary(0, 0, steps=(), load=load(0)).trial)


def test_where_most_fail_otherwise_nothing_is_told() -> None:
    lost = ErrorCount("kex", Outcome.DISCONNECTED, Window.MEASURED, 300, "")
    with pytest.raises(NoFiguresError, match="other reasons"):
        measured_logins(plan(), retold(of(600), errors=(lost,)).trial)


@pytest.mark.parametrize(("users", "away_s"), [(4, 4 / 20 - 0.060), (1, 0.001)], ids=["away", "hardly ever away"])
def test_users_are_away_for_a_millisecond_at_least(users: int, away_s: float) -> None:
    model = {"users": {"stages": [{"users": users, "duration": "30s"}]}}
    assert_users(only(quickstart(load=model), of(600)), users, away_s=away_s)


def test_users_who_are_dropped_are_away_for_longer_than_those_who_log_in() -> None:
    users = {"users": {"stages": [{"users": 4, "duration": "30s"}]}}
    assert_users(only(quickstart(load=users), of(600, 150)), 4, away_s=4 / 20 - 0.060 * 0.75)


@pytest.mark.parametrize(("mean_us", "is_even"), [(249_999.0, True), (250_000.0, False)])
def test_from_fifteen_at_once_on_even_arrivals_count_as_memoryless(mean_us: float, *, is_even: bool) -> None:
    """20 logins per second of three times 250 ms are 15 at once."""
    crowd = retold(of(600), steps=tuple(replace(step, mean_us=mean_us) for step in logins(600, 0)))
    assert isinstance(only(quickstart(), crowd).arrivals, Even) is is_even


def test_thirty_logins_are_enough_and_a_tenth_of_them_may_fail_otherwise() -> None:
    assert only(quickstart(), of(30)).attempted == 30
    for lost, is_enough in ((3, True), (4, False)):
        kex = ErrorCount("kex", Outcome.DISCONNECTED, Window.MEASURED, lost, "")
        found = retold(of(40, 10), errors=(*throttled(10), kex))
        if is_enough:
            assert only(quickstart(), found).dropped == 10
        else:
            with pytest.raises(NoFiguresError, match="4 of 40 connections failed for other reasons than a drop"):
                measured_logins(plan(), found.trial)


@pytest.mark.parametrize("lacks", ["connect", "banner", "kex", "auth"])
def test_logins_of_which_a_part_was_not_timed_tell_nothing(lacks: str) -> None:
    untimed = tuple(step for step in logins(600, 0) if step.step != lacks)
    with pytest.raises(NoFiguresError, match="30 logins"):
        measured_logins(plan(), summary(steps=untimed).trial)


@pytest.mark.parametrize("unknown", [{"mean_us": None}, {"min_us": None}], ids=str)
def test_logins_of_which_a_figure_is_not_known_tell_nothing(unknown: dict[str, Any]) -> None:
    found = tuple(replace(step, **unknown) if step.step == "kex" else step for step in logins(600, 0))
    with pytest.raises(NoFiguresError, match="30 logins"):
        measured_logins(plan(), summary(steps=found).trial)


def test_a_window_without_length_tells_nothing() -> None:
    with pytest.raises(NoFiguresError, match="30 logins"):
        measured_logins(plan(), of(600, load=load(600, duration_s=0.0)).trial)


@pytest.mark.parametrize(("longest_us", "is_told"), [(2_000_000, True), (2_000_001, False)])
def test_a_login_may_take_until_the_next_burst(longest_us: int, *, is_told: bool) -> None:
    burst = plan(quickstart(load={"burst": {"connections": 60, "repeat": 3, "interval": "2s"}}))
    (login,) = (step for step in steps(180, 0) if step.step == "login")
    found = retold(of(180), steps=(*logins(180, 0), replace(login, max_us=longest_us)))
    if is_told:
        assert measured_logins(burst, found.trial)[0].arrivals == Burst(60, 3)
    else:
        with pytest.raises(NoFiguresError, match="longer interval"):
            measured_logins(burst, found.trial)


@pytest.mark.parametrize(
    ("outcome", "part", "timeout"),
    [
        (Outcome.BANNER_TIMEOUT, "banner", "banner"),
        (Outcome.KEX_TIMEOUT, "kex", "kex"),
        (Outcome.AUTH_TIMEOUT, "auth", "auth"),
    ],
)
def test_each_timeout_keeps_a_connection_open_for_its_time(outcome: Outcome, part: str, timeout: str) -> None:
    late = ErrorCount(part, outcome, Window.MEASURED, 6, "")
    spec = quickstart(client={"timeouts": {timeout: "7s"}})
    assert only(spec, retold(of(600), errors=(late,))).time_s == pytest.approx(0.060 + 6 * 7 / 600)


def test_other_failures_take_no_time_of_those_that_log_in() -> None:
    lost = ErrorCount("kex", Outcome.DISCONNECTED, Window.MEASURED, 6, "")
    assert only(quickstart(), retold(of(600), errors=(lost,))).time_s == pytest.approx(0.060)


def test_drops_without_a_rule_are_drops() -> None:
    unknown = ErrorCount("banner", Outcome.DROPPED_UNKNOWN, Window.MEASURED, 60, "Not allowed at this time")
    assert only(quickstart(), retold(of(600), errors=(unknown,))).dropped == 60


@pytest.mark.parametrize(
    ("accepted", "cpu_s", "cores", "allows"),
    [
        (600, 6.0, None, 100.0),
        (600, 6.0, 2.0, 200.0),
        (30, 6.0, None, 5.0),
        (29, 6.0, None, None),
        (600, 0.0, None, None),
    ],
)
def test_a_core_allows_as_many_logins_as_their_cpu_time_fits_into_it(
    accepted: int, cpu_s: float, cores: float | None, allows: float | None
) -> None:
    before = target_stats(5, cpu_s=1.0)
    after = target_stats(5 + accepted, cpu_s=1.0 + cpu_s, cpu_limit_cores=cores)
    found = of(600, target_before=before, target_after=after)
    assert only(quickstart(), found).cpu_allows_per_s == (None if allows is None else pytest.approx(allows))


@pytest.mark.parametrize("unread", [{"target_before": None}, {"target_after": None}], ids=str)
def test_a_target_that_was_not_read_twice_tells_of_no_cpu(unread: dict[str, Any]) -> None:
    one = only(quickstart(), of(600, **unread))
    assert one.cpu_allows_per_s is None


BURST = quickstart(load={"burst": {"connections": 300, "repeat": 2, "interval": "15s"}})


@pytest.mark.parametrize(("before", "after", "is_lost"), [(3, 3, False), (3, 4, True)])
def test_a_listen_queue_that_overflowed_before_the_run_did_not_in_it(before: int, after: int, *, is_lost: bool) -> None:
    found = of(
        600,
        target_before=target_stats(0, listen_overflows=before),
        target_after=target_stats(700, listen_overflows=after),
    )
    assert only(BURST, found).overflowed is is_lost


@pytest.mark.parametrize(("longest_us", "is_lost"), [(999_999, False), (1_000_000, True), (None, False)])
@pytest.mark.parametrize("unread", [{"target_before": None}, {"target_after": None}], ids=str)
def test_without_both_counts_a_connection_of_a_second_was_lost_once(
    longest_us: int | None, unread: dict[str, Any], *, is_lost: bool
) -> None:
    connect, *parts = logins(600, 0)
    found = of(600, **unread)
    found = retold(found, steps=(replace(connect, max_us=longest_us), *parts))
    assert only(BURST, found).overflowed is is_lost


def test_banners_that_never_came_are_of_connections_that_sshd_never_saw_only_if_the_queue_overflowed() -> None:
    late = ErrorCount("banner", Outcome.BANNER_TIMEOUT, Window.MEASURED, 50, "")
    for overflows, attempted in ((0, 600), (1, 550)):
        after = target_stats(700, listen_overflows=overflows)
        assert only(BURST, retold(of(600, target_after=after), errors=(late,))).attempted == attempted


def test_only_a_burst_overflows_the_listen_queue() -> None:
    assert not only(quickstart(), of(600, target_after=target_stats(700, listen_overflows=9))).overflowed


def of_hold(probes: int, **hold: Any) -> tuple[Logins, ...]:
    spec = {"hold": {"sessions": 400, "rampUp": "10s", "duration": "20s", "probeRate": 5, **hold}}
    found = summary(100, 0, steps=(*logins(probes, 0), *logins(400, 0, "held.")), errors=())
    return measured_logins(plan(quickstart(load=spec)), found.trial)


def test_sessions_that_are_held_at_once_are_a_burst() -> None:
    held, _ = of_hold(100, rampUp="0s")
    assert held.arrivals == Burst(400, 1)


def test_few_probes_are_left_out() -> None:
    (held,) = of_hold(20)
    assert held.arrivals == Even(40.0)


def test_probes_that_reuse_sessions_are_left_out() -> None:
    spec = quickstart(load={"hold": {"sessions": 400, "rampUp": "10s", "duration": "20s", "probeRate": 5}})
    spec["scenario"] = {**spec["scenario"], "sessionReuse": "pool", "poolSize": 4}
    found = summary(100, 0, steps=(*logins(100, 0), *logins(400, 0, "held.")), errors=())
    (held,) = measured_logins(plan(spec), found.trial)
    assert held.attempted == 400
