"""Which test a run is held against, and when there is none."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from baselines import ALLOWING, EARLY, LAST_PASSED, NAMED, PODS, asked, finished, run_to_end, seen, slower
from passes import START, Passes
from plans import EXTERNAL, quickstart
from runs import snapshot
from sshload_operator.api.load_test import parse
from sshload_operator.api.status.installed import InstalledResources, PodResources
from sshload_operator.planning.differs import comparable_hash, installed_difference
from sshload_operator.state import Amount, ObservedBaseline, Role

OF_SCHEDULE = asked(baseline=LAST_PASSED)
ELSEWHERE = {**EXTERNAL, "host": "other.example.com"}


def said(*tests: Any, spec: Any = None) -> tuple[Any, Any]:
    """Return the verdict and the reason of a run of the same speed as its baseline."""
    return run_to_end(asked() if spec is None else spec, slower(1.0), seen(*tests)).said()


def held_against(*tests: Any) -> str | None:
    """Return the name of the test of the schedule that a run was held against."""
    passes = run_to_end(OF_SCHEDULE, slower(1.0), seen(*tests))
    found: str | None = passes.status.get("baseline", {}).get("test")
    return found


def ago(minutes: float) -> Any:
    return START - timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("verdict", "named"),
    [
        ("Invalid", "Invalid"),
        ("Error", "Error"),
        ("Aborted", "Aborted"),
        ("Inconclusive", "Inconclusive"),
        ("AWordOfTheFuture", "a verdict of another release"),
    ],
)
def test_a_named_test_that_is_no_measurement_is_no_baseline(verdict: str, named: str) -> None:
    passes = run_to_end(asked(), slower(1.0), seen(finished(slower(1.0), verdict=verdict, reason="Whatever")))
    assert passes.said() == ("Inconclusive", "NoBaseline")
    assert f"before ended as {named} (Whatever)" in passes.status["message"]


def test_a_named_test_that_broke_its_own_thresholds_is_one() -> None:
    too_slow = quickstart(thresholds=[{"latency": {"step": "total", "percentile": 50, "below": "1ms"}}])
    before = finished(slower(1.0), too_slow)
    assert before["status"]["verdict"] == "Failed"
    assert said(before) == ("Passed", "ThresholdsMet")


def test_a_named_test_that_lacked_but_a_baseline_of_its_own_is_one() -> None:
    first = finished(slower(1.0), asked())
    assert first["status"]["reason"] == "NoBaseline"
    assert said(first) == ("Passed", "ThresholdsMet")


def test_a_named_test_that_is_under_way_or_was_never_begun_is_none() -> None:
    before = finished(slower(1.0))
    unfinished = {**before, "status": {**before["status"], "phase": "Running"}}
    for test in (unfinished, {key: value for key, value in before.items() if key != "status"}):
        passes = run_to_end(asked(), slower(1.0), seen(test))
        assert passes.said() == ("Inconclusive", "NoBaseline")
        assert "before is not finished" in passes.status["message"]


def test_a_test_is_not_its_own_baseline() -> None:
    passes = run_to_end(asked(), slower(1.0))
    itself = {"metadata": {"name": "before", "uid": passes.identity().uid}, "spec": asked(), "status": passes.status}
    again = run_to_end(asked(), slower(1.0), seen(itself))
    assert again.said() == ("Inconclusive", "NoBaseline")
    assert "its own baseline" in again.status["message"]


def test_a_test_whose_spec_was_changed_since_it_ran_is_none() -> None:
    before = finished(slower(1.0))
    metadata = {**before["metadata"], "generation": 2}
    for spec in (quickstart(warmUp="1s"), quickstart(warmUp="soon")):
        passes = run_to_end(asked(), slower(1.0), seen({**before, "metadata": metadata, "spec": spec}))
        assert passes.said() == ("Inconclusive", "NoBaseline")
        assert "was changed since" in passes.status["message"]


def test_why_nobody_could_look_is_said() -> None:
    passes = run_to_end(OF_SCHEDULE, slower(1.0), ObservedBaseline((), "the test belongs to no schedule"))
    assert (passes.said(), passes.status["message"]) == (
        ("Inconclusive", "NoBaseline"),
        "the test belongs to no schedule",
    )


@pytest.mark.parametrize(
    ("field", "theirs"),
    [
        pytest.param("spec.target", {"target": {"external": EXTERNAL}}, id="an external server"),
        pytest.param("spec.via", {"via": [ELSEWHERE]}, id="a way through a jump host"),
        pytest.param("spec.load", {"load": {"arrivals": {"stages": [{"rate": 21, "duration": "30s"}]}}}, id="rate"),
        pytest.param(
            "spec.load",
            {"load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}], "process": "poisson"}}},
            id="process",
        ),
        pytest.param("spec.load", {"load": {"users": {"stages": [{"users": 20, "duration": "30s"}]}}}, id="model"),
        pytest.param(
            "spec.load",
            {"load": {"arrivals": {"stages": [{"rate": 20, "duration": "15s"}, {"rate": 20, "duration": "15s"}]}}},
            id="stages",
        ),
        pytest.param("spec.client.auth", {"client": {"auth": "certificate"}}, id="auth"),
        pytest.param("spec.client.library", {"client": {"library": "paramiko"}}, id="library"),
        pytest.param("spec.client", {"client": {"ciphers": ["aes128-gcm@openssh.com"]}}, id="ciphers"),
        pytest.param("spec.scenario", {"scenario": {"steps": [{"exec": {"command": "true"}}]}}, id="scenario"),
        pytest.param(
            "spec.scenario",
            {"scenario": {"steps": [{"exec": {"command": "uptime"}}], "sessionReuse": "pool", "poolSize": 4}},
            id="session reuse",
        ),
        pytest.param("spec.workers.replicas", {"workers": {"replicas": 2}}, id="workers"),
        pytest.param("spec.workers.processesPerPod", {"workers": {"processesPerPod": 2}}, id="processes"),
    ],
)
def test_a_baseline_of_something_else_is_told_by_the_field(field: str, theirs: dict[str, Any]) -> None:
    before = finished(slower(1.0), quickstart(**theirs), verdict="Passed")
    passes = run_to_end(asked(), slower(1.0), seen(before))
    assert passes.said() == ("Inconclusive", "BaselineDiffers")
    assert f"the baseline before measured something else: {field} " in passes.status["message"]
    assert comparable_hash(parse(before["spec"])) != comparable_hash(parse(asked()))


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({"target": {"managed": {"sshd": {"maxStartups": "100:30:200"}}}}, id="sshd's configuration"),
        pytest.param({"target": {"managed": {"resources": {"limits": {"cpu": "1"}}}}}, id="the target's CPU"),
        pytest.param({"load": {"arrivals": {"stages": [{"rate": 20, "duration": "5m"}]}}}, id="duration"),
        pytest.param({"warmUp": "1s"}, id="warm-up"),
        pytest.param({"deadline": "1h"}, id="deadline"),
        pytest.param({"thresholds": [{"errorRate": {"below": "5%"}}]}, id="thresholds"),
        pytest.param({"workers": {"resources": {"requests": {"cpu": "1"}}}}, id="the workers' resources"),
    ],
)
def test_what_does_not_change_the_question_may_differ(theirs: dict[str, Any]) -> None:
    assert said(finished(slower(1.0), quickstart(**theirs))) == ("Passed", "ThresholdsMet")
    assert comparable_hash(parse(quickstart(**theirs))) == comparable_hash(parse(asked()))


MORE = {"requests": {"cpu": 2, "memory": "1Gi"}}
OTHERS = {
    "worker": replace(ALLOWING, worker_resources=MORE),
    "master": replace(ALLOWING, run_pods=replace(ALLOWING.run_pods, master_resources=MORE)),
    "target": replace(ALLOWING, run_pods=replace(ALLOWING.run_pods, target_resources=MORE)),
}


@pytest.mark.parametrize("role", OTHERS)
def test_a_test_on_pods_to_which_the_installation_gave_other_resources_is_no_baseline(role: str) -> None:
    before = finished(slower(1.0), installation=OTHERS[role])
    passes = run_to_end(asked(), slower(1.0), seen(before))
    assert passes.said() == ("Inconclusive", "BaselineDiffers")
    assert f"measured something else: the installation's resources of {role} pods are " in passes.status["message"]
    assert "and requests cpu 2, memory 1Gi there" in passes.status["message"]


@pytest.mark.parametrize("role", [role.value for role in Role])
def test_the_resources_of_each_role_count_with_what_the_cluster_sets_besides(role: str) -> None:
    def of(**found: str) -> InstalledResources:
        same = {other.value: PodResources(given="requests cpu 1") for other in Role}
        return InstalledResources(**{**same, role: PodResources(**found)})

    ours = of(given="requests cpu 1")
    assert installed_difference(ours, of(given="requests cpu 1")) == ""
    assert installed_difference(ours, of(given="requests cpu 2")) == (
        f"the installation's resources of {role} pods are requests cpu 1 here and requests cpu 2 there"
    )
    assert installed_difference(ours, of(given="requests cpu 1", set_by_cluster="limits cpu 2")) == (
        f"the installation's resources of {role} pods are requests cpu 1 here and requests cpu 1; the cluster sets"
        " limits cpu 2 there"
    )


def test_the_installations_resources_count_only_where_both_specs_leave_them_to_it() -> None:
    own = {"workers": {"resources": {"requests": {"cpu": "1"}}}}
    assert said(finished(slower(1.0), quickstart(**own), installation=OTHERS["worker"])) == ("Passed", "ThresholdsMet")


def test_a_test_of_an_earlier_release_that_does_not_say_its_resources_is_a_baseline() -> None:
    before = finished(slower(1.0), installation=OTHERS["worker"])
    del before["status"]["installed"]
    assert said(before) == ("Passed", "ThresholdsMet")


def test_a_run_is_held_against_its_baseline_by_the_resources_that_it_was_begun_with() -> None:
    passes = Passes(spec=asked(), beside=seen(finished(slower(1.0))), installation=ALLOWING)
    passes.run()
    passes.installation = OTHERS["worker"]
    passes.run(*PODS, snapshot=snapshot(), after_s=1)
    passes.run(*PODS, summary=slower(1.0), after_s=30)
    assert passes.said() == ("Passed", "ThresholdsMet")


ASKED = (Amount("requests", "cpu", "80m"), Amount("requests", "memory", "65536Ki"))
OF_TARGET = {"requests": {"cpu": "80m", "memory": "64Mi"}}


def told(*besides: Amount, spec: Any = None, baseline: Any = None) -> Passes:
    """Return the end of a run whose target's container has what was asked for, and these besides."""
    spec = asked() if spec is None else spec
    given = replace(ALLOWING, run_pods=replace(ALLOWING.run_pods, target_resources=OF_TARGET))
    passes = Passes(spec=spec, beside=baseline, installation=given)
    target, *others = PODS
    passes.run()
    passes.run(replace(target, resources=(*ASKED, *besides)), *others, snapshot=snapshot(), after_s=1)
    passes.run(target, *others, summary=slower(1.0), after_s=30)
    return passes


def as_before(passes: Passes) -> ObservedBaseline:
    metadata = {"namespace": "load-tests", "name": "before", "uid": "uid-of-before", "generation": 1}
    early = {"startTime": "2026-11-21T11:00:00Z", "completionTime": "2026-11-21T11:01:00Z"}
    return seen({"metadata": metadata, "spec": passes.spec, "status": {**passes.status, **early}})


def test_what_a_limit_range_sets_besides_is_told_and_compared() -> None:
    free, limited = told(spec=quickstart()), told(Amount("limits", "cpu", "500m"), spec=quickstart())
    assert free.status["installed"]["target"] == {"given": "requests cpu 80m, memory 64Mi"}
    assert limited.status["installed"]["target"] == {
        "given": "requests cpu 80m, memory 64Mi",
        "setByCluster": "limits cpu 500m",
    }
    assert told(Amount("limits", "cpu", "500m"), baseline=as_before(limited)).said() == ("Passed", "ThresholdsMet")
    passes = told(Amount("limits", "cpu", "500m"), baseline=as_before(free))
    assert passes.said() == ("Inconclusive", "BaselineDiffers")
    assert "memory 64Mi; the cluster sets limits cpu 500m here and requests cpu 80m" in passes.status["message"]


def test_what_a_limit_range_sets_besides_a_specs_own_resources_is_compared_with_the_same() -> None:
    own = {"target": {"managed": {"resources": OF_TARGET}}}
    narrow = told(Amount("limits", "cpu", "500m"), spec=quickstart(**own))
    assert narrow.status["installed"]["target"] == {"setByCluster": "limits cpu 500m"}
    wide = told(Amount("limits", "cpu", "2"), spec=asked(**own), baseline=as_before(narrow))
    assert wide.said() == ("Inconclusive", "BaselineDiffers")
    left = told(Amount("limits", "cpu", "500m"), baseline=as_before(narrow))
    assert left.said() == ("Passed", "ThresholdsMet")


def test_a_request_that_kubernetes_takes_from_a_limit_is_asked_for() -> None:
    own = {"target": {"managed": {"resources": {"limits": {"cpu": "1000m", "memory": "64Mi"}}}}}
    of_limits = (Amount("requests", "cpu", "1"), Amount("limits", "cpu", "1"), Amount("limits", "memory", "64Mi"))
    assert "target" not in told(*of_limits, spec=quickstart(**own)).status["installed"]


def test_external_servers_are_compared_by_user_address_and_port() -> None:
    def external(**changes: Any) -> dict[str, Any]:
        return {"target": {"external": {**EXTERNAL, **changes}}, "baseline": NAMED}

    here, there = asked(**external()), finished(slower(1.0), asked(**external(port=2222)), verdict="Passed")
    passes = run_to_end(here, slower(1.0), seen(there))
    assert passes.said()[1] == "BaselineDiffers"
    said = "is probe@bastion.example.com port 22 here and probe@bastion.example.com port 2222 there"
    assert said in passes.status["message"]
    other_user = finished(slower(1.0), asked(**external(user="other")), verdict="Passed")
    assert run_to_end(here, slower(1.0), seen(other_user)).said()[1] == "BaselineDiffers"
    same = finished(slower(1.0), asked(**external(credentialsSecretRef={"name": "newer"})), verdict="Passed")
    assert run_to_end(here, slower(1.0), seen(same)).said()[1] == "ThresholdsMet"


def test_the_newest_test_of_the_schedule_that_passed_is_the_baseline() -> None:
    tests = [finished(slower(1.0), name=f"n-{minutes}", now=ago(minutes)) for minutes in (30, 10, 20)]
    tests.append(finished(slower(1.0), name="n-5", now=ago(5), verdict="Failed", reason="ThresholdBroken"))
    tests.append(finished(slower(1.0), name="n-4", now=ago(4), verdict="Inconclusive", reason="WithinNoise"))
    assert held_against(*tests) == "n-10"


def test_a_test_that_ended_after_the_start_is_not_an_earlier_one() -> None:
    before = finished(slower(1.0), name="earlier", now=ago(30))
    later = finished(slower(1.0), name="later", now=ago(0.1))
    assert held_against(before, later) == "earlier"


def test_the_first_of_a_schedule_has_no_baseline_and_is_the_seconds() -> None:
    first = finished(slower(1.0), OF_SCHEDULE, name="first", now=EARLY)
    assert first["status"]["reason"] == "NoBaseline"
    second = run_to_end(OF_SCHEDULE, slower(1.0), seen(first))
    assert second.said() == ("Passed", "ThresholdsMet")
    assert second.status["baseline"]["test"] == "first"


def test_one_that_passed_is_preferred_to_one_that_lacked_a_baseline() -> None:
    passed = finished(slower(1.0), name="passed", now=ago(30))
    first = finished(slower(1.0), OF_SCHEDULE, name="first", now=ago(10))
    assert held_against(passed, first) == "passed"


def test_after_a_change_of_the_load_the_schedule_begins_anew() -> None:
    half = {"arrivals": {"stages": [{"rate": 10, "duration": "30s"}]}}
    old = finished(slower(1.0), asked(baseline=LAST_PASSED, load=half), name="old", now=ago(30), verdict="Passed")
    changed = run_to_end(OF_SCHEDULE, slower(1.0), seen(old))
    assert changed.said() == ("Inconclusive", "BaselineDiffers")
    first = finished(slower(1.0), OF_SCHEDULE, name="new", now=ago(10), reason="BaselineDiffers")
    assert held_against(old, first) == "new"


def test_a_schedules_first_test_says_that_the_next_is_held_against_it() -> None:
    passes = run_to_end(OF_SCHEDULE, slower(1.0), seen())
    assert passes.said() == ("Inconclusive", "NoBaseline")
    assert "The next test is compared with this one" in passes.status["message"]


def test_a_run_is_held_against_the_oldest_of_its_schedule_too() -> None:
    tests = [
        finished(slower(slowness), OF_SCHEDULE, name=name, now=ago(minutes), verdict="Passed", reason="ThresholdsMet")
        for name, slowness, minutes in (("second", 1.12, 30), ("first", 1.0, 60), ("third", 1.2, 10))
    ]
    passes = run_to_end(OF_SCHEDULE, slower(1.25), seen(*tests))
    assert passes.said() == ("Failed", "ThresholdBroken")
    assert passes.status["baseline"]["test"] == "third"
    assert passes.status["message"] == (
        "p90 of total within 10 % of the baseline first, the oldest, but it was 75 ms, 1.25 (1.23 to 1.27) times the "
        "baseline's 60 ms"
    )
    assert passes.status["thresholds"][0]["message"].endswith(
        "times the baseline's 60 ms (first, the oldest baseline), 15 points too many"
    )
    assert run_to_end(OF_SCHEDULE, slower(1.05), seen(*tests)).said() == ("Passed", "ThresholdsMet")
    slowest = run_to_end(OF_SCHEDULE, slower(1.5), seen(*tests))
    assert slowest.status["message"].startswith("p90 of total within 10 % of the baseline third, but it was 90 ms")
