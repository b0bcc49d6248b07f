"""What makes a comparison another one, which runs anew, and what does not."""

from typing import Any

import pytest
from plans import quickstart
from sim_comparison import comparison_spec
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.decision.comparison.plan import comparison_hash

THREE = comparison_spec("a", "b", "c")


def hash_of(spec: dict[str, Any]) -> str:
    return comparison_hash(parse_comparison(spec))


def referring(**references: str) -> dict[str, Any]:
    variants = [
        {**variant, **({"reference": references[variant["name"]]} if variant["name"] in references else {})}
        for variant in THREE["variants"]
    ]
    return {**THREE, "variants": variants}


def swept(field: str, values: str) -> dict[str, Any]:
    spec = comparison_spec(sweep={"field": field, "values": values})
    del spec["variants"]
    return spec


MAX_STARTUPS = "target.managed.sshd.maxStartups"
OTHERS = {
    "as it is": THREE,
    "another base": comparison_spec("a", "b", "c", base=quickstart(warmUp="9s")),
    "more rounds": comparison_spec("a", "b", "c", repeats=4),
    "other names": comparison_spec("a", "b", "d"),
    "one variant less": comparison_spec("a", "b"),
    "another patch": {**THREE, "variants": [*THREE["variants"][:2], {**THREE["variants"][2], "patch": {}}]},
    "c beside b": referring(c="b"),
    "b beside c": referring(b="c"),
    "a sweep": swept(MAX_STARTUPS, "10:30:100,20:30:200,30:30:300"),
    "a sweep of fewer values": swept(MAX_STARTUPS, "10:30:100,20:30:200"),
    "a sweep of another field": swept("workers.replicas", "1,2"),
}


def test_each_change_of_what_is_compared_is_another_comparison() -> None:
    hashes = {name: hash_of(spec) for name, spec in OTHERS.items()}
    assert len(set(hashes.values())) == len(hashes)
    assert {len(one) for one in hashes.values()} == {16}


@pytest.mark.parametrize(
    "spec",
    [
        {**THREE, "abort": True},
        {**THREE, "order": "interleaved"},
        comparison_spec("a", "b", "c", base=quickstart(workers={"replicas": 1})),
        referring(b="a", c="a"),
    ],
    ids=["aborted", "the order in words", "a default in words", "the first as the reference in words"],
)
def test_what_measures_the_same_is_the_same_comparison(spec: dict[str, Any]) -> None:
    assert hash_of(spec) == hash_of(THREE)


def test_the_values_of_a_sweep_count_by_themselves_and_by_their_field() -> None:
    """What the variants of a sweep are called comes from their values, which two values may share."""
    by_name = comparison_spec("1", "2")
    assert hash_of(swept("workers.replicas", "1,2")) != hash_of(by_name)


def test_a_comparison_that_has_ended_does_not_run_again_under_a_later_release() -> None:
    assert hash_of(comparison_spec("a", "b")) == "e185c6dc3fd7fa37"
    assert hash_of(referring(c="b")) == "51670b0f213b903a"
    assert hash_of(swept(MAX_STARTUPS, "10:30:100,20:30:200")) == "2d096a3e117f7ca5"
