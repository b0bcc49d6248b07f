"""Which tests of a schedule are read whole where a baseline is looked for."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from baselines import LAST_PASSED, asked, finished, slower
from passes import START, Passes
from plans import quickstart
from played_api import played_cluster
from sshload_operator.api.kinds import API_VERSION, TEST
from sshload_operator.control.run.baseline import look_for_baseline
from sshload_operator.control.run.judging import Judging
from sshload_operator.decision.baseline.find import Found, Unusable, find_baseline
from sshload_operator.planning.plan import Plan
from sshload_operator.state import ObservedBaseline, Reason

OWNER = {"kind": "SSHLoadTestSchedule", "name": "nightly", "uid": "u", "controller": True}
SPEC = asked(baseline=LAST_PASSED)
PASSED = finished(slower(1.0), SPEC, verdict="Passed", reason="ThresholdsMet")
OTHER = finished(slower(1.0), {**SPEC, "client": {"library": "paramiko"}}, verdict="Passed", reason="ThresholdsMet")


def of_schedule(body: dict[str, Any], days: float, **status: Any) -> dict[str, Any]:
    """Return a test like this one that was over so many days before the run."""
    name, over = f"n-{days:g}", f"{START - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"
    metadata = {**body["metadata"], "name": name, "uid": name, "resourceVersion": "1", "ownerReferences": [OWNER]}
    seen = {"metadata": metadata, "status": {**body["status"], "completionTime": over, **status}}
    return {**body, "apiVersion": API_VERSION, **seen}


def plan() -> Plan:
    found = Passes(SPEC).plan
    assert isinstance(found, Plan)
    return found


def looked_for(
    *tests: dict[str, Any], gone: str = "", anew: dict[str, Any] | None = None
) -> tuple[list[str], Found | Unusable]:
    """Look for the baseline among these tests; return what is read, and found.

    When they are read, one is `gone`, and the metadata of the first of all has changed to `anew`.
    """
    read: list[str] = []
    there = {test["metadata"]["name"]: test for test in tests}
    if anew is not None:
        first = tests[0]["metadata"]
        there[first["name"]] = {**tests[0], "metadata": {**first, **anew}}

    async def answer(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if name == TEST.plural:
            return web.json_response({"items": list(tests), "metadata": {}})
        read.append(name)
        if name == gone:
            return web.json_response({"message": "not found"}, status=404)
        return web.json_response(there[name])

    async def play() -> ObservedBaseline | None:
        judging = Judging()
        async with played_cluster(answer) as cluster:
            try:
                itself = {"metadata": {"ownerReferences": [OWNER]}}
                return await look_for_baseline(cluster, judging, plan(), itself, START)
            finally:
                judging.stop()

    return read, find_baseline(plan(), asyncio.run(play()), START)


def names(found: Found | Unusable) -> tuple[str, str]:
    """Return the last and the oldest baseline."""
    assert isinstance(found, Found)
    assert found.oldest is not None
    return found.ref.test, found.oldest.ref.test


def test_of_many_tests_that_fit_the_last_and_the_oldest_alone_are_read() -> None:
    read, found = looked_for(*(of_schedule(PASSED, days) for days in range(1, 31)))
    assert read == ["n-1", "n-30"]
    assert names(found) == ("n-1", "n-30")


def test_tests_that_can_be_no_baseline_by_their_status_are_not_read() -> None:
    lagged = {**PASSED["status"]["results"], "generator": {"latenciesMayIncludeMs": 50.0}}
    read, found = looked_for(
        of_schedule(PASSED, 1, verdict="Failed", reason="ThresholdBroken"),
        of_schedule(PASSED, 2, phase="Running"),
        of_schedule(PASSED, 3, results=lagged),
        of_schedule(PASSED, -1),
        of_schedule(PASSED, 4),
    )
    assert read == ["n-4"]
    assert isinstance(found, Found)


def test_of_the_tests_of_a_spec_that_measured_something_else_one_is_read() -> None:
    others, fitting = range(10, 60), range(2, 8)
    tests = [*(of_schedule(OTHER, days) for days in others), *(of_schedule(PASSED, days) for days in fitting)]
    read, found = looked_for(of_schedule(OTHER, 1), *tests)
    assert read == ["n-1", "n-2", "n-7"]
    assert names(found) == ("n-2", "n-7")


def test_no_more_than_20_different_specs_are_looked_at() -> None:
    tests = [of_schedule(OTHER, days, specHash=f"{days}") for days in range(1, 51)]
    read, found = looked_for(*tests, of_schedule(PASSED, 51))
    assert read == [*(f"n-{days}" for days in range(1, 21)), "n-1"]
    assert isinstance(found, Unusable)
    assert found.reason is Reason.BASELINE_DIFFERS
    assert found.ref is not None
    assert found.ref.test == "n-1"


def test_a_test_that_is_gone_since_it_was_listed_gives_way_to_the_one_before() -> None:
    read, found = looked_for(*(of_schedule(PASSED, days) for days in range(1, 4)), gone="n-1")
    assert read == ["n-1", "n-2", "n-3"]
    assert names(found) == ("n-2", "n-3")


def test_a_test_that_was_edited_since_it_ran_says_nothing_of_others_that_measured_what_it_had() -> None:
    edited = of_schedule(PASSED, 1)
    edited["metadata"] = {**edited["metadata"], "generation": 2}
    edited["spec"] = OTHER["spec"]
    read, found = looked_for(edited, of_schedule(PASSED, 2), of_schedule(PASSED, 3))
    assert read == ["n-1", "n-2", "n-3"]
    assert names(found) == ("n-2", "n-3")


@pytest.mark.parametrize("anew", [{"uid": "another"}, {"ownerReferences": []}], ids=["made anew", "orphaned"])
def test_a_test_that_was_made_anew_or_left_its_schedule_since_it_was_listed_is_no_baseline(
    anew: dict[str, Any],
) -> None:
    read, found = looked_for(*(of_schedule(PASSED, days) for days in range(1, 4)), anew=anew)
    assert read == ["n-1", "n-2", "n-3"]
    assert names(found) == ("n-2", "n-3")


def test_the_tests_of_a_former_schedule_of_the_same_name_are_no_baselines() -> None:
    former = of_schedule(PASSED, 1)
    former["metadata"]["ownerReferences"] = [{**OWNER, "uid": "former"}]
    read, _ = looked_for(former, of_schedule(PASSED, 2))
    assert read == ["n-2"]


def test_no_more_is_read_than_what_can_be_compared_however_many_specs_there_were_before() -> None:
    differing = [of_schedule(OTHER, days, specHash=f"{days}") for days in range(2, 21)]
    read, found = looked_for(of_schedule(PASSED, 1), *differing, of_schedule(PASSED, 30), of_schedule(PASSED, 40))
    assert read == ["n-1", "n-40"]
    assert names(found) == ("n-1", "n-40")


def observed(spec: dict[str, Any], itself: dict[str, Any], there: dict[str, Any] | None) -> ObservedBaseline | None:
    """Look for the baseline of a run of this spec at an API server that has this one test."""
    run = Passes(spec).plan
    assert isinstance(run, Plan)

    async def answer(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if there is None or name != there["metadata"]["name"]:
            return web.json_response({"message": "not found"}, status=404)
        return web.json_response(there)

    async def play() -> ObservedBaseline | None:
        judging = Judging()
        async with played_cluster(answer) as cluster:
            try:
                return await look_for_baseline(cluster, judging, run, itself, START)
            finally:
                judging.stop()

    return asyncio.run(play())


ALONE: dict[str, Any] = {"metadata": {}}


def test_a_run_without_a_baseline_looks_for_none() -> None:
    assert observed(quickstart(), ALONE, None) is None


def test_a_named_test_is_read_whole_whoever_made_it() -> None:
    there = {"apiVersion": API_VERSION, "kind": TEST.name, **PASSED}
    found = observed(asked(), ALONE, there)
    assert found is not None
    assert (found.problem, [one["metadata"]["uid"] for one in found.tests]) == ("", ["uid-of-before"])
    assert [(one["spec"], one["status"]["specHash"]) for one in found.tests] == [
        (PASSED["spec"], PASSED["status"]["specHash"])
    ]
    assert observed(asked(), ALONE, None) == ObservedBaseline((), "")


@pytest.mark.parametrize(
    "owners",
    [
        [],
        [{**OWNER, "controller": False}],
        [{**OWNER, "kind": "SSHLoadTestComparison"}],
    ],
    ids=["nobody", "no controller", "another kind"],
)
def test_a_test_that_no_schedule_controls_has_no_earlier_test_that_passed(owners: list[dict[str, Any]]) -> None:
    found = observed(SPEC, {"metadata": {"ownerReferences": owners}}, PASSED)
    assert found is not None
    assert found.tests == ()
    assert found.problem.startswith("the test belongs to no SSHLoadTestSchedule")


def test_of_several_owners_the_schedule_that_controls_the_test_is_asked() -> None:
    first = {"kind": "ConfigMap", "name": "x", "uid": "y"}
    itself = {"metadata": {"ownerReferences": [first, {**OWNER, "controller": False, "uid": "z"}, OWNER]}}

    async def answer(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if name == TEST.plural:
            assert request.query["labelSelector"] == "sshload.dev/schedule=nightly"
            return web.json_response({"items": [of_schedule(PASSED, 1)], "metadata": {}})
        return web.json_response(of_schedule(PASSED, 1))

    async def play() -> ObservedBaseline | None:
        judging = Judging()
        async with played_cluster(answer) as cluster:
            try:
                return await look_for_baseline(cluster, judging, plan(), itself, START)
            finally:
                judging.stop()

    found = asyncio.run(play())
    assert found is not None
    assert [one["metadata"]["name"] for one in found.tests] == ["n-1"]


def test_where_none_fits_the_best_candidate_is_shown() -> None:
    read, found = looked_for(of_schedule(OTHER, 2), of_schedule(OTHER, 1))
    assert read == ["n-1", "n-1"]
    assert isinstance(found, Unusable)
    assert (found.reason, found.ref is not None and found.ref.test) == (Reason.BASELINE_DIFFERS, "n-1")


def test_a_schedule_without_another_test_has_none_to_show() -> None:
    read, found = looked_for()
    assert read == []
    assert isinstance(found, Unusable)
    assert found.reason is Reason.NO_BASELINE


def test_a_single_test_that_fits_is_the_last_and_has_no_older_one() -> None:
    read, found = looked_for(of_schedule(PASSED, 1))
    assert read == ["n-1"]
    assert isinstance(found, Found)
    assert found.oldest is None
