"""A comparison against every order of events that Hypothesis finds: whatever happens, these things hold."""

from copy import deepcopy
from typing import Any

import pytest
from crd_schema import status_problems
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sim_comparison import STEPS_OF_A_PASS, SimComparison, comparison_spec, measured
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.comparison import ComparisonCondition

ENDS: dict[str, dict[str, Any]] = {
    "passed": measured(),
    "slow": measured(30.0),
    "failed": measured(12.0, 40.0, verdict="Failed"),
    "without figures": {"verdict": "Inconclusive", "reason": "TooFewSamples", "message": "too few"},
    "invalid": {"verdict": "Invalid", "reason": "ReportsMissing", "message": "a report is missing"},
    "lagged": {"verdict": "Invalid", "reason": "GeneratorSaturated", "message": "busy"},
    "error": {"verdict": "Error", "reason": "ImageUnavailable", "message": "no such image"},
}


class Comparison(RuleBasedStateMachine):
    """The rules are what the world may do; the operator passes when it likes, and may be killed in the midst."""

    def __init__(self) -> None:
        super().__init__()
        self.world = SimComparison(comparison_spec("a", "b", "c"))
        self.remembered: dict[str, dict[str, Any]] = {}

    @initialize()
    def applied(self) -> None:
        self.world.operator_pass()

    # the operator

    @rule(passes=st.integers(min_value=1, max_value=4))
    def operator_passes(self, passes: int) -> None:
        for _ in range(passes):
            self.acts(STEPS_OF_A_PASS)

    @rule(steps=st.integers(min_value=0, max_value=3))
    def operator_is_killed_in_mid_pass(self, steps: int) -> None:
        self.acts(steps)

    def acts(self, steps: int) -> None:
        """Pass, and check what the pass itself promises."""
        world = self.world
        before = deepcopy(world.status)
        waited_for = set(world.pods), set(world.under_way())
        created = len(world.created)
        world.operator_pass(steps)
        if len(world.created) > created:
            assert waited_for == (set(), set()), "a test was made beside another one or its pods"
        check_memory(before, world.status)

    # the tests, and what becomes of them

    @precondition(lambda self: self.world.under_way())
    @rule(end=st.sampled_from(sorted(ENDS)), pods_stay=st.booleans())
    def test_ends(self, end: str, *, pods_stay: bool) -> None:
        self.world.end(self.world.under_way()[0], ENDS[end], pods_stay=pods_stay)

    @precondition(lambda self: self.world.under_way())
    @rule(count=st.integers(min_value=1, max_value=8))
    def all_goes_well_for_a_while(self, count: int) -> None:
        """Let some tests pass one after the other, which chance alone would hardly string together."""
        for _ in range(count):
            for name in self.world.under_way():
                self.world.end(name)
            self.world.pods.clear()
            self.operator_passes(2)

    @rule()
    def aborted_tests_end(self) -> None:
        self.world.end_aborted()

    @rule()
    def pods_vanish(self) -> None:
        self.world.pods.clear()

    @precondition(lambda self: self.world.tests)
    @rule(pick=st.integers(min_value=0, max_value=8), pods_stay=st.booleans())
    def somebody_deletes_a_test(self, pick: int, *, pods_stay: bool) -> None:
        names = sorted(self.world.tests)
        self.world.delete(names[pick % len(names)], pods_stay=pods_stay)

    # the user

    @rule(repeats=st.integers(min_value=1, max_value=4))
    def spec_edited(self, repeats: int) -> None:
        self.world.edit(repeats=repeats)

    @rule(abort=st.booleans())
    def abort_set(self, *, abort: bool) -> None:
        self.world.edit(abort=abort)

    @rule(order=st.sampled_from(["interleaved", "of old"]))
    def spec_broken_or_mended(self, order: str) -> None:
        self.world.edit(order=order)

    # what always holds

    @invariant()
    def never_two_at_once(self) -> None:
        assert len(self.world.under_way()) <= 1

    @invariant()
    def status_is_what_the_api_server_takes(self) -> None:
        if self.world.status:
            assert status_problems(self.world.status, "sshloadtestcomparisons") == ()
            is_stalled = self.world.status.get("verdict") not in (None, "Conclusive")
            absent = {"Stalled": not is_stalled, "Reconciling": self.world.status["phase"] == "Finished"}
            kinds = [item["type"] for item in self.world.status["conditions"]]
            assert kinds == [str(kind) for kind in ComparisonCondition if not absent.get(kind)]

    @invariant()
    def conclusive_needs_every_test_measured(self) -> None:
        status = self.world.status
        if status.get("verdict") == "Conclusive":
            assert not any("problem" in test for test in status["tests"])
            done, _, planned = status["progress"].partition("/")
            assert done == planned

    @invariant()
    def whatever_goes_on_is_looked_at_again(self) -> None:
        last = self.world.last
        if last is not None and last.status is not None and last.status["phase"] != "Finished":
            assert last.requeue_after_s is not None

    @invariant()
    def a_second_look_at_the_same_world_changes_nothing(self) -> None:
        world = self.world
        if world.last is None or world.last.create or world.last.delete or world.last.abort:
            return
        again = world.twin()
        again.operator_pass()
        if again.created == world.created and again.tests == world.tests:
            settled = again.status
            again.operator_pass()
            assert again.status == settled

    def teardown(self) -> None:
        """Whatever was going on, tests that end and an operator that is there bring it to an end."""
        world = self.world
        for _ in range(60):
            world.end_aborted()
            for name in world.under_way():
                world.end(name)
            world.pods.clear()
            world.operator_pass()
            was_killed = world.last is None  # as it is where a pass has more to delete than it has steps
            if world.status["phase"] == "Finished" and not world.under_way() and not was_killed:
                break
        assert world.status["phase"] == "Finished"
        assert isinstance(world.plan, SpecError) == (world.status["reason"] == "InvalidSpec")
        if world.status["verdict"] in ("Conclusive", "Inconclusive"):
            assert len(world.status["tests"]) == world.spec["repeats"] * 3
        assert world.under_way() == []


def check_memory(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that a run forgets nothing that it has measured, and changes nothing of it.

    Of a test whose generator lagged, another one takes the place.
    """
    if not before or before.get("run") != after.get("run"):
        return
    known = {test["test"]: test for test in after.get("tests", ())}
    for test in before.get("tests", ()):
        repeats = known[test["test"]].get("repeats", 0) - test.get("repeats", 0)
        assert known[test["test"]] == test or (repeats == 1 and "uid" in test)
    if before.get("phase") == "Finished" and before.get("specHash"):
        kept = ("phase", "verdict", "reason", "message", "completionTime", "results", "tests", "conditions")
        assert {key: before.get(key) for key in kept} == {key: after.get(key) for key in kept}


TestComparison = pytest.mark.slow(Comparison.TestCase)
TestComparison.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
