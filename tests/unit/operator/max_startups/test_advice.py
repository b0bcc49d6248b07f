"""`status.results.maxStartups`: true to the schema, in words that fit, and silent where nothing is known."""

from dataclasses import replace
from typing import Any

import pytest
from crd_schema import problems, status_schema
from plans import EXTERNAL, plan, quickstart
from runs import NEGOTIATED, load, logins, retold, summary, target_stats, throttled
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.report import ErrorCount, NegotiatedCount
from sshload_contract.wire.run_summary import EarlyEnd, RunSummary
from sshload_operator.api.status.head import written
from sshload_operator.decision.max_startups.advice import LOST_SHARE, Need, advice, needed, recommended
from sshload_operator.decision.max_startups.arrivals import Arrivals, Burst, Even, LoginService, Memoryless, Users
from sshload_operator.decision.max_startups.measured import Logins
from sshload_operator.decision.max_startups.occupancy import most_found, occupancy
from sshload_operator.decision.max_startups.setting import DEFAULT
from sshload_operator.planning.plan import Plan
from statuses import results_json

SCHEMA = status_schema()["properties"]["results"]
POISSON = {"arrivals": {"process": "poisson", "stages": [{"rate": 100, "duration": "30s"}]}}
UNSHARED = {"min_us": 20_000, "mean_us": 20_000.0}


def told(spec: dict[str, Any], count: int, dropped: int, **figures: Any) -> dict[str, Any]:
    """Return the advice on so many connections in 30 s, whose logins took these times."""
    return stated(plan(spec), run(count, dropped, **figures))


def stated(asked: Plan, found: RunSummary) -> dict[str, Any]:
    """Return the advice as a status has it."""
    said = advice(asked, found)
    assert said is not None
    return written(said)


def run(count: int, dropped: int, *errors: ErrorCount, **figures: Any) -> RunSummary:
    """Return a valid run of so many connections."""
    parts = tuple(replace(step, **figures) for step in logins(count, dropped))
    whole = summary(count - dropped, dropped)
    others = tuple(step for step in whole.trial.steps if step.step not in {part.step for part in parts})
    return retold(whole, steps=(*others, *parts), errors=(*throttled(dropped), *errors))


def managed(max_startups: str, **changes: Any) -> dict[str, Any]:
    """Return a test of a managed target with this setting."""
    return quickstart(target={"managed": {"sshd": {"maxStartups": max_startups}}}, **changes)


def test_a_run_without_drops_confirms_a_setting_that_is_enough() -> None:
    found = told(managed("10:30:100"), 600, 0, **UNSHARED)
    assert {name: figure for name, figure in found.items() if name != "message"} == {
        "setting": "10:30:100",
        "predictedDropPercent": pytest.approx(0, abs=0.001),
        "observedDropPercent": 0.0,
        "recommended": "10:30:100",
    }
    assert found["message"] == (
        "0 % of the connections were dropped; MaxStartups 10:30:100 predicts 0 % (0 to 1.1 %). At this"
        " load and these login times, at most 6 connections log in at once: this setting drops none of them, with 25%"
        " headroom, and 10:30:100 is the smallest such setting."
    )


def test_drops_that_the_rule_predicts_are_told_with_the_setting_that_has_none() -> None:
    """2,000 Poisson arrivals in 30 s, each 150 ms long: ten at once."""
    found = told(managed("10:30:100", load=POISSON), 2_000, 230, min_us=50_000, mean_us=50_000.0)
    assert found["predictedDropPercent"] == pytest.approx(12.0, abs=0.1)
    assert found["observedDropPercent"] == 11.5
    assert found["recommended"] == "37:30:100"
    assert found["message"] == (
        "11.5 % of the connections were dropped; MaxStartups 10:30:100 predicts 12.01 % (0 to 27 %)."
        " At this load and these login times, at most 29 connections log in at once: 37:30:100 drops none of them, with"
        " 25% headroom."
    )


@pytest.mark.parametrize("version", ["SSH-2.0-dropbear_2025.88", "SSH-2.0-Go", "SSH-2.0-mod_sftp"])
def test_a_server_without_max_startups_gets_no_advice_on_it(version: str) -> None:
    dropbear = NegotiatedCount(replace(NEGOTIATED, server_version=version), 700)
    whole = retold(run(2_000, 230), negotiated=(dropbear,))
    assert advice(plan(quickstart(target={"external": EXTERNAL})), whole) is None


def test_full_rises_with_a_start_above_it() -> None:
    burst = {"burst": {"connections": 300, "repeat": 2, "interval": "15s"}}
    found = told(managed("3000:30:3000", load=burst), 600, 0)
    assert found["recommended"] == "375:30:375"


def test_a_burst_that_the_listen_queue_did_not_take_has_no_prediction() -> None:
    burst = {"burst": {"connections": 300, "repeat": 2, "interval": "15s"}}
    late = ErrorCount("banner", Outcome.BANNER_TIMEOUT, Window.MEASURED, 200, "")
    lost = retold(run(600, 60, late), target_after=replace(target_stats(700), listen_overflows=9))
    found = stated(plan(managed("10:30:100", load=burst)), lost)
    assert found is not None
    assert "predictedDropPercent" not in found
    assert (found["observedDropPercent"], found["recommended"]) == (15.0, "375:30:375")
    assert "listen queue of 128 overflowed" in found["message"]


def test_of_an_external_target_tcps_second_try_tells_of_the_listen_queue() -> None:
    burst = {"burst": {"connections": 300, "repeat": 2, "interval": "15s"}}
    spec = quickstart(target={"external": EXTERNAL}, load=burst)
    slow, quick = (
        stated(plan(spec), retold(run(600, 60, max_us=longest_us), target_before=None, target_after=None))
        for longest_us in (1_002_000, 900_000)
    )
    assert slow is not None
    assert quick is not None
    assert "listen queue" in slow["message"]
    assert "listen queue" not in quick["message"]


def test_drops_that_the_rule_does_not_explain_are_somebody_elses() -> None:
    found = told(managed("3000:30:3000", load=POISSON), 2_000, 230)
    assert found["predictedDropPercent"] == 0
    assert "something else drops too" in found["message"]


def test_drops_that_should_have_been_and_were_not_are_told() -> None:
    found = told(managed("10:30:100", load=POISSON), 9_000, 0, min_us=200_000, mean_us=200_000.0)
    assert found["predictedDropPercent"] > 60
    assert "sshd had fewer unauthenticated connections" in found["message"]


def test_an_external_target_has_a_recommendation_and_no_setting() -> None:
    found = told(quickstart(target={"external": EXTERNAL}, load=POISSON), 2_000, 230, min_us=50_000, mean_us=50_000.0)
    assert {"setting", "predictedDropPercent"} & set(found) == set()
    assert found["recommended"] == "37:30:100"
    assert "the MaxStartups of the target is not known" in found["message"]


def with_cpu(found: RunSummary, login_s: float, limit_cores: float | None) -> RunSummary:
    """Return the run on a target that used so much CPU for each login."""
    before, after = found.trial.target_before, found.trial.target_after
    assert before is not None
    assert after is not None
    used_s = login_s * (after.accepted - before.accepted)
    last = replace(after, cpu_s=before.cpu_s + used_s, cpu_limit_cores=limit_cores)
    return retold(found, target_before=replace(before, cpu_limit_cores=limit_cores), target_after=last)


OVERLOADED = (3_000, 750, {"min_us": 15_000, "mean_us": 55_000.0})
"""What is let in takes three times as long as alone, and a quarter is dropped."""


ONLY_LOGINS = {"steps": [{"sleep": "10ms"}]}


def overloaded(login_s: float, limit_cores: float | None, **scenario: Any) -> dict[str, Any]:
    count, dropped, times = OVERLOADED
    whole = run(count, dropped, **times)
    found = stated(
        plan(managed("10:30:100", load=POISSON, scenario=scenario or ONLY_LOGINS)),
        with_cpu(whole, login_s, limit_cores),
    )
    assert found is not None
    return found


def test_more_than_the_cpu_can_log_in_has_no_recommendation() -> None:
    """At 13 ms of CPU for a login, a core makes 77 in a second: the rest would wait for ever."""
    found = overloaded(login_s=0.013, limit_cores=1.0)
    assert "recommended" not in found
    assert found["message"].endswith(
        " Every setting drops some of such a load, which is more than the server can log in: 100 connections come per"
        " second, and it logs in at most 77."
    )


def test_thousands_of_connections_per_second_are_told_to_three_digits_and_without_an_exponent() -> None:
    whole = with_cpu(run(37_037, 9_259, min_us=1_500, mean_us=5_900.0), 0.0013, 1.0)
    found = stated(plan(managed("10:30:100", load=POISSON, scenario=ONLY_LOGINS)), whole)
    assert ": 1230 connections come per second, and it logs in at most 875." in found["message"]


@pytest.mark.parametrize("limit_cores", [None, 1.0])
def test_logins_that_wait_and_use_no_cpu_prove_no_maximum(limit_cores: float | None) -> None:
    found = overloaded(login_s=0.002, limit_cores=limit_cores)
    assert "drops none of them" in found["message"]
    assert "it logs in at most" not in found["message"]
    assert found["recommended"] == "50:30:100"


def test_where_the_cpu_does_not_tell_both_answers_are_given() -> None:
    found = overloaded(login_s=0.03, limit_cores=None)
    assert "recommended" not in found
    assert "If logins slow each other down, the server cannot log in such a load" in found["message"]
    assert (
        "If they wait for something else (PAM, LDAP, distance), 50:30:100 drops nothing of this load"
        in found["message"]
    )


def test_commands_that_take_the_cpu_prove_no_maximum_of_logins() -> None:
    """The kernel does not tell what commands take from what logins take."""
    found = overloaded(login_s=0.013, limit_cores=1.0, steps=[{"exec": {"command": "busy"}}])
    assert "If logins slow each other down, the server cannot log in such a load" in found["message"]


def test_a_server_near_its_limit_is_told() -> None:
    whole = run(1_200, 0, min_us=10_000, mean_us=200_000.0)
    spec = plan(managed("3000:30:3000", load=POISSON, scenario=ONLY_LOGINS))
    sure, unsure = (stated(spec, with_cpu(whole, 0.03, limit_cores)) for limit_cores in (1.0, None))
    assert sure is not None
    assert unsure is not None
    assert "The server is near what it can log in" in sure["message"]
    assert "If logins slow each other down, the server is near what it can log in" in unsure["message"]
    assert sure["recommended"] == unsure["recommended"]
    assert int(sure["recommended"].partition(":")[0]) > 125


def test_closed_without_a_word_makes_the_drops_a_lower_bound() -> None:
    reset = ErrorCount("banner", Outcome.RESET_BEFORE_BANNER, Window.MEASURED, 3, "")
    found = stated(plan(), run(600, 0, reset))
    assert found is not None
    assert found["observedIsLowerBound"] is True


def test_without_figures_there_is_the_reason_and_no_figure() -> None:
    found = told(quickstart(), 20, 0)
    assert found == {
        "setting": "10:30:100",
        "message": "no advice: at least 30 logins are needed to know how long they take",
    }


def test_a_load_that_ended_early_has_no_advice_and_names_the_drops() -> None:
    early = EarlyEnd(0.7, "error rate below 1 %")
    assert stated(plan(), replace(run(60, 20), early_end=early)) == {
        "setting": "10:30:100",
        "message": (
            "no advice: MaxStartups or PerSourceMaxStartups dropped 20 connections, and the load ended early. Run the"
            " test without abortOnFail to learn which MaxStartups drops nothing at this load"
        ),
    }
    assert advice(plan(), replace(run(60, 0), early_end=early)) is None


@pytest.mark.parametrize(
    "ill",
    [
        pytest.param(replace(run(600, 0), end=RunEnd.STOPPED), id="not run to its end"),
        pytest.param(retold(run(600, 0), target_after=target_stats(10)), id="counts that disagree"),
        pytest.param(retold(run(600, 0), load=load(600, scheduled=700, dropped=100)), id="arrivals not begun"),
    ],
)
def test_a_run_that_cannot_be_trusted_has_no_advice(ill: RunSummary) -> None:
    assert advice(plan(), run(600, 0)) is not None
    assert advice(plan(), ill) is None
    assert "maxStartups" not in results_json(plan(), ill)


@pytest.mark.parametrize("dropped", [0, 100])
@pytest.mark.parametrize(
    "spec",
    [managed("10:30:100", load=POISSON), quickstart(target={"external": EXTERNAL}), quickstart()],
    ids=["managed", "external", "default"],
)
def test_it_is_as_the_schema_of_the_crd_has_it(spec: dict[str, Any], dropped: int) -> None:
    results = results_json(plan(spec), run(600, dropped))
    assert results["maxStartups"]["message"]
    assert list(problems(results, SCHEMA, "results")) == []


def coming(arrivals: Arrivals, dropped: int = 0, time_s: float = 0.1) -> Logins:
    """Return 1,000 logins that do not slow each other down, of which so many were dropped."""
    return Logins(arrivals, 1_000, dropped, 0, 30.0, alone_s=time_s, time_s=time_s, overflowed=False)


@pytest.mark.parametrize(
    ("seen", "as_if"),
    [
        pytest.param(Memoryless(60.0), Memoryless(45.0), id="arrivals"),
        pytest.param(Users(20, 0.225), Users(20, 0.3), id="users"),
    ],
)
def test_where_the_setting_is_not_known_logins_took_as_long_as_if_those_dropped_had_never_come(
    seen: Memoryless | Users, as_if: Memoryless | Users
) -> None:
    """A user of whom a quarter is dropped, 0.225 s after each time, is let in after 0.3 s on average."""
    assert seen.without_drops(0.75) == as_if
    server = LoginService(0.03, 60.0)
    slowed, free = occupancy(as_if, server, None), occupancy(seen, server, None)
    assert slowed is not None
    one = replace(coming(seen, dropped=250, time_s=slowed.time_s), alone_s=0.03)
    start = needed((one,), None).start
    assert start == (None if free is None else pytest.approx(most_found(free, LOST_SHARE), rel=0.03))
    if isinstance(seen, Memoryless):
        assert needed((one,), None).most_per_s == pytest.approx(60, rel=0.02)


def test_the_most_demanding_logins_decide_what_is_needed() -> None:
    held, probes = coming(Burst(400, 1)), coming(Even(5.0))
    assert needed((held, probes), DEFAULT).start == 400
    assert needed((probes, held), DEFAULT).start == 400
    hopeless = replace(coming(Memoryless(200.0), dropped=400, time_s=0.5), alone_s=0.01)
    assert needed((hopeless,), DEFAULT).start is None
    assert needed((held, hopeless), DEFAULT).start is None


@pytest.mark.parametrize(
    ("start", "setting"), [(1, "10:30:100"), (8, "10:30:100"), (9, "12:30:100"), (80, "100:30:100"), (81, "102:30:102")]
)
def test_the_setting_for_what_is_needed_has_a_quarter_more_and_no_less_than_sshds_default(
    start: int, setting: str
) -> None:
    assert str(recommended(start)) == setting


def test_the_use_of_a_server_is_what_comes_of_what_it_can_log_in_where_both_are_known() -> None:
    assert Need(10, per_s=45.0, most_per_s=50.0).use == pytest.approx(0.9)
    assert (Need(10).use, Need(10, per_s=45.0).use, Need(10, most_per_s=50.0).use) == (0, 0, 0)


def test_users_wait_and_have_no_rate_that_is_near_what_the_server_can_log_in() -> None:
    users = {"users": {"stages": [{"users": 40, "duration": "30s"}]}}
    found = told(managed("3000:30:3000", load=users), 1_200, 0, min_us=10_000, mean_us=200_000.0)
    assert found["message"].endswith("headroom, and 49:30:100 is the smallest such setting.")


def test_a_gateways_logins_are_nobodys_that_advice_could_be_given_on() -> None:
    through = quickstart(target={"managed": {"gateway": {"policy": "pool"}}})
    assert advice(plan(through), run(600, 0)) is None


def test_only_drops_of_the_measured_window_by_max_startups_are_told_of_a_load_that_ended_early() -> None:
    others = (
        ErrorCount("banner", Outcome.THROTTLED, Window.WARM_UP, 50, ""),
        ErrorCount("via1.banner", Outcome.THROTTLED, Window.MEASURED, 50, ""),
        ErrorCount("banner", Outcome.DISCONNECTED, Window.MEASURED, 50, ""),
    )
    early = EarlyEnd(0.7, "error rate below 1 %")
    assert "dropped 20 connections" in stated(plan(), replace(run(60, 20, *others), early_end=early))["message"]
    assert advice(plan(), replace(run(60, 0, *others), early_end=early)) is None


def test_a_burst_that_the_listen_queue_did_not_take_is_told_what_is_enough_for_all_of_it() -> None:
    burst = {"burst": {"connections": 300, "repeat": 2, "interval": "15s"}}
    lost = retold(run(600, 60), target_after=replace(target_stats(700), listen_overflows=9))
    assert stated(plan(managed("10:30:100", load=burst)), lost)["message"].endswith(
        "is not known: spread the burst. 375:30:375 is enough for all of it."
    )


def test_a_small_prediction_is_told_to_a_thousandth_and_a_large_one_up_to_all() -> None:
    small = told(managed("10:30:100", load=POISSON), 2_000, 0, min_us=13_200, mean_us=13_333.0)
    assert small["predictedDropPercent"] == pytest.approx(0.0405, abs=1e-4)
    assert "predicts 0.04 % (0 to 2.9" in small["message"]
    large = told(managed("1:30:2", load=POISSON), 2_000, 1_900, min_us=500_000, mean_us=500_000.0)
    assert " predicts 98.03 % (81 to 100 %)." in large["message"]


def test_where_more_log_in_at_once_than_can_be_reckoned_with_no_rate_is_told_that_nobody_knows() -> None:
    found = told(managed("60000:30:60000", load=POISSON), 3_000, 0, min_us=600_000_000, mean_us=600_000_000.0)
    assert found["message"] == (
        "0 % of the connections were dropped; MaxStartups 60000:30:60000 lets in more connections than the server can"
        " log in. Every setting drops some of such a load, which is more than the server can log in."
    )
    assert "predictedDropPercent" not in found


@pytest.mark.parametrize("which", ["held.", ""], ids=["held", "probes"])
def test_some_of_the_logins_that_were_closed_without_a_word_make_the_drops_a_lower_bound(which: str) -> None:
    hold = {"hold": {"sessions": 400, "rampUp": "0s", "duration": "20s", "probeRate": 5}}
    reset = ErrorCount(f"{which}banner", Outcome.RESET_BEFORE_BANNER, Window.MEASURED, 3, "")
    whole = summary(100, 0, steps=(*logins(100, 0), *logins(400, 0, "held.")), errors=(reset,))
    assert stated(plan(quickstart(load=hold)), whole)["observedIsLowerBound"] is True
