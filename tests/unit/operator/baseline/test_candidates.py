"""Which earlier tests may be a baseline by their status alone, and which of them can be compared with a run."""

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from baselines import LAST_PASSED, asked, finished, seen, slower
from passes import START, Passes
from plans import quickstart
from sshload_operator.api.load_test import parse
from sshload_operator.api.thresholds import RelativeCapacity, RelativeLatency, RelativeThreshold
from sshload_operator.decision.baseline.find import (
    EarlierTest,
    Found,
    Unusable,
    candidate,
    compares_figures,
    find_baseline,
    installed_hash,
    judge_candidate,
    measured_by,
)
from sshload_operator.planning.differs import comparable_hash
from sshload_operator.planning.plan import Plan
from sshload_operator.state import ObservedBaseline, Reason

OF_SCHEDULE = asked(baseline=LAST_PASSED)
LATENCY, CAPACITY = RelativeLatency("total", 90, 0.1), RelativeCapacity(0.1)
ENDED_EARLY = {"endedEarly": {"afterSeconds": 0.7, "threshold": "error rate below 1 %"}}
LAGGED = {"generator": {"latenciesMayIncludeMs": 50.0}}


@cache
def plan(*thresholds: RelativeThreshold) -> Plan:
    found = Passes(OF_SCHEDULE).plan
    assert isinstance(found, Plan)
    return replace(found, spec=replace(found.spec, relative_thresholds=thresholds or (LATENCY,)))


@cache
def passed() -> dict[str, Any]:
    return finished(slower(1.0), OF_SCHEDULE, verdict="Passed", reason="ThresholdsMet")


def earlier(
    metadata: dict[str, Any] | None = None, results: dict[str, Any] | None = None, **status: Any
) -> dict[str, Any]:
    """Return a test that passed, with other fields; those that are None are not there."""
    body = passed()
    found = {**body["status"], "results": {**body["status"]["results"], **(results or {})}, **status}
    return {
        **body,
        "metadata": {**body["metadata"], **(metadata or {})},
        "status": {name: value for name, value in found.items() if value is not None},
    }


def is_candidate(body: dict[str, Any]) -> bool:
    return candidate(plan(), EarlierTest.of(body), START) is not None


def is_clean(body: dict[str, Any], *thresholds: RelativeThreshold) -> bool:
    found = candidate(plan(*thresholds), EarlierTest.of(body), START)
    assert found is not None
    return found.clean


def at(time: Any) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def test_a_candidate_was_over_when_the_run_began() -> None:
    assert is_candidate(earlier(completionTime=at(START)))
    assert not is_candidate(earlier(completionTime=at(START + timedelta(seconds=1))))
    assert not is_candidate(earlier(completionTime=None))
    assert not is_candidate(earlier(phase="Running"))


def test_a_run_is_no_candidate_of_its_own() -> None:
    assert not is_candidate(earlier({"uid": plan().test.uid}))


@pytest.mark.parametrize(
    ("body", "clean"),
    [
        pytest.param(earlier(), True, id="it passed"),
        pytest.param(earlier(specHash=None), False, id="what it measured is not known"),
        pytest.param(earlier(results=ENDED_EARLY), False, id="its load was ended early"),
        pytest.param(earlier(results=LAGGED), False, id="its generator lagged"),
    ],
)
def test_a_candidate_is_clean_if_nothing_in_its_status_is_against_a_comparison(
    body: dict[str, Any], *, clean: bool
) -> None:
    assert is_clean(body) is clean


def test_a_candidate_without_results_was_not_ended_early() -> None:
    test = EarlierTest.of(earlier() | {"status": {**earlier()["status"], "results": None}})
    assert test.was_ended_early is False
    assert EarlierTest.of(earlier(results=ENDED_EARLY)).was_ended_early


@pytest.mark.parametrize(
    ("thresholds", "compares"),
    [((LATENCY,), True), ((CAPACITY,), False), ((LATENCY, CAPACITY), True), ((CAPACITY, LATENCY), True)],
    ids=["latency", "capacity", "latency and capacity", "capacity and latency"],
)
def test_a_lag_is_against_a_comparison_of_anything_but_capacities(
    thresholds: tuple[RelativeThreshold, ...], *, compares: bool
) -> None:
    assert compares_figures(plan(*thresholds).spec) is compares
    assert is_clean(earlier(results=LAGGED), *thresholds) is not compares
    assert is_clean(earlier(), *thresholds)


def test_what_was_measured_is_known_by_the_spec_and_by_the_pods_resources() -> None:
    def measured(**status: Any) -> str:
        found = candidate(plan(), EarlierTest.of(earlier(**status)), START)
        assert found is not None
        return found.measured

    assert measured() == measured(completionTime=at(START))
    others = {measured(specHash="another"), measured(installed=None), measured(installed={"target": {"given": "x"}})}
    assert len({measured(), *others}) == 4


def test_resources_have_a_hash_and_a_status_of_an_earlier_release_has_none() -> None:
    given = EarlierTest.of(earlier(installed={"target": {"given": "requests cpu 1"}})).status
    assert len(installed_hash(given)) == 16
    assert installed_hash(replace(given, installed=None)) == ""


@pytest.mark.parametrize("which", ["no baseline is asked for", "nobody has looked"])
def test_without_a_look_there_is_no_baseline(which: str) -> None:
    found: Plan | Any = plan() if which == "nobody has looked" else Passes(quickstart()).plan
    observed = None if which == "nobody has looked" else seen(earlier())
    assert find_baseline(found, observed, START) == Unusable(Reason.NO_BASELINE, "no baseline was looked for")


def named(name: str, minutes: int) -> dict[str, Any]:
    return earlier({"name": name, "uid": name}, completionTime=at(START - timedelta(minutes=minutes)))


def last_and_oldest(*tests: dict[str, Any]) -> tuple[str, str]:
    found = find_baseline(plan(), ObservedBaseline(tests, ""), START)
    assert isinstance(found, Found)
    assert found.oldest is not None
    return found.ref.test, found.oldest.ref.test


def test_the_oldest_is_so_by_its_end_and_of_several_at_once_by_its_name() -> None:
    assert last_and_oldest(named("m", 1), named("b", 20), named("y", 60)) == ("m", "y")
    assert last_and_oldest(named("m", 1), named("b", 60), named("a", 60)) == ("m", "a")
    assert last_and_oldest(named("a", 60), named("b", 60), named("m", 1)) == ("m", "a")


@pytest.mark.parametrize(
    ("body", "is_known"),
    [
        pytest.param(earlier(), True, id="it passed"),
        pytest.param(earlier(verdict="Inconclusive", reason="NoBaseline"), True, id="it only lacked a baseline"),
        pytest.param(earlier(verdict="Failed", reason="ThresholdBroken"), False, id="it failed"),
        pytest.param(earlier(phase="Running"), False, id="it is not over"),
        pytest.param(earlier(completionTime=None), False, id="its end is not known"),
        pytest.param(earlier(specHash=None), False, id="what it measured is not known"),
    ],
)
def test_a_schedule_knows_what_was_measured_by_those_that_a_later_test_can_have(
    body: dict[str, Any], *, is_known: bool
) -> None:
    expected = comparable_hash(parse(OF_SCHEDULE)) if is_known else None
    assert measured_by(EarlierTest.of(body)) == expected


def test_a_test_that_was_edited_in_what_is_not_measured_is_still_the_one_that_ran() -> None:
    edited = earlier({"generation": 2})
    assert isinstance(judge_candidate(plan(), EarlierTest.of(edited)), Found)


def test_a_test_whose_load_was_ended_early_shows_the_worst_part() -> None:
    found = judge_candidate(plan(), EarlierTest.of(earlier(results=ENDED_EARLY)))
    assert isinstance(found, Unusable)
    assert (found.reason, found.ref is not None and found.ref.test) == (Reason.NO_BASELINE, "before")
    assert found.message == (
        "the load of the baseline before ended early because a threshold was broken, so it shows only the worst part"
    )
