"""What a run or a comparison says that somebody at this machine ended, and what it is held against."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from plans import plan, quickstart
from sim_comparison import comparison_spec
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.kinds import COMPARISON
from sshload_operator.api.load_test_file import Document
from sshload_operator.api.status.head import Condition, remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.local.compare import compare_locally
from sshload_operator.local.run import LocalResult, _held_against, with_message
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.state import ConditionStatus, ConditionType, Phase, Reason

BASELINE = {"thresholds": [{"throughput": {"within": "10%"}}], "baseline": {"testRef": {"name": "named"}}}
ABORTED = replace(
    remembered(TestStatus, None).status,
    observed_generation=1,
    run=1,
    phase=Phase.FINISHED,
    verdict=Verdict.ABORTED,
    reason=Reason.ABORT_REQUESTED,
    message="spec.abort was set",
)


def condition(about: ConditionType, message: str) -> Condition[Any]:
    return Condition(about, ConditionStatus.TRUE, Reason.ABORT_REQUESTED, message, datetime(2026, 11, 28, tzinfo=UTC))


def test_the_words_of_a_cluster_are_replaced_wherever_they_stand_and_no_others() -> None:
    conditions = (
        condition(ConditionType.TARGET_READY, "it runs"),
        condition(ConditionType.PASSED, "spec.abort was set"),
    )
    told = with_message(replace(ABORTED, conditions=conditions), "it was ended early")
    assert told.message == "it was ended early"
    assert [one.message for one in told.conditions] == ["it runs", "it was ended early"]


def test_the_file_that_is_given_takes_the_place_of_the_baseline_that_the_test_names() -> None:
    held = _held_against({"metadata": {"name": "given"}}, plan(quickstart(**BASELINE)))
    assert held.spec.baseline.test == "given"  # type: ignore[union-attr]


def test_a_file_that_nothing_is_held_against_is_refused() -> None:
    with pytest.raises(LocalRunError, match="--baseline is given, and the test does not use it"):
        _held_against({"metadata": {"name": "given"}}, plan(quickstart()))


def test_of_a_comparison_that_was_ended_the_tests_that_ended_by_themselves_are_counted() -> None:
    ends = iter((replace(ABORTED, verdict=Verdict.INVALID, reason=Reason.WORKER_LOST), ABORTED))
    document = Document(kind=COMPARISON, name="cmp", namespace="default", spec=comparison_spec(repeats=2))
    status = compare_locally(document, lambda _: LocalResult(next(ends), None), lambda _: None)
    assert [test.verdict for test in status.tests] == [Verdict.INVALID, Verdict.ABORTED]
    assert status.message == "it was ended early, after 1 of its 4 tests. Run it again to compare"
