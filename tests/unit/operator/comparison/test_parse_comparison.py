"""A comparison's spec: what the patches make of the base, and what is refused, by the field's name."""

from copy import deepcopy
from typing import Any

import pytest
from plans import quickstart
from sim_comparison import comparison_spec
from sshload_contract.load import BurstLoad
from sshload_contract.run_config import Library
from sshload_operator.api.comparison.parse import parse_comparison
from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse import parse

BURST = {"burst": {"connections": 5, "repeat": 2, "interval": "2s"}}


def with_second(**variant: Any) -> dict[str, Any]:
    """Return a spec whose second variant is this."""
    spec = comparison_spec()
    spec["variants"][1] = {"name": "b", **variant}
    return spec


def refusal(spec: dict[str, Any], name: str = "cmp") -> str:
    with pytest.raises(SpecError) as refused:
        parse_comparison(name, spec)
    return str(refused.value)


def test_each_variant_is_the_base_with_its_patch() -> None:
    spec = parse_comparison("cmp", with_second(patch={"client": {"library": "paramiko"}, "workers": {"replicas": 2}}))
    assert spec.variants[1].spec == parse(quickstart(client={"library": "paramiko"}, workers={"replicas": 2}))


def test_what_the_tests_are_given_is_the_merged_object() -> None:
    spec = parse_comparison("cmp", with_second(patch={"client": {"library": "paramiko"}}))
    assert spec.variants[1].body == quickstart(client={"library": "paramiko"})
    assert spec.variants[1].spec.client.library is Library.PARAMIKO


def test_a_variant_without_a_patch_is_the_base() -> None:
    assert parse_comparison("cmp", with_second()).variants[1].spec == parse(quickstart())


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param({"remove": ["load.arrivals"], "patch": {"load": BURST}}, id="by remove"),
        pytest.param({"patch": {"load": {**BURST, "arrivals": None}}}, id="by null"),
    ],
)
def test_a_field_of_the_base_can_be_taken_away(variant: dict[str, Any]) -> None:
    assert isinstance(parse_comparison("cmp", with_second(**variant)).variants[1].spec.load, BurstLoad)


def test_the_defaults_are_five_rounds_and_no_abort() -> None:
    spec = comparison_spec()
    del spec["repeats"]
    parsed = parse_comparison("cmp", spec)
    assert (parsed.repeats, parsed.abort) == (5, False)


BAD = {
    "one variant": (comparison_spec("a"), "spec.variants: must have from 2 to 10 items, not 1"),
    "eleven variants": (comparison_spec(*"abcdefghijk", repeats=1), "spec.variants: must have from 2 to 10"),
    "two of one name": (comparison_spec("a", "b", "a"), "spec.variants[2].name: a stands twice"),
    "no round": (comparison_spec(repeats=0), "spec.repeats: is 0"),
    "too many rounds": (comparison_spec(repeats=51), "spec.repeats: is 51"),
    "too many tests": (comparison_spec("a", "b", "c", "d", "e", repeats=41), "spec.repeats: times the variants"),
    "another order": (comparison_spec(order="random"), "spec.order"),
    "unknown field": (comparison_spec(pause="1s"), "spec.pause: unknown field"),
    "a patch of no object": (with_second(patch=[]), "spec.variants[1].patch: must be an object"),
    "a patch that is misspelt": (
        with_second(patch={"client": {"libary": "paramiko"}}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.client.libary: unknown field",
    ),
    "a patch that contradicts the base": (
        with_second(patch={"load": BURST}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.load: exactly one of",
    ),
    "a patch that sets abort": (with_second(patch={"abort": True}), "spec.variants[1].patch.abort: must not be set"),
    "a patch with a time to live": (
        with_second(patch={"ttlAfterFinished": {"passed": "1h"}}),
        "spec.variants[1].patch.ttlAfterFinished: must not be set",
    ),
    "removing what is not there": (
        with_second(remove=["load.burst"]),
        "spec.variants[1].remove[0]: the base has no field load.burst",
    ),
    "removing twice": (with_second(remove=["load", "load"]), "spec.variants[1].remove[1]: load stands twice"),
    "removing an index": (with_second(remove=["via[0]"]), "spec.variants[1].remove[0]"),
    "a base that aborts": (comparison_spec(base=quickstart(abort=True)), "spec.base.abort: must not be set"),
    "a base that deletes its tests": (
        comparison_spec(base=quickstart(ttlAfterFinished={"passed": "1h"})),
        "spec.base.ttlAfterFinished: must not be set",
    ),
    "a base that is no test": (comparison_spec(base={"target": {"managed": {}}}), "spec.base.scenario: is required"),
    "a name with capitals": (comparison_spec("A", "b"), "spec.variants[0].name"),
}


@pytest.mark.parametrize(("spec", "says"), [pytest.param(*row, id=name) for name, row in BAD.items()])
def test_a_bad_spec_is_refused_by_a_message_that_names_the_field(spec: dict[str, Any], says: str) -> None:
    assert refusal(deepcopy(spec)).startswith(says)


def test_a_name_is_refused_of_which_a_tests_name_would_be_too_long() -> None:
    parse_comparison("c" * 36, comparison_spec(repeats=9))
    assert "metadata.name" in refusal(comparison_spec(repeats=10), "c" * 36)
    assert "metadata.name" in refusal(comparison_spec("a", "bb", repeats=9), "c" * 36)


def test_defaults_that_the_api_server_fills_in_are_no_settings() -> None:
    base = quickstart(abort=False, ttlAfterFinished={})
    assert parse_comparison("cmp", comparison_spec(base=base)).variants
