"""The results in a status: every figure in the unit that its name says, and none that was not seen."""

from dataclasses import replace
from typing import Any

import finished_runs
import pytest
from crd_schema import problems, status_schema
from hypothesis import given
from hypothesis import strategies as st
from plans import plan, quickstart
from runs import NEGOTIATED, WARM_UP_LOGINS, errors, generator, load, retold, summary, target_stats
from sshload_contract.gateway_policy import PolicyName
from sshload_contract.load import HoldLoad
from sshload_contract.vocabulary import InPath, Outcome, Timing, Verdict, Window
from sshload_contract.wire.program import ProgramStats, ProgramUse
from sshload_contract.wire.report import ErrorCount, NegotiatedCount
from sshload_contract.wire.run_summary import EarlyEnd, StageStats
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.head import written
from sshload_operator.api.status.results import MOST_NEGOTIATED, MOST_STEPS, Results
from sshload_operator.api.status.steps import StepResult
from sshload_operator.decision.load_test.results import results_status
from sshload_operator.planning.plan import Plan
from sshload_operator.report.document import report_document
from statuses import percentile_of, results_json

PLAN = plan(quickstart(warmUp="5s"))
SCHEMA = status_schema()["properties"]["results"]


def test_the_whole_is_as_the_schema_of_the_crd_has_it() -> None:
    assert list(problems(results_json(PLAN, summary(590, 10)), SCHEMA, "results")) == []


def test_the_totals_are_those_of_the_measured_window() -> None:
    results = results_json(PLAN, summary(590, 10))
    assert {key: value for key, value in results.items() if not isinstance(value, dict | list)} == {
        "durationSeconds": 30.0,
        "offeredRate": 20.0,
        "achievedRate": 20.0,
        "completedRate": 19.667,
        "completedRateLow": 18.142,
        "completedRateHigh": 21.319,
        "iterations": 600,
        "failures": 10,
        "errorPercent": 1.666667,
        "p99Ms": 90.0,
    }


def test_the_warm_up_is_reported_apart() -> None:
    assert results_json(PLAN, summary())["warmUp"] == {"iterations": WARM_UP_LOGINS, "p99Ms": 90.0}


def step_of(results: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a step, or a part of one."""
    found: dict[str, Any] = next(one for one in (*results["steps"], *results["parts"]) if one["step"] == name)
    return found


def with_latency(percentile: float, step: str) -> Plan:
    return plan(quickstart(thresholds=[{"latency": {"step": step, "percentile": percentile, "below": "2s"}}]))


def interval(percentile: float, ms: float, **bounds: float) -> dict[str, float]:
    return {"percentile": percentile, "ms": ms, **bounds}


def test_a_whole_step_states_its_figures_as_numbers_with_the_intervals_of_those_that_are_shown() -> None:
    results = results_json(PLAN, summary(590, 10))
    assert step_of(results, "total") == {
        "step": "total",
        "count": 590,
        "failures": 10,
        "rate": 19.667,
        "minMs": 40.0,
        "meanMs": 50.0,
        "p50Ms": 45.0,
        "p90Ms": 60.0,
        "p95Ms": 70.0,
        "p99Ms": 90.0,
        "p999Ms": 120.0,
        "maxMs": 130.0,
        "intervals": [
            interval(50, 45.0, lowMs=42.75, highMs=47.7),
            interval(90, 60.0, lowMs=57.0, highMs=63.6),
            interval(99, 90.0, lowMs=85.5, highMs=95.4),
        ],
    }
    assert [one["step"] for one in results["steps"]] == ["login", "total"]
    assert list(problems(results, SCHEMA, "results")) == []


def test_a_part_of_a_step_stands_apart_with_what_comparisons_and_the_table_show() -> None:
    figures = {"meanMs": 50.0, "p50Ms": 45.0, "p90Ms": 60.0, "p99Ms": 90.0}
    parts = results_json(PLAN, summary(590, 10))["parts"]
    assert [one["step"] for one in parts] == ["startDelay", "connect", "auth", "exec"]
    assert parts[1] == {"step": "connect", "count": 590, **figures}
    assert parts[3] == {"step": "exec", "count": 590, "failures": 10, **figures}


def test_a_part_that_a_threshold_names_is_stated_as_a_whole_step_is() -> None:
    results = results_json(with_latency(99, "connect"), summary())
    assert step_of(results, "connect").keys() == step_of(results, "login").keys()


def test_a_percentile_that_a_threshold_names_has_its_interval() -> None:
    step = step_of(results_json(with_latency(95, "total"), summary()), "total")
    assert [one["percentile"] for one in step["intervals"]] == [50, 90, 95, 99]
    assert step["intervals"][2] == interval(95, 70.0, lowMs=66.5, highMs=74.2)


def test_a_percentile_that_is_held_against_a_baseline_has_its_interval_too() -> None:
    relative = {"latency": {"step": "total", "percentile": 95, "within": "10%"}}
    asked = plan(quickstart(thresholds=[relative], baseline={"lastPassed": True}))
    step = step_of(results_json(asked, summary()), "total")
    assert interval(95, 70.0, lowMs=66.5, highMs=74.2) in step["intervals"]


def test_no_more_steps_are_stated_than_a_status_takes_and_they_are_the_first() -> None:
    sample = summary().trial.steps[-1]
    many = tuple(replace(sample, step=f"s{number:03}.command") for number in range(MOST_STEPS + 5))
    results = results_json(PLAN, summary(steps=(*summary().trial.steps, *many)))
    stated = [step["step"] for step in (*results["steps"], *results["parts"])]
    assert len(stated) == MOST_STEPS
    assert "s000.command" in stated
    assert f"s{MOST_STEPS + 4:03}.command" not in stated


def test_a_percentile_without_fields_of_its_own_is_stated_where_a_threshold_names_it() -> None:
    listed = {"percentile": 75.0, "ms": 50.0, "lowMs": 48.0, "highMs": 52.0}
    with_75 = tuple(
        replace(
            step,
            percentiles_us={**step.percentiles_us, "75": 50_000},
            percentiles_low_us={**step.percentiles_low_us, "75": 48_000},
            percentiles_high_us={**step.percentiles_high_us, "75": 52_000},
        )
        for step in summary().trial.steps
    )
    results = results_json(with_latency(75, "login"), summary(steps=with_75))
    assert listed in step_of(results, "login")["intervals"]
    assert listed not in step_of(results, "total")["intervals"]
    assert list(problems(results, SCHEMA, "results")) == []


def test_a_percentile_that_a_threshold_names_with_many_digits_is_stated_as_it_was_measured() -> None:
    of_third = tuple(
        replace(step, percentiles_us={**step.percentiles_us, "33.33333333": 44_000}) for step in summary().trial.steps
    )
    results = results_json(with_latency(100 / 3, "login"), summary(steps=of_third))
    assert interval(33.33333333, 44.0) in step_of(results, "login")["intervals"]


def test_an_interval_reaches_as_far_as_the_samples_bound_it() -> None:
    unbounded = tuple(
        replace(
            step,
            percentiles_low_us={**step.percentiles_low_us, "50": None, "90": None},
            percentiles_high_us={**step.percentiles_high_us, "50": None, "99": None},
        )
        for step in summary().trial.steps
    )
    step = step_of(results_json(PLAN, summary(steps=unbounded)), "total")
    assert step["intervals"] == [interval(90, 60.0, highMs=63.6), interval(99, 90.0, lowMs=85.5)]
    ends = {one.percentile: (one.low_ms, one.high_ms) for one in read_fitting(StepResult, step).percentiles}
    assert [ends[one] for one in (50, 90, 99)] == [(None, None), (None, 63.6), (85.5, None)]


def test_each_step_stands_there_once() -> None:
    results = results_json(PLAN, summary())
    found = read_fitting(Results, results).all_steps
    assert [step.step for step in found] == ["startDelay", "connect", "auth", "login", "exec", "total"]
    twice = read_fitting(Results, {**results, "parts": [*results["parts"], {"step": "total", "count": 7}]})
    assert [step.count for step in twice.all_steps if step.step == "total"] == [600]


def test_a_burst_tells_how_many_of_its_connections_were_logged_in() -> None:
    burst = plan(quickstart(load={"burst": {"connections": 300, "repeat": 2, "interval": "5s"}}))
    refused = tuple(
        replace(step, count=520) if step.step == Timing.LOGIN else step for step in summary(520, 80).trial.steps
    )
    results = results_json(burst, summary(520, 80, steps=refused))
    assert results["burst"] == {"attempted": 600, "established": 520}
    assert list(problems(results, SCHEMA, "results")) == []


def test_a_step_that_moves_content_says_how_fast_and_no_other_does() -> None:
    moving = tuple(
        replace(step, bytes_per_second=1234567.8912 if step.step == Timing.EXEC else None)
        for step in summary().trial.steps
    )
    results = results_json(PLAN, summary(steps=moving))
    moved = {step.step: step.bytes_per_second for step in read_fitting(Results, results).all_steps}
    assert {step: told for step, told in moved.items() if told is not None} == {"exec": 1234567.891}
    assert list(problems(results, SCHEMA, "results")) == []


def test_what_the_target_was_refused_and_what_was_killed_in_it_is_told() -> None:
    before, after = target_stats(0, oom_kills=1, refused_forks=2), target_stats(600, oom_kills=4, refused_forks=2)
    target = results_json(PLAN, summary(target_before=before, target_after=after))["target"]
    assert (target["oomKills"], "refusedForks" in target) == (3, False)


def test_logins_are_counted_by_what_they_negotiated_whoever_they_are_for() -> None:
    """Sessions that are kept, and those that are held, log in outside of iterations."""
    found = summary(negotiated=(NegotiatedCount(NEGOTIATED, 7),), target_after=target_stats(7))
    assert results_json(PLAN, found)["target"]["clientLogins"] == 7


def test_a_percentile_of_too_few_samples_is_absent() -> None:
    bare = tuple(replace(step, percentiles_us={**step.percentiles_us, "99.9": None}) for step in summary().trial.steps)
    steps = read_fitting(Results, results_json(PLAN, summary(steps=bare))).steps
    assert all(step.percentile(99.9) is None for step in steps)
    assert all(step.percentile(99) is not None for step in steps)
    assert percentile_of(step_of(results_json(PLAN, summary()), "total"), 99.9) == 120.0


def test_a_run_without_iterations_has_no_error_rate() -> None:
    results = results_json(PLAN, summary(0, steps=(), load=load(0)))
    assert "errorPercent" not in results
    assert "p99Ms" not in results


def test_errors_come_with_the_most_frequent_first_and_without_the_warm_ups() -> None:
    found = (
        ErrorCount(Timing.TOTAL, Outcome.REFUSED, Window.MEASURED, 2, "refused"),
        ErrorCount(Timing.TOTAL, Outcome.THROTTLED, Window.MEASURED, 8, ""),
        ErrorCount(Timing.TOTAL, Outcome.REFUSED, Window.WARM_UP, 90, "refused"),
    )
    assert results_json(PLAN, summary(590, 10, errors=found))["errors"] == [
        {"step": "total", "outcome": "throttled", "count": 8},
        {"step": "total", "outcome": "refused", "count": 2, "firstMessage": "refused"},
    ]


def test_errors_that_are_as_frequent_stand_by_step_and_outcome_and_those_that_never_were_do_not() -> None:
    found = (
        ErrorCount("total", Outcome.THROTTLED, Window.MEASURED, 3, ""),
        ErrorCount("total", Outcome.REFUSED, Window.MEASURED, 3, ""),
        ErrorCount("login", Outcome.THROTTLED, Window.MEASURED, 3, ""),
        ErrorCount("login", Outcome.REFUSED, Window.MEASURED, 0, ""),
    )
    told = results_json(PLAN, summary(590, 10, errors=found))["errors"]
    assert [(one["step"], one["outcome"]) for one in told] == [
        ("login", "throttled"),
        ("total", "refused"),
        ("total", "throttled"),
    ]


def test_what_was_negotiated_is_counted_once_per_combination() -> None:
    other = replace(NEGOTIATED, kex="ecdh-sha2-nistp256")
    counts = (NegotiatedCount(NEGOTIATED, 3), NegotiatedCount(other, 5), NegotiatedCount(NEGOTIATED, 4))
    entries = results_json(PLAN, summary(negotiated=counts))["negotiated"]
    assert [(entry["kex"], entry["count"]) for entry in entries] == [
        ("curve25519-sha256", 7),
        ("ecdh-sha2-nistp256", 5),
    ]


def test_the_share_of_a_core_is_absent_where_no_whole_second_was_measured() -> None:
    found = results_json(PLAN, summary(generator=generator(cpu_cores=None)))
    assert "cpuPercent" not in found["generator"]
    assert "cpuPercent" in results_json(PLAN, summary(generator=generator(cpu_cores=0.0)))["generator"]


def test_workers_that_have_reported_nothing_state_no_figures_of_their_own() -> None:
    found = results_json(PLAN, summary(0, steps=(), started_unix_s=0.0))["generator"]
    assert found == {"workersExpected": 2, "workersConnected": 2}


def test_a_load_that_was_ended_early_says_when_and_by_which_threshold() -> None:
    found = results_json(PLAN, replace(summary(), early_end=EarlyEnd(7.25, "p99 of total below 2 s")))
    assert found["endedEarly"] == {"afterSeconds": 7.25, "threshold": "p99 of total below 2 s"}
    assert "endedEarly" not in results_json(PLAN, summary())


def test_what_the_generator_lost_and_by_how_much_it_was_late_is_told() -> None:
    lost = generator(workers_lost=1, reports_missing=2, overflows=3, loop_lag_p99_us=30_000, loop_lag_max_us=45_000)
    found = results_json(PLAN, summary(generator=lost))["generator"]
    told = {name: found[name] for name in ("workersLost", "reportsMissing", "overflows", "latenciesMayIncludeMs")}
    assert told == {"workersLost": 1, "reportsMissing": 2, "overflows": 3, "latenciesMayIncludeMs": 45.0}
    assert "latenciesMayIncludeMs" not in results_json(PLAN, summary())["generator"]


def test_failures_of_the_warm_up_are_among_its_iterations() -> None:
    failed = (replace(step, failures=7) if step.window is Window.WARM_UP else step for step in summary().trial.steps)
    warm_up = results_json(PLAN, summary(steps=tuple(failed)))["warmUp"]
    assert (warm_up["iterations"], warm_up["failures"]) == (WARM_UP_LOGINS + 7, 7)


def test_a_burst_of_which_no_login_was_seen_has_established_none() -> None:
    burst = plan(quickstart(load={"burst": {"connections": 300, "repeat": 2, "interval": "5s"}}))
    without = tuple(step for step in summary().trial.steps if step.step != Timing.LOGIN)
    assert results_json(burst, summary(steps=without))["burst"]["established"] == 0


def test_no_more_agreements_are_stated_than_a_status_takes_and_they_are_the_most_frequent() -> None:
    many = tuple(
        NegotiatedCount(replace(NEGOTIATED, cipher=f"c{number}"), number + 1) for number in range(MOST_NEGOTIATED + 3)
    )
    stated = results_json(PLAN, summary(negotiated=many))["negotiated"]
    assert [one["count"] for one in stated] == list(range(MOST_NEGOTIATED + 3, 3, -1))


@pytest.mark.parametrize("unread", ["target_before", "target_after"])
def test_a_target_that_was_read_only_once_has_no_figures(unread: str) -> None:
    assert "target" in results_json(PLAN, summary())
    assert "target" not in results_json(PLAN, summary(**{unread: None}))


@pytest.mark.parametrize(
    ("counter", "name"),
    [
        ("auth_failed", "authFailed"),
        ("cpu_throttled_s", "cpuThrottledSeconds"),
        ("oom_kills", "oomKills"),
        ("refused_forks", "refusedForks"),
        ("listen_overflows", "listenOverflows"),
    ],
)
def test_each_count_of_what_went_wrong_at_the_target_is_told_as_it_has_grown(counter: str, name: str) -> None:
    before, after = target_stats(0, **{counter: 2}), target_stats(700, **{counter: 9})
    target = results_json(PLAN, summary(target_before=before, target_after=after))["target"]
    assert target[name] == 7
    assert name not in results_json(PLAN, summary())["target"]


def test_behind_a_gateway_no_cpu_is_told_by_login_though_iterations_do_nothing_else() -> None:
    through = {"target": {"managed": {"gateway": {"policy": "pool"}}}, "scenario": {"steps": [{"sleep": "10ms"}]}}
    target = results_json(plan(quickstart(**through)), summary())["target"]
    assert "cpuPerLoginMs" not in target
    assert target["cpuPerIterationMs"] > 0


def test_a_target_that_used_no_cpu_used_none() -> None:
    still = target_stats(700, cpu_s=target_stats(0).cpu_s)
    assert results_json(PLAN, summary(target_after=still))["target"]["cpuSeconds"] == 0.0


def test_an_iteration_that_failed_took_cpu_time_too() -> None:
    found = summary(590, 10, generator=generator(cpu_s=7.0))
    per_iteration_ms = results_json(PLAN, found)["generator"]["cpuPerIterationMs"]
    assert per_iteration_ms == round(7_000 / (600 + WARM_UP_LOGINS), 3)


def test_the_generator_shows_its_own_health() -> None:
    found = results_json(PLAN, summary(load=load(599, late=3, scheduled=600, dropped=1), generator=generator()))
    assert found["generator"] == {
        "workersExpected": 2,
        "workersConnected": 2,
        "lateArrivals": 3,
        "droppedArrivals": 1,
        "cpuPercent": 20.0,
        "runDelayPercent": 2.0,
        "stolenPercent": 1.0,
        "loopLagP99Ms": 1.5,
        "loopLagMaxMs": 9.0,
    }


def test_the_cpu_time_of_the_workers_is_stated_for_each_iteration_that_ended_whenever_it_was() -> None:
    measured = summary(590, 10, generator=generator(cpu_s=3.0, memory_peak_bytes=50_000_000))
    total = next(step for step in measured.trial.steps if step.step == Timing.TOTAL and step.window is Window.MEASURED)
    warm_up = replace(total, window=Window.WARM_UP, count=total.count, failures=0)
    rest = tuple(step for step in measured.trial.steps if step.step != Timing.TOTAL)
    found = results_json(PLAN, retold(measured, steps=(*rest, total, warm_up)))["generator"]
    assert found["cpuPerIterationMs"] == pytest.approx(3_000 / (2 * total.count + total.failures), rel=0.01)
    assert found["memoryPeakBytes"] == 50_000_000


def test_held_sessions_are_no_iterations_over_which_cpu_time_could_be_shared() -> None:
    held = replace(
        PLAN,
        spec=replace(
            PLAN.spec, load=HoldLoad(sessions=10, ramp_up_s=1.0, duration_s=5.0, keep_alive_s=1.0, probe_rate=1.0)
        ),
    )
    assert "cpuPerIterationMs" not in results_json(held, summary(generator=generator(cpu_s=3.0)))["generator"]


def test_the_targets_count_stands_beside_the_clients_with_the_difference() -> None:
    after = target_stats(702, auth_failed=4, dropped_max_startups=5, dropped_is_lower_bound=True, cpu_s=22.06)
    assert results_json(PLAN, summary(target_before=target_stats(0, cpu_s=1.0), target_after=after))["target"] == {
        "sshdVersion": "OpenSSH_10.0p1",
        "accepted": 702,
        "clientLogins": 700,
        "loginDifference": 2,
        "authFailed": 4,
        "dropped": {"maxStartups": 5, "penalty": 0, "lowerBound": True},
        "cpuSeconds": 21.06,
        "cpuCores": 0.03,
        "cpuPerIterationMs": 30.086,
        "stolenPercent": 2.0,
        "memoryPeakBytes": 30_000_000,
    }


def test_what_was_measured_is_told_in_fields_of_its_own() -> None:
    facts = {"as_root": True, "pam": False, "accounts": "files", "distribution": "Debian"}
    target = results_json(PLAN, summary(target_after=target_stats(700, **facts)))["target"]
    told = {name: target[name] for name in ("asRoot", "pam", "accounts", "distribution")}
    assert told == {"asRoot": True, "pam": False, "accounts": "files", "distribution": "Debian"}


def test_a_target_with_which_all_was_well_states_no_count_of_what_was_not() -> None:
    target = results_json(PLAN, summary(target_after=target_stats(700)))["target"]
    assert target.keys() == {
        "sshdVersion",
        "accepted",
        "clientLogins",
        "cpuSeconds",
        "cpuCores",
        "cpuPerIterationMs",
        "stolenPercent",
        "memoryPeakBytes",
    }


def test_drops_that_may_be_of_an_earlier_trial_are_not_stated() -> None:
    before = target_stats(0, dropped_max_startups=4, dropped_is_lower_bound=True)
    after = target_stats(702, dropped_max_startups=301, dropped_is_lower_bound=True)
    target = results_json(PLAN, summary(target_before=before, target_after=after))["target"]
    assert target["dropped"] == {"penalty": 0, "lowerBound": True}


ONLY_LOGINS = plan(quickstart(warmUp="5s", scenario={"steps": [{"sleep": "100ms"}]}))


def test_where_iterations_only_log_in_the_cpu_of_a_login_is_told_without_the_observers() -> None:
    """At any rate: what sshload's own process takes beside sshd grows with the time and not with the logins."""
    for rate in (0.5, 5):
        lasted_s = 700 / rate
        before, after = target_stats(0, cpu_s=1.0, own_cpu_s=0.5), target_stats(700, cpu_s=1.0 + 700 * 0.036)
        after = replace(after, cpu_s=after.cpu_s + 0.02 * lasted_s, own_cpu_s=0.5 + 0.02 * lasted_s)
        target = results_json(ONLY_LOGINS, summary(target_before=before, target_after=after))["target"]
        assert (target["cpuPerLoginMs"], target["cpuSeconds"]) == (36.0, 25.2)
        assert "cpuPerIterationMs" not in target


def test_the_cores_that_the_target_kept_busy_are_told_alike_in_the_status_and_the_report() -> None:
    before = target_stats(0, at_unix_s=100.0, cpu_s=1.0, own_cpu_s=0.5)
    after = target_stats(700, at_unix_s=107.0, cpu_s=5.0, own_cpu_s=1.0)
    found = summary(target_before=before, target_after=after)
    assert results_json(PLAN, found)["target"]["cpuCores"] == 0.5
    assert report_document(replace(finished_runs.a_test(), summary=found), "0.1.0")["server"]["cores"] == 0.5


@pytest.mark.parametrize(
    ("later_s", "own_cpu_s", "cores"),
    [(5e-324, 0.5, None), (0.0, 0.5, None), (10.0, 9.0, 0.0)],
    ids=["hardly any time", "no time", "an observer that took more than all"],
)
def test_what_a_target_says_that_cannot_be_is_no_figure_that_a_status_cannot_have(
    later_s: float, own_cpu_s: float, cores: float | None
) -> None:
    before = target_stats(0, at_unix_s=0.0, cpu_s=1.0, own_cpu_s=0.5)
    after = target_stats(700, at_unix_s=later_s, cpu_s=9.0, own_cpu_s=own_cpu_s)
    found = summary(target_before=before, target_after=after)
    stated = results_json(PLAN, found)["target"]
    assert (stated.get("cpuCores"), stated["cpuSeconds"] >= 0) == (cores, True)
    server = report_document(replace(finished_runs.a_test(), summary=found), "0.1.0")["server"]
    assert (server or {}).get("cores") == cores


def test_where_sessions_run_commands_the_cpu_is_not_told_by_login_because_the_commands_are_in_it() -> None:
    target = results_json(PLAN, summary())["target"]
    assert "cpuPerLoginMs" not in target
    assert target["cpuPerIterationMs"] == pytest.approx(target["cpuSeconds"] * 1_000 / 700, rel=0.01)


def test_a_run_that_counts_for_nothing_has_no_advice() -> None:
    for verdict in Verdict:
        stated = written(results_status(PLAN, summary(), verdict))
        assert ("maxStartups" in stated) == (verdict in {Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE})


def test_where_sessions_are_kept_the_targets_cpu_is_not_told_by_login() -> None:
    kept = {"sessionReuse": "pool", "poolSize": 4, "steps": [{"exec": {"command": "uptime"}}]}
    target = results_json(plan(quickstart(scenario=kept)), summary())["target"]
    assert "cpuSeconds" in target
    assert "cpuPerLoginMs" not in target


def test_a_target_that_was_started_anew_shows_the_difference_and_no_negative_count() -> None:
    results = results_json(PLAN, summary(target_before=target_stats(900), target_after=target_stats(100)))
    assert results["target"]["loginDifference"] == -1_500
    assert "accepted" not in results["target"]
    assert (results["target"]["restarted"], results["target"]["oomKills"]) == (True, 0)
    assert list(problems(results, SCHEMA, "results")) == []


@pytest.mark.parametrize(("before", "after"), [(9, None), (None, 9)])
def test_what_the_kernel_told_in_one_of_two_readings_only_is_neither_a_restart_nor_a_count(
    before: int | None, after: int | None
) -> None:
    readings = target_stats(100, listen_overflows=before), target_stats(700, listen_overflows=after)
    target = results_json(PLAN, summary(target_before=readings[0], target_after=readings[1]))["target"]
    assert target["accepted"] == 600
    assert not {"restarted", "listenOverflows"} & target.keys()


PROXIED = {InPath.PROXY: ProgramUse(ProgramStats(1.5, 0.5, 9_000_000), ProgramStats(2.2, 0.5, 10_000_000))}


def test_the_proxys_cpu_stands_beside_the_logins_that_went_through_it() -> None:
    results = results_json(PLAN, summary(target_after=target_stats(700), in_path=PROXIED))
    assert results["proxy"] == {"cpuSeconds": 0.7, "cpuPerLoginMs": 1.0, "memoryPeakBytes": 10_000_000}
    assert list(problems(results, SCHEMA, "results")) == []


def test_where_nobody_was_let_in_the_proxys_cpu_is_of_no_login() -> None:
    nobody = summary(0, steps=(), load=load(0), target_after=target_stats(0), in_path=PROXIED)
    assert results_json(PLAN, nobody)["proxy"] == {"cpuSeconds": 0.7, "memoryPeakBytes": 10_000_000}


def test_the_cpu_of_a_login_is_told_to_the_microsecond() -> None:
    used = {InPath.PROXY: ProgramUse(ProgramStats(0.0, 0.0, 0), ProgramStats(1.0, 0.0, 0))}
    results = results_json(PLAN, summary(target_after=target_stats(700), in_path=used))
    assert results["proxy"]["cpuPerLoginMs"] == 1.429


def test_a_program_that_used_nothing_and_was_held_back_for_a_moment_says_both() -> None:
    used = {InPath.PROXY: ProgramUse(ProgramStats(1.5, 0.25, 0), ProgramStats(1.5, 0.5, 0))}
    proxy = results_json(PLAN, summary(in_path=used))["proxy"]
    assert (proxy["cpuSeconds"], proxy["cpuThrottledSeconds"]) == (0.0, 0.25)


def test_where_sessions_are_kept_the_proxys_cpu_is_told_by_iteration() -> None:
    kept = {"sessionReuse": "pool", "poolSize": 4, "steps": [{"exec": {"command": "uptime"}}]}
    found = summary(in_path=PROXIED)
    ended = sum(step.count + step.failures for step in found.trial.steps if step.step == "total")
    proxy = results_json(plan(quickstart(scenario=kept)), found)["proxy"]
    assert proxy["cpuPerIterationMs"] == round(700 / ended, 3)
    assert "cpuPerLoginMs" not in proxy


@pytest.mark.parametrize("policy", PolicyName)
def test_the_cpu_of_a_proxy_before_a_gateway_is_told_by_iteration_whichever_the_policy(policy: PolicyName) -> None:
    through = plan(quickstart(target={"managed": {"proxy": {"kind": "nginx"}, "gateway": {"policy": str(policy)}}}))
    found = summary(target_after=target_stats(700), in_path=PROXIED)
    ended = sum(step.count + step.failures for step in found.trial.steps if step.step == "total")
    assert results_json(through, found)["proxy"] == {
        "cpuSeconds": 0.7, "cpuPerIterationMs": round(700 / ended, 3), "memoryPeakBytes": 10_000_000
    }  # fmt: skip


def test_a_proxy_that_did_not_tell_is_absent_and_so_is_the_cpu_of_one_that_restarted() -> None:
    assert "proxy" not in results_json(PLAN, summary())
    again = {InPath.PROXY: ProgramUse(ProgramStats(1.5, 0.0, None), ProgramStats(0.2, 2.5, None))}
    assert results_json(PLAN, summary(in_path=again))["proxy"] == {"cpuThrottledSeconds": 2.5}


@pytest.mark.parametrize("policy", PolicyName)
def test_a_gateways_cpu_is_told_by_iteration_whichever_its_policy(policy: PolicyName) -> None:
    through = plan(quickstart(target={"managed": {"gateway": {"policy": str(policy)}}}))
    use = ProgramUse(ProgramStats(4.0, 0.0, 60_000_000), ProgramStats(4.5, 0.0, 70_000_000))
    found = summary(in_path={InPath.GATEWAY: use})
    ended = sum(step.count + step.failures for step in found.trial.steps if step.step == "total")
    results = results_json(through, found)
    per_iteration_ms = round(500 / ended, 3)
    assert results["gateway"] == {
        "cpuSeconds": 0.5, "memoryPeakBytes": 70_000_000, "cpuPerIterationMs": per_iteration_ms
    }  # fmt: skip
    assert "proxy" not in results
    assert list(problems(results, SCHEMA, "results")) == []


def test_a_gateway_that_restarted_has_no_cpu_and_one_that_did_not_tell_is_absent() -> None:
    through = plan(quickstart(target={"managed": {"gateway": {"policy": "pool"}}}))
    again = {InPath.GATEWAY: ProgramUse(ProgramStats(9.0, 0.0, None), ProgramStats(4.0, 1.5, None))}
    assert results_json(through, summary(in_path=again))["gateway"] == {"cpuThrottledSeconds": 1.5}
    assert "gateway" not in results_json(through, summary())


def test_a_target_that_did_not_answer_is_absent() -> None:
    assert "target" not in results_json(PLAN, summary(target_after=None))


_COUNTS = st.integers(min_value=0, max_value=10**7)
_MANY = tuple(
    ErrorCount(f"step-{number}", outcome, Window.MEASURED, number, "x" * 300)
    for number in range(20)
    for outcome in Outcome
)


@pytest.mark.slow
@given(succeeded=_COUNTS, failed=_COUNTS, accepted=_COUNTS, many=st.booleans())
def test_whatever_was_counted_fits_the_schema(succeeded: int, failed: int, accepted: int, *, many: bool) -> None:
    found = summary(succeeded, failed, target_after=target_stats(accepted))
    kept = retold(found, errors=_MANY if many else errors(failed))
    assert list(problems(results_json(PLAN, kept), SCHEMA, "results")) == []


def test_texts_that_a_tenants_own_worker_chose_are_as_long_as_the_crd_takes_them() -> None:
    long = "x" * 5_000
    agreed = NegotiatedCount(
        replace(NEGOTIATED, kex=long, cipher=long, mac=long, host_key=long, server_version=long), 1
    )
    named = tuple(replace(step, step=long) for step in summary().trial.steps)
    after = target_stats(700, sshd_version=long)
    error = ErrorCount(long, Outcome.EXIT_CODE, Window.MEASURED, 1, long)
    found = retold(summary(), steps=named, errors=(error,), negotiated=(agreed,), target_after=after)
    assert list(problems(results_json(PLAN, found), SCHEMA, "results")) == []


def test_a_target_that_names_no_version_of_its_sshd_has_none() -> None:
    found = results_json(PLAN, retold(summary(), target_after=target_stats(700, sshd_version="")))
    assert found["target"]["accepted"]
    assert "sshdVersion" not in found["target"]


def test_what_no_login_agreed_on_is_not_there() -> None:
    assert "negotiated" in results_json(PLAN, summary())
    assert "negotiated" not in results_json(PLAN, retold(summary(), negotiated=(NegotiatedCount(NEGOTIATED, 0),)))


STAGED = plan(
    quickstart(load={"arrivals": {"stages": [{"rate": 20, "duration": "15s"}, {"rate": 40, "duration": "15s"}]}})
)


def stages(*numbers: int) -> tuple[StageStats, ...]:
    total = next(
        step for step in summary(590, 10).trial.steps if step.step == "total" and step.window is Window.MEASURED
    )
    return tuple(StageStats(number, load(590, 10), total) for number in numbers)


def test_each_stage_of_a_load_with_several_has_its_figures() -> None:
    found = results_json(STAGED, summary(stages=stages(1, 2)))["stages"]
    assert [stage["stage"] for stage in found] == [1, 2]
    assert found[0] == {
        "stage": 1,
        "durationSeconds": 30.0,
        "offeredRate": 20.0,
        "completedRate": 19.667,
        "iterations": 600,
        "failures": 10,
        "p50Ms": 45.0,
        "p90Ms": 60.0,
        "p99Ms": 90.0,
    }
    assert list(problems(results_json(STAGED, summary(stages=stages(1, 2))), SCHEMA, "results")) == []


def test_of_users_a_stage_says_how_many_there_were() -> None:
    users = {"users": {"stages": [{"users": 5, "duration": "15s"}, {"users": 5, "toUsers": 9, "duration": "15s"}]}}
    first, second = results_json(plan(quickstart(load=users)), summary(stages=stages(1, 2)))["stages"]
    assert (first["users"], "toUsers" in first, second["users"], second["toUsers"]) == (5, False, 5, 9)


def test_a_stage_that_the_load_does_not_have_or_that_is_told_twice_stands_there_once_at_most() -> None:
    """Who prints a summary may be a tenant's own program."""
    found = results_json(STAGED, summary(stages=stages(2, 2, 3, 0)))["stages"]
    assert [stage["stage"] for stage in found] == [2]
    assert "stages" not in results_json(PLAN, summary(stages=stages(1)))
