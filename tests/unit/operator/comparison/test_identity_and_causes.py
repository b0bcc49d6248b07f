"""Which test is which when one is made anew under its name, which of several causes is told, and what is done once."""

from dataclasses import replace
from typing import Any

import pytest
from sim_comparison import SimComparison, comparison_spec, measured
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.status.comparison import Difference, TestRun
from sshload_operator.decision.comparison import facts
from sshload_operator.decision.comparison.compare import Compared, compare
from sshload_operator.decision.comparison.endings import figure_text, sentence
from sshload_operator.decision.comparison.facts import observed_test
from sshload_operator.decision.comparison.plan import ComparisonPlan
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.owner import Cause, Obstacle, OwnerDecision

SATURATED = {"verdict": "Invalid", "reason": "GeneratorSaturated", "message": "a worker used its whole core"}
ERROR = {"verdict": "Error", "reason": "ImageUnavailable", "message": "no such image"}


def started(*names: str, **spec: Any) -> SimComparison:
    world = SimComparison(comparison_spec(*names, **spec))
    world.settle()
    return world


def decision(world: SimComparison, **facts: Any) -> OwnerDecision:
    return decide(replace(world.subject(), **{"tests": world.observed(), **facts}))


def play(world: SimComparison, ends: dict[str, dict[str, Any]] | None = None) -> None:
    while world.status["phase"] != "Finished":
        (name,) = world.under_way()
        world.end(name, (ends or {}).get(name, (ends or {}).get(name.rpartition("-")[2])))
        world.pass_time(30)
        world.settle()


def made_anew(world: SimComparison, name: str, uid: str, end: dict[str, Any]) -> None:
    """Put another object of this name in the place of a test, which has ended."""
    before = world.tests[name]
    world.tests[name] = {**before, "metadata": {**before["metadata"], "uid": uid}}
    world.end(name, end)


def ended(end: dict[str, Any], repeats: int = 0) -> TestRun:
    """Return what is remembered of the first test with this end, after so many others in its place."""
    world = started()
    world.end("cmp-1-a", end)
    (seen,) = world.observed()
    assert isinstance(world.plan, ComparisonPlan)
    assert seen.verdict is not None
    return facts.test_run(world.plan.places[0], seen, seen.verdict, 100, repeats)


def test_a_test_that_was_measured_keeps_its_figures_though_another_of_its_name_ends() -> None:
    world = started()
    world.end("cmp-1-a", measured(12.0))
    world.settle()
    made_anew(world, "cmp-1-a", "another", measured(99.0))
    world.settle()
    assert world.status["tests"][0]["figures"]["total.p50Ms"] == 12.0


def test_a_test_that_lagged_is_counted_once_however_often_it_is_seen() -> None:
    world = started()
    world.end("cmp-1-a", SATURATED)
    world.operator_pass()
    found = decision(world)
    assert [test.name for test in found.delete] == ["cmp-1-a"]
    stays = replace(world.observed()[0], deleting=True)
    again = decision(world, tests=(stays,))
    assert again.delete == ()
    assert again.create is None
    assert (again.status, again.requeue_after_s) == (None, 1)


def test_the_test_that_took_the_place_of_one_that_lagged_is_not_deleted_for_it() -> None:
    world = started()
    world.end("cmp-1-a", SATURATED)
    world.settle()
    assert world.under_way() == ["cmp-1-a"]
    assert decision(world).delete == ()
    assert world.status["message"] == "cmp-1-a is under way"


def test_each_repeat_is_remembered_by_its_own_uid_and_number() -> None:
    world = started()
    for repeats in (0, 1):
        world.end("cmp-1-a", SATURATED)
        world.operator_pass()
        (run,) = world.status["tests"]
        assert (run["uid"], run.get("repeats", 0)) == (world.tests["cmp-1-a"]["metadata"]["uid"], repeats)
        assert f"cmp-1-a is made again ({repeats + 1} of 2 times at most)" in world.status["message"]
        world.settle()


def test_a_test_whose_figures_are_settled_needs_no_uid() -> None:
    world = started()
    world.end("cmp-1-a")
    world.settle()
    assert "uid" not in world.status["tests"][0]


def test_tests_that_are_asked_to_end_or_going_are_not_asked_again() -> None:
    world = started()
    world.end("cmp-1-a")
    world.settle()
    (over, running) = world.observed()
    others = (replace(running, name="asked", aborting=True), replace(running, name="going", deleting=True))
    world.edit(abort=True)
    found = decision(world, tests=(over, running, *others))
    assert [test.name for test in found.abort] == [running.name]
    assert found.rests


def test_tests_of_an_earlier_run_are_ended_once_and_deleted_once() -> None:
    world = started()
    (running,) = world.observed()
    old = replace(running, run_id="earlier")
    asked, going = replace(old, name="asked", aborting=True), replace(old, name="going", deleting=True)
    first = decision(world, tests=(asked, old, going))
    assert ([test.name for test in first.abort], first.delete, first.requeue_after_s) == (["cmp-1-a"], (), 1)
    over = replace(old, verdict=Verdict.ABORTED)
    assert decision(world, tests=(over, going)) == OwnerDecision(look_for_pods=True)
    there = decision(world, tests=(over, going), pods=("a-pod",))
    assert (there.delete, there.requeue_after_s) == ((), 1)
    gone = decision(world, tests=(over, going), pods=())
    assert ([test.name for test in gone.delete], gone.requeue_after_s) == (["cmp-1-a"], 1)
    assert gone.status is not None
    assert gone.status["message"] == "2 tests of an earlier run are being deleted: their names are needed"


def test_five_pods_are_named_in_order_of_their_names() -> None:
    world = started()
    world.end("cmp-1-a")
    pods = [f"pod-{letter}" for letter in "gfedcba"]
    found = decision(world, pods=pods)
    assert found.status is not None
    assert found.status["message"].endswith(" are gone: pod-a, pod-b, pod-c, pod-d, pod-e")
    assert found.create is None


def test_what_the_api_server_refused_is_told_before_pods_are_looked_for() -> None:
    world = SimComparison()
    found = decision(world, obstacle=Obstacle(Cause.NAME_TAKEN, "there is a test cmp-1-a of somebody else's"))
    assert found.status is not None
    assert (found.status["verdict"], found.status["reason"]) == ("Error", "NameTaken")
    assert found.look_for_pods is False


def test_a_spec_that_would_be_refused_is_told_before_pods_that_are_waited_for() -> None:
    external = {"host": "elsewhere.example.com", "user": "a", "credentialsSecretRef": {"name": "a"}}
    target = {"external": {**external, "knownHostsSecretRef": {"name": "b"}}}
    variants = [{"name": "a", "remove": ["target.managed"], "patch": {"target": target}}, {"name": "b"}]
    world = SimComparison(comparison_spec(variants=variants))
    found = decision(world, pods=("a-pod",))
    assert found.status is not None
    assert found.status["reason"] == "TargetNotAllowed"


def test_a_comparison_that_is_deleted_says_so_though_abort_is_set_too() -> None:
    world = started()
    world.edit(abort=True)
    found = decision(world, deleting=True)
    assert found.status is not None
    assert (found.status["verdict"], found.status["reason"]) == ("Aborted", "Deleted")


def test_the_start_is_that_of_the_first_pass_and_the_end_that_of_the_last() -> None:
    world = started()
    world.pass_time(10)
    play(world)
    assert world.status["startTime"] == "2026-11-21T12:00:00Z"
    assert world.status["completionTime"] == "2026-11-21T12:03:10Z"
    assert world.status["round"] == 3


def test_a_new_run_begins_at_its_own_time() -> None:
    world = started()
    world.pass_time(60)
    world.edit(repeats=4)
    world.settle()
    assert world.status["startTime"] == "2026-11-21T12:01:00Z"


def test_an_event_is_told_when_the_run_the_phase_or_the_verdict_is_new_and_else_not() -> None:
    world = SimComparison()
    (begun,) = decision(world, pods=()).announcements
    assert (begun.warning, begun.occasion, str(begun.reason)) == (False, "1", "TestStarting")
    world.settle()
    world.end("cmp-1-a")
    assert decision(world, pods=()).announcements == ()
    (refused,) = decision(world, obstacle=Obstacle(Cause.REFUSED, "422")).announcements
    assert (refused.warning, str(refused.reason), refused.message) == (True, "TestRefused", "422")
    world.edit(abort=True)
    (aborted,) = decision(world).announcements
    assert aborted.warning is False


def test_an_event_is_told_when_a_run_that_waited_begins() -> None:
    world = started()
    world.edit(repeats=4)
    world.operator_pass()
    assert world.status["phase"] == "Pending"
    (begun,) = decision(world, tests=(), pods=()).announcements
    assert str(begun.reason) == "TestStarting"


def test_each_status_names_the_generation_that_it_is_of() -> None:
    world = started()
    world.edit(repeats=4)
    world.settle()
    assert world.status["observedGeneration"] == 2
    play(world)
    assert (world.status["observedGeneration"], world.status["phase"]) == (2, "Finished")
    world.edit(pause="1s")
    world.settle()
    assert (world.status["observedGeneration"], world.status["reason"]) == (3, "InvalidSpec")


def test_an_event_is_told_of_another_verdict_on_a_run_that_was_over() -> None:
    world = SimComparison(spec={**comparison_spec(), "pause": "1s"})
    world.settle()
    world.spec = comparison_spec()  # no edit: another operator reads the same generation
    (deleted,) = decision(world, deleting=True).announcements
    assert (str(deleted.reason), deleted.occasion) == ("Deleted", "1")


def test_a_spec_that_cannot_be_read_is_complete_and_stalled() -> None:
    world = SimComparison(spec={**comparison_spec(), "pause": "1s"})
    world.settle()
    assert world.conditions() == {"Complete": "True", "Ready": "False", "Stalled": "True"}


def test_a_test_under_way_is_looked_at_every_five_minutes() -> None:
    assert decision(started()).requeue_after_s == 300


def test_no_round_is_told_before_the_first_test_is_made() -> None:
    waits = started()
    waits.edit(repeats=4)
    waits.operator_pass()
    assert (waits.status["phase"], waits.status.get("round")) == ("Pending", None)
    never = SimComparison(comparison_spec(abort=True))
    never.settle()
    assert (never.status["verdict"], never.status.get("round")) == ("Aborted", None)


def test_a_comparison_that_is_over_is_not_looked_at_again_whether_its_spec_can_be_read_or_not() -> None:
    unread = SimComparison(spec={**comparison_spec(), "pause": "1s"})
    assert decision(unread).rests
    unread.settle()
    assert decision(unread).rests
    world = started()
    play(world)
    assert decision(world).rests
    world.spec = {**world.spec, "pause": "1s"}  # no edit: another operator reads the same generation
    assert decision(world).rests


def test_results_are_kept_as_they_are_remembered_until_another_test_ends() -> None:
    world = started()
    for _ in range(2):
        (name,) = world.under_way()
        world.end(name)
        world.settle()
    assert world.status["results"]
    kept = {"variants": world.status["results"]["variants"][:1]}
    world.status = {**world.status, "results": kept}
    world.operator_pass()
    assert world.status["results"] == kept
    (name,) = world.under_way()
    world.end(name)
    world.settle()
    assert world.status["results"] != kept


def test_the_figures_of_a_test_that_cannot_be_relied_on_are_compared_with_nothing() -> None:
    world = started(repeats=3)
    play(world, {"cmp-2-b": {**measured(99.0), **SATURATED, "reason": "ReportsMissing"}})
    (_, second) = world.status["results"]["variants"]
    assert "1 of 6 tests gave no figures (cmp-2-b: Invalid: a worker used its whole core)" in world.status["message"]
    assert {one["rounds"] for one in second["figures"]} == {2}


def test_of_a_variant_that_ended_in_errors_and_one_that_was_not_measured_the_errors_are_told() -> None:
    world = started(repeats=1)
    play(world, {"a": {**SATURATED, "reason": "ReportsMissing"}, "b": ERROR})
    assert world.status["message"].startswith("the only test of variant b gave no figures; cmp-1-b: Error")


def test_a_refused_spec_keeps_the_time_of_its_first_refusal() -> None:
    world = SimComparison(spec={**comparison_spec(), "pause": "1s"})
    world.settle()
    world.pass_time(60)
    assert decision(world).status is None
    assert world.status["completionTime"] == "2026-11-21T12:00:00Z"


def test_of_two_variants_that_were_not_measured_the_first_is_named_with_its_last_test() -> None:
    world = started(repeats=3)
    message = {**SATURATED, "reason": "ReportsMissing"}
    play(world, {"a": message, "b": message, "cmp-3-a": {**message, "message": "the last one"}})
    assert world.status["message"] == ("none of the 3 tests of variant a gave figures; cmp-3-a: Invalid: the last one")


def test_the_results_of_a_sweep_name_the_value_of_each_variant_and_the_field() -> None:
    spec = comparison_spec(sweep={"field": "target.managed.sshd.maxStartups", "values": "10:30:100,20:30:200"})
    del spec["variants"]
    world = SimComparison(spec)
    world.settle()
    (name,) = world.under_way()
    world.end(name)
    world.settle()
    results = world.status["results"]
    assert [one["value"] for one in results["variants"]] == ["10:30:100", "20:30:200"]


def test_a_sweep_is_told_by_its_values() -> None:
    spec = comparison_spec(sweep={"field": "target.managed.sshd.maxStartups", "values": "10:30:100,20:30:200"})
    del spec["variants"]
    world = SimComparison(spec)
    world.settle()
    play(world)
    assert "20:30:200 shows no difference from 10:30:100 in 4 figures" in world.status["message"]


def test_a_variant_of_which_nothing_can_be_measured_is_named_and_no_other() -> None:
    world = started("a", "b", "c", repeats=50)
    play(world, {"b": ERROR})
    assert world.status["message"] == ("none of the 2 tests of variant b gave figures; cmp-2-b: Error: no such image")


def test_one_error_of_a_comparison_of_one_round_ends_it() -> None:
    world = started(repeats=1)
    play(world, {"a": ERROR})
    assert world.created == ["cmp-1-a"]


def test_an_error_after_a_test_that_was_measured_does_not_end_it() -> None:
    world = started(repeats=3)
    play(world, {"cmp-2-a": ERROR, "cmp-3-a": ERROR})
    assert len(world.created) == 6
    assert "2 of 6 tests gave no figures (cmp-2-a: Error: no such image)" in world.status["message"]


def test_a_message_of_a_test_is_remembered_up_to_its_limit() -> None:
    world = started()
    body = world.tests["cmp-1-a"]
    world.end("cmp-1-a", {**ERROR, "message": "word " * 100})
    assert len(observed_test(body).message) <= 200


def test_a_status_of_an_earlier_generation_is_no_end() -> None:
    world = started()
    world.end("cmp-1-a")
    body = world.tests["cmp-1-a"]
    assert observed_test(body).verdict is Verdict.PASSED
    body["metadata"] = {**body["metadata"], "generation": 2}
    seen = observed_test(body)
    assert (seen.verdict, seen.reason, seen.message, seen.spec_hash, seen.figures) == (None, "", "", "", {})


def test_the_first_run_of_a_test_whose_status_names_no_generation_is_not_over() -> None:
    world = started()
    world.end("cmp-1-a")
    body = world.tests["cmp-1-a"]
    body["status"] = {key: value for key, value in body["status"].items() if key != "observedGeneration"}
    assert observed_test(body).verdict is None


def test_a_test_is_finished_by_its_phase_and_not_by_its_verdict() -> None:
    world = started()
    world.end("cmp-1-a")
    body = world.tests["cmp-1-a"]
    body["status"] = {**body["status"], "phase": "Running"}
    assert observed_test(body).verdict is None


def test_a_test_without_labels_is_of_no_run() -> None:
    world = started()
    body = world.tests["cmp-1-a"]
    assert observed_test(body).run_id == body["metadata"]["labels"]["sshload.dev/comparison-run"]
    body["metadata"] = {key: value for key, value in body["metadata"].items() if key != "labels"}
    assert observed_test(body).run_id == ""


def test_a_test_without_a_hash_of_what_it_measured_has_not_measured_its_spec() -> None:
    assert ended({**measured(), "specHash": ""}).problem == (
        "somebody changed its spec, so that it did not measure the variant"
    )


def test_a_test_whose_spec_can_no_longer_be_read_has_not_measured_the_variant() -> None:
    world = started()
    world.end("cmp-1-a")
    (seen,) = world.observed()
    assert seen.has_measured(seen.spec_hash)
    assert not replace(seen, spec={"warmUp": "soon"}).has_measured("0123456789abcdef")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param({**SATURATED, "verdict": "Error"}, id="no verdict of the generator"),
        pytest.param({**SATURATED, "verdict": "Aborted"}, id="ended by somebody"),
        pytest.param({**SATURATED, "reason": "ReportsMissing"}, id="another cause"),
        pytest.param({**measured(), "reason": "GeneratorSaturated"}, id="measured"),
    ],
)
def test_only_what_the_generators_delay_spoiled_is_made_again(end: dict[str, Any]) -> None:
    found = ended(end, repeats=1)
    assert found.uid == ""
    assert not found.is_repeated
    assert "in its place" not in found.problem


@pytest.mark.parametrize(
    ("repeats", "which"), [(0, ""), (1, " (test 2 of 3 in its place)"), (2, " (test 3 of 3 in its place)")]
)
def test_a_test_in_the_place_of_one_that_lagged_says_how_many_there_were(repeats: int, which: str) -> None:
    assert ended(SATURATED, repeats).problem == f"Invalid: a worker used its whole core{which}"


def test_a_lag_of_a_test_that_did_not_measure_the_variant_is_no_cause_to_make_it_again() -> None:
    lagged = measured()
    lagged["results"] = {**lagged["results"], "generator": {"latenciesMayIncludeMs": 300}}
    assert ended(lagged).uid
    assert ended({**lagged, "specHash": ""}).uid == ""
    assert ended({**lagged, "verdict": "Error", "reason": "TargetUnready"}).uid == ""


def test_a_test_remembers_its_place_and_only_as_many_figures_as_there_is_room_for() -> None:
    world = started()
    world.end("cmp-1-a", measured(12.0))
    (seen,) = world.observed()
    assert isinstance(world.plan, ComparisonPlan)
    found = facts.test_run(world.plan.places[0], seen, Verdict.PASSED, 1, 0)
    assert (found.test, found.round, found.variant, found.reason, len(found.figures)) == (
        "cmp-1-a",
        1,
        "a",
        "NoThresholds",
        1,
    )


def compared(key: str, factor: float) -> Compared:
    runs = [
        TestRun(test=f"{name}{number}", round=number, variant=name, verdict=Verdict.PASSED, figures={key: value})
        for name, value in (("a", 10.0), ("b", 10.0 * factor))
        for number in (1, 2, 3)
    ]
    (found,) = compare(runs, "a", "b", 1)
    return found


def test_three_differences_are_told_the_most_telling_first_and_the_rest_is_counted() -> None:
    keys = ("up.exec.p50Ms", "cpuPerLoginMs", "login.p50Ms", "total.p99Ms", "completedRate")
    text = sentence("b", "a", [compared(key, 2.0) for key in keys])
    assert text.startswith("b differs from a in 5 of 5 figures: completedRate 2 times")
    assert text.index("total p99 2") < text.index("login p50 2")
    assert text.endswith(" and in 2 more")
    assert "cpuPerLoginMs" not in text
    assert "exec" not in text
    three = sentence("b", "a", [compared(key, 2.0) for key in keys[:3]])
    assert "more" not in three
    assert three.startswith("b differs from a in 3 of 3 figures: login p50 2 times")


def test_figures_without_a_weight_are_told_in_the_order_of_their_names() -> None:
    text = sentence("b", "a", [compared(key, 2.0) for key in ("z.p50Ms", "y.p50Ms", "x.p50Ms")])
    assert text.index("x p50") < text.index("y p50") < text.index("z p50")


@pytest.mark.parametrize("left_out", [{"mean": None}, {"low": None}, {"high": None}], ids=str)
def test_a_difference_without_all_its_bounds_is_told_by_its_name(left_out: dict[str, Any]) -> None:
    assert figure_text(replace(compared("login.p50Ms", 2.0), **left_out)) == "login p50"


def test_milliseconds_without_bounds_are_not_told() -> None:
    whole = compared("login.p50Ms", 2.0)
    assert whole.in_ms is not None
    for in_ms in (replace(whole.in_ms, low=None), replace(whole.in_ms, high=None)):
        text = figure_text(replace(whole, in_ms=in_ms))
        assert text.startswith("login p50 2 times (")
        assert "ms" not in text


def test_a_difference_is_told_by_three_digits_of_its_ratio_and_in_milliseconds() -> None:
    of_latency, of_rate = compared("login.p50Ms", 2.12345), compared("completedRate", 2.12345)
    assert figure_text(of_latency).startswith("login p50 2.12 times (2.12 to 2.13), +11.2 ms (")
    assert figure_text(of_rate) == "completedRate 2.12 times (2.12 to 2.13)"


def test_where_the_shares_of_errors_differ_too_it_is_told_whose_the_latencies_are() -> None:
    errors = replace(compared("errorPercent", 1.0), difference=Difference.HIGHER)
    survivors = ". Latencies are those of successes only, and the share of successes differs"
    assert sentence("b", "a", [errors, compared("login.p50Ms", 2.0)]).endswith(survivors)
    assert survivors not in sentence("b", "a", [compared("login.p50Ms", 2.0)])


def test_a_figure_without_an_interval_is_no_difference() -> None:
    same, unknown = (
        replace(compared("login.p50Ms", 1.0), difference=found) for found in (Difference.NONE, Difference.UNKNOWN)
    )
    assert sentence("b", "a", [same, unknown]) == "b shows no difference from a in 1 figure"
    assert sentence("b", "a", [unknown]) == "b cannot be compared with a"


def test_one_figure_is_one() -> None:
    assert sentence("b", "a", [replace(compared("login.p50Ms", 1.0), difference=Difference.NONE)]) == (
        "b shows no difference from a in 1 figure"
    )
