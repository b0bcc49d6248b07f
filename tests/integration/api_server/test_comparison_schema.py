"""The comparison's CRD on a real API server: it refuses what the parser refuses, as far as it can see."""

import json
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import pytest
from api_server import ApiServer, DryRun
from circles import some
from live_cluster import LiveCluster
from plans import quickstart
from sim_comparison import SimComparison, comparison_spec, measured
from specs.bad import Bad
from specs.comparisons import BAD, GOOD, PATCHED
from specs.tables import BAD as BAD_TESTS
from specs.tables import GOOD as GOOD_TESTS
from sshload_operator.api.comparison.spec import MOST_TESTS, MOST_VARIANTS, ComparisonSpec, parse_comparison
from sshload_operator.api.kinds import COMPARISON
from sshload_operator.api.shapes.errors import SpecError
from statuses import step_json

Spec = dict[str, Any]
NOT_A_VARIANTS = ("abort", "baseline", "suspend", "ttlAfterFinished")


@pytest.fixture(scope="module")
def comparisons(api_server: ApiServer) -> DryRun:
    """Return what says of a comparison whether the API server accepts it."""
    return DryRun(api_server.namespace(), COMPARISON)


def parsed(spec: Spec) -> ComparisonSpec | str:
    try:
        return parse_comparison(spec)
    except SpecError as error:
        return str(error)


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_a_good_comparison_is_accepted_and_completed_to_the_same(comparisons: DryRun, spec: Spec) -> None:
    before, after = parsed(spec), parsed(comparisons.completed(spec))
    assert isinstance(before, ComparisonSpec)
    assert isinstance(after, ComparisonSpec)
    assert without_bodies(after) == without_bodies(before)


def without_bodies(spec: ComparisonSpec) -> ComparisonSpec:
    """Return the spec without what its tests are given, which has the defaults written out."""
    return replace(spec, variants=tuple(replace(variant, body={}) for variant in spec.variants))


@pytest.mark.parametrize("name", [name for name in BAD if name not in PATCHED])
def test_what_the_parser_refuses_the_server_refuses_too(comparisons: DryRun, name: str) -> None:
    spec, says = BAD[name]
    field = says.partition(":")[0].partition("[")[0]
    assert field in comparisons.refusal(spec)


@pytest.mark.parametrize("name", PATCHED)
def test_what_only_base_and_patch_together_show_is_left_to_the_operator(comparisons: DryRun, name: str) -> None:
    spec, says = BAD[name]
    assert comparisons.refusal(spec) == ""
    assert str(parsed(spec)).startswith(says)


def patch_between(one: Any, other: Any) -> Any:
    """Return the merge patch that makes the other of one."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    changes = {name: patch_between(one.get(name), value) for name, value in other.items() if one.get(name) != value}
    return {**dict.fromkeys(one.keys() - other.keys()), **changes}


def as_variant(spec: Spec) -> Spec:
    """Return a test without what a variant must not have."""
    return {name: value for name, value in spec.items() if name not in NOT_A_VARIANTS}


def with_patch(base: Spec, patch: Spec) -> Spec:
    return comparison_spec(base=base, variants=[{"name": "a"}, {"name": "b", "patch": patch}])


@pytest.mark.parametrize("good", some({name: spec for name, spec in GOOD_TESTS.items() if "baseline" not in spec}, 20))
def test_every_good_test_can_be_made_of_another_by_a_patch(comparisons: DryRun, good: Spec) -> None:
    """There and back: the patch sets what only the other has, and takes away what only the first has."""
    one, other = as_variant(quickstart()), as_variant(good)
    for base, goal in ((one, other), (other, one)):
        spec = with_patch(base, patch_between(base, goal))
        found = comparisons.completed(spec)["variants"][1]["patch"]
        assert found == spec["variants"][1]["patch"]
        assert isinstance(parsed(spec), ComparisonSpec)


def with_bad_patch(name: str) -> Spec:
    """Return a comparison that has all fields of a bad test in a patch."""
    return with_patch(quickstart(), as_variant(dict(BAD_TESTS[name].spec)))


@pytest.mark.parametrize(
    "name",
    [
        "unknown-library",
        "duration-as-a-number",
        "negative-duration",
        "port-above-the-last",
        "too-many-jump-hosts",
        "fixture-that-stands-twice",
        "what-is-not-there-yet-rootful",
        "threshold-without-its-step",
        "too-many-workers",
        "amount-of-no-unit",
        "toleration-of-an-unknown-effect",
        "image-with-a-space",
    ],
)
def test_what_a_patch_alone_shows_to_be_wrong_the_server_refuses_as_the_parser_does(
    comparisons: DryRun, name: str
) -> None:
    spec = with_bad_patch(name)
    field = BAD_TESTS[name].field.removeprefix("spec.")
    refusal = comparisons.refusal(spec)
    assert f"spec.variants[1].patch.{field}" in refusal
    assert str(parsed(spec)).startswith("spec.variants[1].patch: makes an invalid test of variant b")


def test_a_patch_that_makes_a_good_test_is_refused_by_nobody(comparisons: DryRun) -> None:
    """Fields of a bad test may be good beside those of the base."""
    patched = {name: with_bad_patch(name) for name in BAD_TESTS}
    good = [name for name, spec in patched.items() if isinstance(parsed(spec), ComparisonSpec)]
    assert good
    assert {name: comparisons.refusal(patched[name]) for name in good} == dict.fromkeys(good, "")


@pytest.mark.parametrize("base", some(GOOD_TESTS, 12))
def test_a_good_test_is_a_good_base(comparisons: DryRun, base: Spec) -> None:
    spec = comparison_spec(base=base, variants=[{"name": "a"}, {"name": "b"}])
    assert isinstance(parsed(spec), ComparisonSpec) == (comparisons.refusal(spec) == ""), parsed(spec)


@pytest.mark.parametrize("bad", some(BAD_TESTS, 20))
def test_a_bad_test_is_a_bad_base(comparisons: DryRun, bad: Bad) -> None:
    spec = comparison_spec(base=dict(bad.spec), variants=[{"name": "a"}, {"name": "b"}])
    assert bad.says in comparisons.refusal(spec)


def test_a_comparison_of_the_quickstart_needs_no_more_than_two_names(comparisons: DryRun) -> None:
    assert comparisons.refusal({"base": quickstart(), "variants": [{"name": "a"}, {"name": "b"}]}) == ""


def test_the_largest_comparison_fits_into_the_api_servers_store(cluster: LiveCluster) -> None:
    """Etcd takes 1.5 MiB at a time: 192 tests of as many steps as there are, by names as long as can be."""
    names = [f"a-variant-by-name-{letter}" for letter in ascii_lowercase[:MOST_VARIANTS]]
    world = SimComparison(comparison_spec(*names, repeats=MOST_TESTS // MOST_VARIANTS))
    timings = ("subsystem", "open", "write", "close", "verify", "sftpWrite")
    names = [f"upload-{number:02}-into-the-archive.{timing}" for number in range(20) for timing in timings]
    found = {50: 123456.789, 90: 234567.891, 99: 345678.912}
    end = measured()
    end["results"]["steps"] = [step_json(name, found) for name in [*names, "login", "total"]]
    world.make_and_end_all(end)
    world.operator_pass()
    assert (world.status["phase"], len(world.status["tests"])) == ("Finished", 192)
    spec = {**world.spec, "variants": [{"name": one["name"]} for one in world.spec["variants"]]}
    kind = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTestComparison"}
    cluster.apply({**kind, "metadata": {"name": "cmp"}, "spec": spec})
    whole = {**cluster.get("sltc", "cmp"), "status": world.status}
    cluster.kubectl("replace", "--subresource=status", "-f", "-", stdin=json.dumps(whole))
    assert cluster.get("sltc", "cmp")["status"] == world.status
