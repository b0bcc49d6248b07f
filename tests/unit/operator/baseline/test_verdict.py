"""The verdict of runs that are held against a baseline, by whole passes of the operator."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from baselines import EARLY, LAST_PASSED, WITHIN, asked, finished, run_to_end, seen, slower
from crd_schema import problems, status_schema
from lagging_generator import delayed
from passes import Passes
from plans import quickstart
from runs import errors, generator, load, retold, summary
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_summary import RunSummary

SCHEMA = status_schema()
P90 = "p90 of total within 10 % of the baseline"
TERMS = {
    "kind": "latency",
    "step": "total",
    "percentile": 90,
    "limit": 10,
    "unit": "% of the baseline",
}


def against(found: RunSummary, *tests: Any, **changes: Any) -> Passes:
    """Return a run that found this beside these tests, its status checked against the CRD."""
    passes = run_to_end(asked(**changes), found, seen(*tests))
    assert list(problems(passes.status, SCHEMA)) == []
    return passes


def test_a_run_as_fast_as_its_baseline_passes_and_says_so() -> None:
    passes = against(slower(1.02), finished(slower(1.0)))
    assert passes.said() == ("Passed", "ThresholdsMet")
    assert passes.status["message"] == (
        f"the thresholds were met: {P90} before: 61.2 ms, 1.02 (1.01 to 1.03) times the baseline's 60 ms"
    )
    assert passes.status["thresholds"] == [
        {
            **TERMS,
            "message": f"{P90}: 61.2 ms, 1.02 (1.01 to 1.03) times the baseline's 60 ms, 8 points to spare",
            "met": True,
            "value": 2.0,
            "low": 0.575,
            "high": 3.445,
        }
    ]


def test_a_run_slower_than_allowed_fails_and_says_by_how_much() -> None:
    passes = against(slower(1.3), finished(slower(1.0)))
    assert passes.said() == ("Failed", "ThresholdBroken")
    assert passes.status["message"] == (
        f"{P90} before, but it was 78 ms, 1.3 (1.28 to 1.32) times the baseline's 60 ms"
    )
    assert passes.condition("Passed")["status"] == "False"


def test_a_faster_run_passes() -> None:
    assert against(slower(0.5), finished(slower(1.0))).said() == ("Passed", "ThresholdsMet")


def test_what_the_noise_could_have_made_is_inconclusive_and_says_how_much_longer_it_takes() -> None:
    passes = against(slower(1.1, noise=0.2), finished(slower(1.0, noise=0.2)))
    assert passes.said() == ("Inconclusive", "WithinNoise")
    assert "both need a load 7.4 times as long for the noise to fall below 10 %" in passes.status["message"]
    assert "passed" not in passes.status["thresholds"][0]


def test_a_run_near_the_limit_is_inconclusive_and_says_how_much_longer_it_takes() -> None:
    passes = against(slower(1.09), finished(slower(1.0)))
    assert passes.said() == ("Inconclusive", "WithinNoise")
    assert "near the limit: both need a load 2.4 times as long" in passes.status["message"]


def test_a_run_at_the_limit_is_told_that_no_length_decides_it() -> None:
    message = against(slower(1.1), finished(slower(1.0))).status["message"]
    assert "no load is long enough" in message


def test_the_noise_of_the_baseline_counts_as_much_as_the_runs_own() -> None:
    assert against(slower(1.05, noise=0.001), finished(slower(1.0, noise=0.2))).said()[1] == "WithinNoise"
    assert against(slower(1.05, noise=0.2), finished(slower(1.0, noise=0.001))).said()[1] == "WithinNoise"


def test_the_status_names_the_baseline() -> None:
    before = finished(slower(1.0))
    assert against(slower(1.0), before).status["baseline"] == {
        "test": "before",
        "uid": "uid-of-before",
        "verdict": "Passed",
        "completionTime": before["status"]["completionTime"],
    }


def test_a_threshold_of_its_own_that_is_broken_outranks_the_baseline() -> None:
    own = [{"latency": {"step": "total", "percentile": 90, "below": "30ms"}}, *WITHIN]
    for tests in ([finished(slower(1.0))], [], [finished(slower(1.0), verdict="Invalid")]):
        passes = against(slower(1.0), *tests, thresholds=own)
        assert passes.said() == ("Failed", "ThresholdBroken")
        assert passes.status["message"].startswith("p90 of total below 30 ms, but it was 60 ms")


def test_both_kinds_of_broken_thresholds_are_told() -> None:
    own = [{"latency": {"step": "total", "percentile": 90, "below": "30ms"}}, *WITHIN]
    passes = against(slower(2.0), finished(slower(1.0)), thresholds=own)
    assert passes.status["message"] == (
        f"p90 of total below 30 ms, but it was 120 ms; {P90} before, but it was 120 ms, "
        "2 (1.97 to 2.03) times the baseline's 60 ms"
    )
    assert [one["met"] for one in passes.status["thresholds"]] == [False, False]


def test_a_broken_threshold_outranks_one_that_cannot_be_judged() -> None:
    both = [{"throughput": {"within": "1%"}}, *WITHIN]
    assert against(slower(2.0), finished(slower(1.0)), thresholds=both).said() == ("Failed", "ThresholdBroken")
    too_few = [{"latency": {"step": "total", "percentile": 99.999, "below": "30ms"}}, *WITHIN]
    short = slower(2.0)
    assert against(short, finished(slower(1.0)), thresholds=too_few).said() == ("Failed", "ThresholdBroken")


def test_what_keeps_its_own_thresholds_still_has_to_keep_the_relative_ones() -> None:
    own = [{"errorRate": {"below": "1%"}}, *WITHIN]
    assert against(slower(1.3), finished(slower(1.0)), thresholds=own).said() == ("Failed", "ThresholdBroken")
    passed = against(slower(1.0), finished(slower(1.0)), thresholds=own)
    assert passed.said() == ("Passed", "ThresholdsMet")
    assert passed.status["message"].startswith("the threshold was met: 600 iterations")
    assert "times the baseline's 60 ms" in passed.status["message"]


def test_an_invalid_run_stays_invalid_whatever_its_baseline() -> None:
    incomplete = slower(1.0, generator=generator(reports_missing=1))
    assert against(incomplete, finished(slower(1.0))).said() == ("Invalid", "ReportsMissing")
    assert "baseline" not in against(incomplete, finished(slower(1.0))).status


def test_an_invalid_run_names_its_relative_thresholds_as_not_judged() -> None:
    passes = against(slower(1.0, generator=generator(reports_missing=1)), finished(slower(1.0)))
    assert passes.status["thresholds"] == [{**TERMS, "message": f"{P90}: not compared with a baseline"}]


def test_a_run_whose_load_did_not_begin_lists_no_thresholds() -> None:
    refused = LoginFailure(0, 0, "ssh.example.com", 22, Outcome.AUTH_REJECTED, "permission denied")
    lost = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.LOGIN_FAILED, login_failure=refused)
    passes = against(lost, finished(slower(1.0)))
    assert passes.said() == ("Error", "CredentialsRejected")
    assert "thresholds" not in passes.status


def test_a_run_whose_generator_lagged_is_invalid_for_nothing_can_be_held_against_a_baseline() -> None:
    passes = against(delayed(slower(1.0), 300_000), finished(slower(1.0)))
    assert passes.said() == ("Invalid", "GeneratorSaturated")
    assert "300 ms of the generator's own delay" in passes.status["message"]
    assert passes.status["results"]["generator"]["latenciesMayIncludeMs"] == 300
    assert passes.status["thresholds"] == [{**TERMS, "message": f"{P90}: not compared with a baseline"}]


def test_a_run_whose_generator_lagged_for_steal_says_so() -> None:
    lagged = delayed(slower(1.0), 300_000)
    stolen = retold(lagged, generator=replace(lagged.trial.generator, stolen_share=0.2))
    passes = against(stolen, finished(slower(1.0)))
    assert passes.said() == ("Invalid", "CpuStolen")
    assert "Use another machine" in passes.status["message"]


def test_a_run_whose_generator_lagged_fails_by_a_threshold_of_its_own() -> None:
    spec = asked(thresholds=[*WITHIN, {"errorRate": {"below": "1%"}}])
    failed = delayed(summary(500, 100, errors=errors(100)), 300_000)
    assert run_to_end(spec, failed, seen(finished(slower(1.0)))).said() == ("Failed", "ThresholdBroken")


def test_a_baseline_whose_generator_lagged_is_none() -> None:
    passes = against(slower(1.0), finished(delayed(slower(1.0), 300_000)))
    assert passes.said() == ("Inconclusive", "NoBaseline")
    assert "before is not clean: its latencies may include 300 ms" in passes.status["message"]


def test_the_last_that_passed_with_a_generator_that_did_not_lag_is_the_baseline() -> None:
    clean = finished(slower(1.0), name="clean", now=EARLY - timedelta(hours=1))
    spoiled = finished(delayed(slower(1.0), 300_000), name="spoiled")
    passes = run_to_end(asked(baseline=LAST_PASSED), slower(1.0), seen(clean, spoiled))
    assert passes.said() == ("Passed", "ThresholdsMet")
    assert passes.status["baseline"]["test"] == "clean"


def test_without_a_baseline_nothing_passes() -> None:
    passes = against(slower(1.0))
    assert passes.said() == ("Inconclusive", "NoBaseline")
    assert passes.status["message"] == "there is no SSHLoadTest before in the namespace load-tests"
    assert passes.status["thresholds"] == [{**TERMS, "message": f"{P90}: not compared with a baseline"}]
    assert passes.condition("Passed")["status"] == "Unknown"


def test_a_run_that_is_compared_with_nothing_needs_no_baseline() -> None:
    for observed in (None, seen(), seen(finished(slower(1.0)))):
        passes = run_to_end(quickstart(), slower(2.0), observed)
        assert passes.said()[0] == "Passed"
        assert "baseline" not in passes.status


def test_a_baseline_that_cannot_be_one_is_named_beside_the_runs_own_thresholds() -> None:
    own = [{"errorRate": {"below": "1%"}}, *WITHIN]
    for run, before in ((slower(1.0), finished(slower(1.0), verdict="Invalid")), (slower(1.0), None)):
        passes = against(run, *([before] if before else []), thresholds=own)
        assert passes.said() == ("Inconclusive", "NoBaseline")
        assert [one["kind"] for one in passes.status["thresholds"]] == ["errorRate", "latency"]
        assert passes.status.get("baseline", {}).get("test") == ("before" if before else None)
    lagged = against(delayed(slower(1.0), 300_000), finished(slower(1.0)), thresholds=own)
    assert [one["kind"] for one in lagged.status["thresholds"]] == ["errorRate", "latency"]


def test_a_run_that_nobody_looked_for_a_baseline_of_does_not_pass() -> None:
    passes = run_to_end(asked(), slower(1.0), None)
    assert passes.said() == ("Inconclusive", "NoBaseline")


def test_throughput_is_held_against_what_was_completed_before() -> None:
    thresholds = [{"throughput": {"within": "20%"}}]
    before = finished(summary(600))
    assert against(summary(610), before, thresholds=thresholds).said() == ("Passed", "ThresholdsMet")
    assert against(summary(300), before, thresholds=thresholds).said() == ("Failed", "ThresholdBroken")
    assert against(summary(480), before, thresholds=thresholds).said() == ("Inconclusive", "WithinNoise")


def test_a_percentile_with_too_few_samples_is_inconclusive_on_either_side() -> None:
    thresholds = [{"latency": {"step": "total", "percentile": 99.99, "within": "10%"}}]
    passes = against(slower(1.0), finished(slower(1.0)), thresholds=thresholds)
    assert passes.said() == ("Inconclusive", "TooFewSamples")
    assert "p99.99 needs" in passes.status["message"]


def test_a_baseline_that_does_not_state_the_figure_is_none() -> None:
    before = finished(slower(1.0))
    for step in before["status"]["results"]["steps"]:
        step["intervals"] = [one for one in step["intervals"] if one["percentile"] != 90]
        del step["p90Ms"]
    assert against(slower(1.0), before).said() == ("Inconclusive", "NoBaseline")


def test_a_baseline_whose_thresholds_do_not_name_a_part_is_none_for_it() -> None:
    """Without its interval a ratio has no bounds, and a remedy that speaks of noise would lead astray."""
    thresholds = [{"latency": {"step": "connect", "percentile": 99, "within": "10%"}}]
    passes = against(slower(1.0), finished(slower(1.0)), thresholds=thresholds)
    assert passes.said() == ("Inconclusive", "NoBaseline")
    assert "states it without its interval" in passes.status["message"]


def test_a_baseline_whose_thresholds_name_the_part_too_is_held_against() -> None:
    within = [{"latency": {"step": "connect", "percentile": 90, "within": "10%"}}]
    below = [{"latency": {"step": "connect", "percentile": 90, "below": "1s"}}]
    before = finished(slower(1.0), quickstart(thresholds=below))
    assert against(slower(1.0), before, thresholds=within).said() == ("Passed", "ThresholdsMet")
    assert against(slower(1.3), before, thresholds=within).said() == ("Failed", "ThresholdBroken")


def test_a_finished_verdict_is_not_judged_anew_when_its_baseline_goes() -> None:
    passes = against(slower(1.0), finished(slower(1.0)))
    before = dict(passes.status)
    decision = passes.run(after_s=10)
    assert (decision.status, passes.status) == (None, before)


def test_the_same_facts_give_the_same_verdict_again() -> None:
    """As to an operator that was killed before it wrote the status."""
    tests = (finished(slower(1.0)), finished(slower(1.0), name="other"))
    once, again = (
        run_to_end(asked(baseline=LAST_PASSED), slower(1.1, noise=0.05), seen(*order)).status
        for order in (tests, tests[::-1])
    )
    assert once == again
