"""What a person may ask of each object in Argo CD, and what comes of it."""

import json
from copy import deepcopy
from typing import Any

import pytest
from argo_lua import after, customizations, made_now, offered
from gitops_objects import BAD, CASES, GOES_ON, GOOD, whole
from passes import Passes
from runs import pod, summary
from schedules import at, schedule
from specs.small import SMALL
from specs.spec import changed
from specs.tables import GOOD as GOOD_SPECS
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.kinds import SCHEDULE, TEST
from sshload_operator.api.load_test import parse
from sshload_operator.api.schedule.spec import parse_schedule
from sshload_operator.decision.comparison.plan import comparison_hash
from sshload_operator.decision.schedule.decide import child
from sshload_operator.decision.schedule.facts import ScheduleIdentity
from sshload_operator.manifests.labels import SCHEDULE_LABEL
from sshload_operator.planning.plan import spec_hash
from sshload_operator.state import Phase, Role

NOON = 1_763_726_400.0
WITHOUT_EMPTY_MAPS = changed(SMALL, "target.managed", {"sshd": {"useDNS": False}})
CHANGES = {"abort": ["abort"], "suspend": ["suspend"], "resume": ["suspend"], "re-run": ["triggers", "abort"]}
OF_RUNS = [pytest.param(name, id=name) for name in CASES if not name.startswith("schedule-")]
OF_SCHEDULES = [pytest.param(name, id=name) for name in CASES if name.startswith("schedule-")]


@pytest.mark.parametrize("name", OF_RUNS)
def test_what_is_under_way_can_be_aborted_and_what_is_over_can_be_run_again(name: str) -> None:
    case = CASES[name]
    assert offered(case.obj) == (["abort"] if case.means == GOES_ON else ["re-run"])


@pytest.mark.parametrize("name", OF_SCHEDULES)
def test_a_schedule_can_be_run_now_and_suspended_or_resumed(name: str) -> None:
    assert offered(CASES[name].obj) == sorted(["run-now", "resume" if name == "schedule-suspended" else "suspend"])


def test_a_schedule_whose_name_is_too_long_for_a_label_cannot_be_run_now() -> None:
    obj = deepcopy(dict(CASES["schedule-suspended"].obj))
    for characters, actions in ((63, ["resume", "run-now"]), (64, ["resume"])):
        obj["metadata"]["name"] = "n" * characters
        assert offered(obj) == actions


def test_an_abort_is_asked_for_once() -> None:
    asked = after("abort", CASES["test-running"].obj)
    assert offered(asked) == []


@pytest.mark.parametrize("name", ["test-passed", "test-failed", "test-aborted"])
def test_a_test_that_a_schedule_or_a_comparison_made_is_not_run_again(name: str) -> None:
    owned = deepcopy(dict(CASES[name].obj))
    owned["metadata"]["ownerReferences"] = [{"kind": "SSHLoadTestSchedule", "name": "nightly"}]
    assert offered(owned) == []


def test_every_action_that_is_offered_is_defined_and_every_other_way_round() -> None:
    found: dict[str, set[str]] = {kind: set() for kind in customizations()}
    for case in CASES.values():
        found[case.obj["kind"]].update(offered(case.obj))
    assert found == {kind: set(ours.actions) for kind, ours in customizations().items()}


@pytest.mark.parametrize("name", list(CASES))
def test_an_action_changes_what_it_is_for_and_nothing_else(name: str) -> None:
    obj = CASES[name].obj
    for action in set(customizations()[obj["kind"]].actions) - {"run-now"}:
        changed = after(action, obj, NOON)
        assert changed != obj or action not in offered(obj)
        measured = changed["spec"].get("base", changed["spec"])
        for field in CHANGES[action]:
            place = measured if field == "triggers" else changed["spec"]
            before = obj["spec"] if place is changed["spec"] else obj["spec"]["base"]
            place.pop(field, None)
            if field in before:
                place[field] = before[field]
        assert changed == obj


def test_an_abort_ends_the_run_and_running_again_is_a_new_one() -> None:
    passes = Passes()
    passes.run()
    passes.run(pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER), after_s=5)
    act(passes, "abort")
    passes.run(after_s=1)
    assert (passes.status["phase"], passes.status["verdict"], passes.status["run"]) == (
        Phase.FINISHED, Verdict.ABORTED, 1,
    )  # fmt: skip
    act(passes, "re-run")
    assert passes.run(after_s=1).start
    assert (passes.status["phase"], passes.status["run"]) == (Phase.PREPARING_TARGET, 3)


def test_a_test_can_be_run_again_and_again() -> None:
    passes = Passes()
    for run in range(1, 4):
        assert passes.run(after_s=1).start
        passes.run(pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER), after_s=60, summary=summary())
        assert (passes.status["verdict"], passes.status["run"]) == (Verdict.PASSED, run)
        assert not passes.run(after_s=60).start
        act(passes, "re-run")


def act(passes: Passes, action: str) -> None:
    """Do an action on the test, as Argo CD patches it."""
    obj = whole(TEST, passes.spec, passes.status, passes.generation)
    assert action in offered(obj)
    passes.spec = after(action, obj, passes.now.timestamp())["spec"]
    passes.generation += 1


@pytest.mark.parametrize(
    ("name", "action"),
    [
        (name, action)
        for name, case in CASES.items()
        if "refused" not in name
        for action in offered(case.obj)
        if action != "run-now"
    ],
)
def test_what_an_action_leaves_is_a_valid_spec(name: str, action: str) -> None:
    obj = after(action, CASES[name].obj)
    read: Any = {
        "SSHLoadTest": parse,
        "SSHLoadTestSchedule": parse_schedule,
        "SSHLoadTestComparison": parse_comparison,
    }[obj["kind"]]
    assert read(obj["spec"])


def test_running_again_says_when_it_was_asked_for_and_takes_an_abort_back() -> None:
    spec = after("re-run", CASES["test-aborted"].obj, NOON)["spec"]
    assert (spec["triggers"], spec["abort"]) == ({"run-again": "2025-11-21T12:00:00Z"}, False)
    assert spec_hash(parse(spec)) != spec_hash(parse(CASES["test-aborted"].obj["spec"]))


def test_a_comparison_is_run_again_by_the_triggers_of_its_tests() -> None:
    before = CASES["comparison-conclusive"].obj["spec"]
    spec = after("re-run", CASES["comparison-conclusive"].obj, NOON)["spec"]
    assert "triggers" not in spec
    assert {CASES["comparison-conclusive"].means, CASES["comparison-aborted"].means} == {GOOD, BAD}
    assert comparison_hash(parse_comparison(spec)) != comparison_hash(parse_comparison(before))


def test_running_a_schedule_now_makes_the_test_that_the_schedule_would_make_in_this_minute() -> None:
    found = schedule("09:55")
    labels, annotations = {"team": "ssh", SCHEDULE_LABEL: "another"}, {"owner": "ops"}
    found.spec["testTemplate"] = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": WITHOUT_EMPTY_MAPS,
    }
    theirs = child(
        ScheduleIdentity("load-tests", "one", "uid", 1, found.created), parse_schedule(found.spec), at("12:30")
    )
    ours = made_now(whole(SCHEDULE, found.spec, {}), at("12:30").timestamp() + 59)
    assert ours == theirs


def test_a_test_that_is_made_now_has_no_empty_tables() -> None:
    obj = whole(
        SCHEDULE, {"testTemplate": {"metadata": {}, "spec": {**WITHOUT_EMPTY_MAPS, "ttlAfterFinished": {}}}}, {}
    )
    assert made_now(obj)["spec"] == WITHOUT_EMPTY_MAPS


@pytest.mark.parametrize(
    "spec",
    [pytest.param(spec, id=name) for name, spec in GOOD_SPECS.items() if "affinity" not in json.dumps(spec)],
)
def test_a_test_that_is_made_now_measures_what_the_template_says(spec: dict[str, Any]) -> None:
    """Except for an affinity with a selector that is empty on purpose, which Argo CD cannot write."""
    template = {"spec": json.loads(json.dumps(spec))}
    made = made_now(whole(SCHEDULE, {"testTemplate": template}, {}))["spec"]
    assert spec_hash(parse(made)) == spec_hash(parse(spec))
