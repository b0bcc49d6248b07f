"""A comparison from its start to its end: order, names, what each status says, and how it ends."""

from dataclasses import replace
from typing import Any

import pytest
from crd_schema import problems, status_schema
from plans import quickstart
from sim_comparison import SimComparison, comparison_spec, measured
from sshload_operator.decision.comparison.decide import REFUSED_PASS_S
from sshload_operator.decision.owner import Cause, Obstacle, OwnerDecision

SCHEMA = status_schema("sshloadtestcomparisons")
ERROR = {"verdict": "Error", "reason": "ImageUnavailable", "message": "no such image"}
INVALID = {"verdict": "Invalid", "reason": "ReportsMissing", "message": "a report never reached the master"}
SATURATED = {"verdict": "Invalid", "reason": "GeneratorSaturated", "message": "a worker used its whole core"}


def started(*names: str, **spec: Any) -> SimComparison:
    world = SimComparison(comparison_spec(*names, **spec))
    world.settle()
    return world


def play(world: SimComparison, ends: dict[str, dict[str, Any]] | None = None) -> None:
    """Let each test end, by its name or its variant's as told, until the comparison is over."""
    for _ in range(300):
        if world.status["phase"] == "Finished":
            return
        (name,) = world.under_way()
        world.end(name, (ends or {}).get(name, (ends or {}).get(name.rpartition("-")[2])))
        world.pass_time(30)
        world.settle()
    raise AssertionError(world.status)


def said(world: SimComparison) -> tuple[str, str]:
    return world.status["verdict"], world.status["reason"]


def figure(world: SimComparison, variant: str, step: str, name: str) -> dict[str, Any]:
    found = next(one for one in world.status["results"]["variants"] if one["name"] == variant)
    return next(one for one in found["figures"] if one.get("step", "") == step and one["figure"] == name)


def test_the_first_pass_makes_the_first_test_and_says_so() -> None:
    world = SimComparison()
    world.operator_pass()
    assert list(world.tests) == ["cmp-1-a"]
    assert (world.status["phase"], world.status["reason"]) == ("Running", "TestStarting")
    assert (world.status["round"], world.status["test"], world.status["progress"]) == (1, "cmp-1-a", "0/6")
    assert world.last is not None
    assert [one.warning for one in world.last.announcements] == [False]


def test_a_test_is_the_base_with_the_variants_patch_and_belongs_to_the_comparison() -> None:
    world = started()
    test = world.tests["cmp-1-a"]
    assert test["spec"]["target"]["managed"] == {"sshd": {"maxStartups": "10:30:1000"}}
    assert test["spec"]["load"] == quickstart()["load"]
    (owner,) = test["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("SSHLoadTestComparison", world.comparison.uid, True)
    assert test["metadata"]["labels"]["sshload.dev/comparison"] == "cmp"


def test_rounds_are_interleaved_with_another_first_each_time() -> None:
    world = started("a", "b", "c", repeats=4)
    play(world)
    assert [name.removeprefix("cmp-") for name in world.created] == [
        *("1-a", "1-b", "1-c"),
        *("2-b", "2-c", "2-a"),
        *("3-c", "3-a", "3-b"),
        *("4-a", "4-b", "4-c"),
    ]


def test_the_next_test_is_made_only_when_the_one_before_is_over_and_its_pods_are_gone() -> None:
    world = started()
    assert world.created == ["cmp-1-a"]
    world.end("cmp-1-a", pods_stay=True)
    world.settle()
    assert world.created == ["cmp-1-a"]
    assert world.status["reason"] == "PodsGoing"
    assert "cmp-1-a-master" in world.status["message"]
    assert world.last is not None
    assert world.last.requeue_after_s == 1
    world.pods.clear()
    world.settle()
    assert world.created == ["cmp-1-a", "cmp-1-b"]


def test_a_test_that_is_over_is_remembered_with_its_figures_before_its_object_may_go() -> None:
    world = started()
    world.end("cmp-1-a", measured(12.0), pods_stay=True)
    world.settle()
    assert world.status["tests"] == [
        {
            "test": "cmp-1-a",
            "round": 1,
            "variant": "a",
            "verdict": "Passed",
            "reason": "NoThresholds",
            "figures": {"errorPercent": 0.0, "completedRate": 20.0, "login.p50Ms": 6.0, "total.p50Ms": 12.0},
        }
    ]
    world.delete("cmp-1-a")
    world.settle()
    play(world)
    assert said(world) == ("Conclusive", "Compared")
    assert world.created.count("cmp-1-a") == 1


def test_a_test_that_was_deleted_before_its_end_is_made_anew() -> None:
    world = started()
    world.delete("cmp-1-a")
    world.settle()
    assert world.created == ["cmp-1-a", "cmp-1-a"]


def test_a_conclusive_comparison_is_ready_and_names_the_difference() -> None:
    world = started()
    play(world, {f"cmp-{number}-b": measured(20.0 + number / 10) for number in (1, 2, 3)})
    assert said(world) == ("Conclusive", "Compared")
    assert world.status["progress"] == "6/6"
    assert "over 3 rounds, b differs from a in 2 of 4 figures: total p50 2.02 times" in world.status["message"]
    assert world.conditions() == {"Complete": "True", "Ready": "True"}
    found = figure(world, "b", "total", "p50Ms")
    assert found["difference"] == "slower"
    assert found["low"] < found["ratio"] < found["high"]
    assert found["differenceMs"] == 10.2
    assert found["lowMs"] < found["differenceMs"] < found["highMs"]
    assert figure(world, "a", "total", "p50Ms") == {"figure": "p50Ms", "step": "total", "value": 10.0, "rounds": 3}
    assert figure(world, "b", "", "errorPercent")["points"] == 0


def test_each_variant_stands_beside_its_own_reference() -> None:
    spec = comparison_spec("a", "b", "c")
    spec["variants"][2]["reference"] = "b"
    world = SimComparison(spec=spec)
    world.settle()
    play(world, {"a": measured(10.0), "b": measured(40.0), "c": measured(41.0)})
    assert (figure(world, "b", "total", "p50Ms")["differenceMs"], figure(world, "b", "total", "p50Ms")["ratio"]) == (
        30,
        4,
    )
    assert (figure(world, "c", "total", "p50Ms")["differenceMs"], figure(world, "c", "total", "p50Ms")["ratio"]) == (
        1,
        1.025,
    )
    assert [one.get("reference") for one in world.status["results"]["variants"]] == [None, None, "b"]
    assert "c differs from b in 2 of" in world.status["message"]
    assert list(problems(world.status, SCHEMA)) == []


def test_while_it_goes_on_it_is_reconciling_and_shows_what_is_known_so_far() -> None:
    world = started()
    world.end("cmp-1-a")
    world.settle()
    assert world.conditions() == {"Complete": "False", "Ready": "Unknown", "Reconciling": "True"}
    assert figure(world, "a", "total", "p50Ms")["value"] == 10.0
    assert list(problems(world.status, SCHEMA)) == []


def test_a_broken_threshold_is_a_measurement() -> None:
    world = started()
    play(world, {"b": measured(30.0, 5.0, verdict="Failed")})
    assert said(world) == ("Conclusive", "Compared")
    assert world.status["results"]["variants"][1]["verdicts"] == {"Failed": 3}


def test_two_rounds_show_ratios_and_say_how_many_it_takes() -> None:
    world = started(repeats=2)
    play(world)
    assert said(world) == ("Inconclusive", "TooFewRounds")
    assert "an interval needs 3 rounds, and spec.repeats is 2; over 2 rounds, " in world.status["message"]
    found = figure(world, "b", "total", "p50Ms")
    assert (found["ratio"], found["difference"]) == (1.0, "unknown")
    assert "low" not in found
    assert world.conditions()["Stalled"] == "True"


@pytest.mark.parametrize("end", [INVALID, ERROR], ids=["Invalid", "Error"])
def test_a_test_that_was_not_measured_gives_no_figures_and_is_not_dropped_silently(end: dict[str, Any]) -> None:
    world = started(repeats=4)
    play(world, {"cmp-2-b": {**measured(1000.0), **end}})
    assert said(world) == ("Inconclusive", "TestsNotMeasured")
    assert f"1 of 8 tests gave no figures (cmp-2-b: {end['verdict']}: {end['message']})" in world.status["message"]
    (lost,) = [test for test in world.status["tests"] if "problem" in test]
    assert "figures" not in lost
    found = figure(world, "b", "total", "p50Ms")
    assert (found["value"], found["rounds"]) == (10.0, 3)
    measured_tests = [one["measured"] for one in world.status["results"]["variants"]]
    assert measured_tests == [4, 3]


def with_own_delay(delay_ms: float) -> dict[str, Any]:
    """Return the end of a test that passed, of whose latencies so much may be the generator's own delay."""
    end = measured()
    return {**end, "results": {**end["results"], "generator": {"latenciesMayIncludeMs": delay_ms}}}


@pytest.mark.parametrize("lagged", [SATURATED, with_own_delay(300)], ids=["Invalid", "Passed with a caution"])
def test_a_test_whose_generator_lagged_is_deleted_and_made_again(lagged: dict[str, Any]) -> None:
    world = started()
    world.end("cmp-1-a", lagged)
    world.operator_pass()
    assert list(world.tests) == ["cmp-1-a"], "it went before it was remembered"
    assert "cmp-1-a is made again (1 of 2 times at most): " in world.status["message"]
    assert world.status["progress"] == "0/6"
    assert list(problems(world.status, SCHEMA)) == []
    world.settle()
    assert world.created == ["cmp-1-a", "cmp-1-a"]
    play(world)
    assert said(world) == ("Conclusive", "Compared")
    (again,) = [test for test in world.status["tests"] if test["test"] == "cmp-1-a"]
    assert again["repeats"] == 1
    assert again["figures"]["total.p50Ms"] == 10.0
    assert list(problems(world.status, SCHEMA)) == []


def test_a_test_is_not_made_again_beside_the_pods_of_the_one_that_lagged() -> None:
    world = started()
    world.end("cmp-1-a", SATURATED, pods_stay=True)
    world.settle()
    assert world.created == ["cmp-1-a"]
    assert world.status["reason"] == "PodsGoing"
    world.pods.clear()
    world.settle()
    assert world.created == ["cmp-1-a", "cmp-1-a"]


def test_a_test_that_lags_each_time_is_made_three_times_and_then_named() -> None:
    world = started()
    play(world, {"cmp-2-b": with_own_delay(300)})
    assert world.created.count("cmp-2-b") == 3
    assert said(world) == ("Inconclusive", "TestsNotMeasured")
    assert (
        "1 of 6 tests gave no figures (cmp-2-b: Passed, but its figures may include 300 ms of the generator's own delay"
        " (test 3 of 3 in its place))" in world.status["message"]
    )
    assert list(problems(world.status, SCHEMA)) == []


def test_a_capacity_is_compared_whatever_the_delay_in_its_reported_trial() -> None:
    world = started()
    found = {"value": 9, "end": "found", "unit": "arrivals/s", "trials": []}
    play(world, {"cmp-1-b": {**with_own_delay(300), "capacity": found}})
    assert world.created.count("cmp-1-b") == 1


def test_a_variant_that_was_never_measured_makes_it_an_error() -> None:
    world = started()
    play(world, {"b": INVALID})
    assert said(world) == ("Error", "VariantNotMeasured")
    assert "none of the 3 tests of variant b gave figures" in world.status["message"]


def test_two_errors_from_the_start_end_it_because_more_will_not_help() -> None:
    world = started(repeats=50)
    play(world, {"b": ERROR})
    assert said(world) == ("Error", "VariantNotMeasured")
    assert world.created == ["cmp-1-a", "cmp-1-b", "cmp-2-b"]
    assert "no such image" in world.status["message"]


def test_a_test_whose_spec_somebody_changed_has_not_measured_the_variant() -> None:
    world = started()
    world.tests["cmp-1-a"]["spec"] = quickstart(warmUp="9s")
    play(world)
    assert said(world) == ("Inconclusive", "TestsNotMeasured")
    assert "somebody changed its spec" in world.status["message"]


def test_a_test_that_ended_under_a_release_that_hashes_otherwise_has_measured_the_variant() -> None:
    world = started()
    play(world, {"cmp-1-a": {**measured(), "specHash": "0123456789abcdef"}})
    assert said(world)[0] == "Conclusive", world.status["message"]


def test_a_test_that_was_changed_and_runs_anew_is_not_over() -> None:
    world = started()
    world.end("cmp-1-a", pods_stay=True)
    world.tests["cmp-1-a"]["metadata"]["generation"] = 2
    world.settle()
    assert world.status["progress"] == "0/6"
    assert world.created == ["cmp-1-a"]


def test_abort_ends_the_test_under_way_and_keeps_what_was_measured() -> None:
    world = started()
    world.end("cmp-1-a")
    world.settle()
    world.edit(abort=True)
    world.settle()
    assert said(world) == ("Aborted", "AbortRequested")
    assert world.tests["cmp-1-b"]["spec"]["abort"] is True
    assert [test["test"] for test in world.status["tests"]] == ["cmp-1-a"]
    assert figure(world, "a", "total", "p50Ms")["value"] == 10.0
    assert world.last is not None
    assert world.last.requeue_after_s is None


def test_abort_taken_back_compares_anew_once_the_old_tests_are_gone() -> None:
    world = started()
    world.edit(abort=True)
    world.settle()
    world.end_aborted()
    world.edit(abort=False)
    world.settle()
    assert world.created == ["cmp-1-a", "cmp-1-a"]
    assert "verdict" not in world.status
    play(world)
    assert said(world) == ("Conclusive", "Compared")


def test_a_changed_spec_starts_anew_and_ends_and_deletes_the_old_tests_first() -> None:
    world = started()
    world.end("cmp-1-a")
    world.settle()
    world.edit(repeats=4)
    world.settle()
    assert world.tests["cmp-1-b"]["spec"]["abort"] is True
    assert (world.status["phase"], world.status["reason"]) == ("Pending", "OldTestsGoing")
    assert "cmp-1-b is of an earlier run" in world.status["message"]
    assert "tests" not in world.status
    world.end_aborted()
    world.operator_pass()
    assert world.tests == {}
    world.settle()
    assert world.created == ["cmp-1-a", "cmp-1-b", "cmp-1-a"]
    assert (world.status["run"], world.status["progress"]) == (2, "0/8")


def test_old_tests_on_their_way_out_are_waited_for() -> None:
    world = started()
    world.edit(repeats=4)
    world.tests["cmp-1-a"]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    world.settle()
    assert world.created == ["cmp-1-a"]
    assert world.status["reason"] == "OldTestsGoing"


@pytest.mark.parametrize("edit", ["a variant is renamed", "rounds are taken away"])
def test_no_test_is_made_beside_pods_of_an_earlier_run_whatever_its_tests_were_called(edit: str) -> None:
    world = started(repeats=2)
    for name in ("cmp-1-a", "cmp-1-b"):
        world.end(name)
        world.settle()
    assert world.under_way() == ["cmp-2-b"]
    if edit == "rounds are taken away":
        world.edit(repeats=1)
    else:
        world.edit(variants=comparison_spec("x", "y")["variants"])
    world.settle()
    world.end_aborted(pods_stay=True)
    world.settle()
    assert len(world.created) == 3, "a test was made beside the pods of cmp-2-b"
    assert world.pods == {"cmp-2-b": {"cmp-2-b-master", "cmp-2-b-workers-0"}}
    assert world.status["reason"] == "OldTestsGoing"
    assert "cmp-2-b-master" in world.status["message"]
    world.pods.clear()
    world.settle()
    assert world.created[3:] == (["cmp-1-a"] if edit == "rounds are taken away" else ["cmp-1-x"])


def test_the_same_spec_in_other_words_is_no_new_run() -> None:
    world = started()
    play(world)
    before = dict(world.status)
    world.edit(base=quickstart(warmUp="5s"))
    world.settle()
    assert world.status == {**before, "observedGeneration": 2}
    assert len(world.created) == 6


def test_the_pods_of_a_test_that_somebody_deleted_are_waited_for_though_the_next_run_has_no_test_of_its_name() -> None:
    world = started("a", "b")
    for _ in range(2):
        world.end(*world.under_way())
        world.settle()
    (second_round,) = world.under_way()
    world.delete(second_round, pods_stay=True)
    world.edit(repeats=1)
    world.settle()
    assert world.under_way() == []
    world.pods.pop(second_round)
    world.settle()
    assert world.under_way() == ["cmp-1-a"]


def test_a_finished_comparison_asks_for_nothing() -> None:
    world = started()
    play(world)
    decision = world.decide()
    assert (decision.status, decision.requeue_after_s, decision.announcements) == (None, None, ())
    assert [decision.look_for_pods, decision.create, decision.delete, decision.abort] == [False, None, (), ()]


def test_a_spec_that_cannot_be_read_is_an_error_that_names_the_field_and_ends_what_runs() -> None:
    world = started()
    variants = [{"name": "a"}, {"name": "b", "patch": {"client": {"library": "putty"}}}]
    world.edit(variants=variants)
    world.settle()
    assert said(world) == ("Error", "InvalidSpec")
    assert "spec.variants[1].patch: makes an invalid test of variant b: spec.client.library" in world.status["message"]
    assert world.tests["cmp-1-a"]["spec"]["abort"] is True
    assert list(problems(world.status, SCHEMA)) == []
    world.end_aborted()
    world.edit(variants=comparison_spec()["variants"])
    world.settle()
    assert world.status["test"] == "cmp-1-a"


def test_what_would_be_refused_is_refused_before_anything_runs() -> None:
    external = {"host": "elsewhere.example.com", "user": "a", "credentialsSecretRef": {"name": "a"}}
    patch = {"target": {"external": {**external, "knownHostsSecretRef": {"name": "b"}}}}
    variants = [{"name": "a"}, {"name": "b", "remove": ["target.managed"], "patch": patch}]
    world = started(variants=variants)
    assert said(world) == ("Error", "TargetNotAllowed")
    assert world.status["message"].startswith("variant b: spec.target.external")
    assert world.created == []


def test_a_test_that_the_api_server_refuses_ends_it() -> None:
    world = SimComparison(refused=Obstacle(Cause.REFUSED, "the test cmp-1-a was refused: 422"))
    world.settle()
    assert said(world) == ("Error", "TestRefused")
    assert world.conditions()["Ready"] == "False"


def test_it_waits_for_room_in_a_quota_and_keeps_what_was_measured() -> None:
    world = started()
    world.end("cmp-1-a")
    world.refused = Obstacle(Cause.REFUSED, "the test cmp-1-b was refused: 403", may_pass=True)
    world.settle()
    assert (world.status["phase"], world.status["reason"]) == ("Running", "TestRefused")
    assert world.last is not None
    assert world.last.requeue_after_s == REFUSED_PASS_S
    world.refused = None
    world.settle()
    assert world.under_way() == ["cmp-1-b"]
    assert [one["test"] for one in world.status["tests"]] == ["cmp-1-a"]


def test_a_verdict_stays_where_a_newer_operator_cannot_read_the_spec() -> None:
    world = started()
    play(world)
    before = world.status
    world.spec = {**world.spec, "repeat": "a word of the past"}  # no edit: the generation is the same
    world.settle()
    assert world.status == before


def test_every_status_on_the_way_fits_the_crd() -> None:
    world = SimComparison()
    for _ in range(40):
        world.operator_pass()
        assert list(problems(world.status, SCHEMA)) == []
        for name in world.under_way()[:1]:
            world.end(name, ERROR if name == "cmp-2-a" else None)
    assert world.status["phase"] == "Finished"


def test_a_search_that_found_no_capacity_gives_no_figure_and_says_so() -> None:
    world = started()
    capacity = {"value": 9, "end": "mostHeld"}
    above = {"verdict": "Inconclusive", "reason": "CapacityAboveMax", "message": "raise max", "capacity": capacity}
    play(world, {"cmp-1-b": above})
    assert said(world) == ("Inconclusive", "TestsNotMeasured")
    assert "Inconclusive, without a comparable figure: raise max" in world.status["message"]


def test_an_owner_that_is_being_deleted_only_writes_its_status_and_deletes_each_test_once() -> None:
    world = started("a", "b")
    (stays,) = world.observed()
    goes = replace(stays, name="goes", deleting=True)
    subject = replace(world.subject(), tests=(stays, goes), deleting=True)
    asked = OwnerDecision(
        status={"phase": "Running"},
        requeue_after_s=5.0,
        look_for_pods=True,
        abort=(stays,),
        create={"kind": "SSHLoadTest"},
        discard=(goes,),
    )
    assert subject.leave(asked) == OwnerDecision(status={"phase": "Running"}, delete=(stays,))
