"""A comparison's spec: what the patches make of the base, and what is refused, by the field's name."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from plans import quickstart
from sim_comparison import comparison_spec
from specs.comparisons import BAD, BURST, GOOD, swept, with_second
from sshload_contract.client import Library
from sshload_contract.load import BurstLoad
from sshload_operator.api.comparison.spec import MOST_VARIANTS, named_values, parse_comparison
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.decision.comparison.plan import comparison_hash


def refusal(spec: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as refused:
        parse_comparison(spec)
    return str(refused.value)


def test_each_variant_is_the_base_with_its_patch() -> None:
    spec = parse_comparison(with_second(patch={"client": {"library": "paramiko"}, "workers": {"replicas": 2}}))
    assert spec.variants[1].spec == parse(quickstart(client={"library": "paramiko"}, workers={"replicas": 2}))


def test_what_the_tests_are_given_is_the_merged_object() -> None:
    spec = parse_comparison(with_second(patch={"client": {"library": "paramiko"}}))
    assert spec.variants[1].body == quickstart(client={"library": "paramiko"})
    assert spec.variants[1].spec.client.library is Library.PARAMIKO


def test_a_sweep_changes_its_field_alone_where_yaml_aliases_make_two_fields_one() -> None:
    stage = {"rate": 5, "duration": "9s"}
    base = {**quickstart(), "load": {"arrivals": {"stages": [stage, stage]}}}
    spec = parse_comparison({**swept(values="6,7"), "base": base})
    assert [one["rate"] for one in spec.variants[0].body["load"]["arrivals"]["stages"]] == [6, 5]
    assert stage["rate"] == 5


def test_a_sweep_of_the_same_specs_is_another_comparison() -> None:
    variants = [{"name": str(rate), "patch": {"load": {"arrivals": {"stages": [{"rate": rate, "duration": "30s"}]}}}}
                for rate in (5, 10)]  # fmt: skip
    base = {**quickstart(), "load": {"arrivals": {"stages": [{"rate": 5, "duration": "30s"}]}}}
    by_hand, as_sweep = (
        parse_comparison({"base": base, "repeats": 3, **more})
        for more in ({"variants": variants}, {"sweep": swept(values="5,10")["sweep"]})
    )
    assert [one.spec for one in by_hand.variants] == [one.spec for one in as_sweep.variants]
    assert comparison_hash(by_hand) != comparison_hash(as_sweep)


def test_another_reference_is_another_comparison() -> None:
    specs = [{**comparison_spec("a", "b", "c"), "variants": [{"name": "a"}, {"name": "b"}, {"name": "c", **more}]}
             for more in ({}, {"reference": "a"}, {"reference": "b"})]  # fmt: skip
    parsed = [parse_comparison(spec) for spec in specs]
    assert [spec.reference_of(spec.variants[2]) for spec in parsed] == ["a", "a", "b"]
    unsaid, said, another = map(comparison_hash, parsed)
    assert unsaid == said != another


def test_a_variant_without_a_patch_is_the_base() -> None:
    assert parse_comparison(with_second()).variants[1].spec == parse(quickstart())


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param({"remove": ["load.arrivals"], "patch": {"load": BURST}}, id="by remove"),
        pytest.param({"patch": {"load": {**BURST, "arrivals": None}}}, id="by null"),
    ],
)
def test_a_field_of_the_base_can_be_taken_away(variant: dict[str, Any]) -> None:
    assert isinstance(parse_comparison(with_second(**variant)).variants[1].spec.load, BurstLoad)


def test_the_defaults_are_five_rounds_and_no_abort() -> None:
    spec = comparison_spec()
    del spec["repeats"]
    parsed = parse_comparison(spec)
    assert (parsed.repeats, parsed.abort) == (5, False)


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_a_good_spec_is_taken(spec: dict[str, Any]) -> None:
    assert len(parse_comparison(spec).variants) == len(spec.get("variants", ())) or "sweep" in spec


def test_a_sweep_has_a_variant_for_each_value_named_by_it() -> None:
    spec = parse_comparison(swept("load.arrivals.stages.0.rate", "0.5..1.5:0.5"))
    assert [(one.name, one.value) for one in spec.variants] == [("0-5", "0.5"), ("1", "1"), ("1-5", "1.5")]
    assert spec.variants[2].body["load"]["arrivals"]["stages"][0]["rate"] == 1.5
    assert spec.swept == "load.arrivals.stages.0.rate"
    assert comparison_spec()["base"] == quickstart()


@pytest.mark.parametrize(
    ("values", "names"),
    [
        pytest.param("10:30:100,20:30:200", ["10-30-100", "20-30-200"], id="texts"),
        pytest.param("1:2:3,1-2-3,9:9:9", ["v1", "v2", "v3"], id="names that collide"),
        pytest.param(f"1:2:{'3' * 30},1:2:3", ["v1", "v2"], id="too long for a name"),
    ],
)
def test_each_value_has_a_name_that_a_label_takes(values: str, names: list[str]) -> None:
    assert [name for name, _ in named_values(values.split(","))] == names


@pytest.mark.parametrize(("spec", "says"), [pytest.param(*row, id=name) for name, row in BAD.items()])
def test_a_bad_spec_is_refused_by_a_message_that_names_the_field(spec: dict[str, Any], says: str) -> None:
    assert refusal(deepcopy(spec)).startswith(says)


class Unread(list[Any]):
    """A list that nobody may look into: aliases let a short YAML file say one of a million lists of a million items."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a list that is too long was looked into")


def test_a_list_that_is_too_long_is_refused_by_its_length() -> None:
    variants = Unread([{"name": "a"}] * (MOST_VARIANTS + 1))
    assert refusal(comparison_spec(variants=variants)).startswith("spec.variants: must have from 2 to 16 items, not 17")


def test_defaults_that_the_api_server_fills_in_are_no_settings() -> None:
    base = quickstart(abort=False, ttlAfterFinished={})
    assert parse_comparison(comparison_spec(base=base)).variants
