"""How large a spec may be, whoever writes it."""

import json
from typing import Any

import pytest
from sim_comparison import comparison_spec
from specs.large import on_nodes
from specs.small import SMALL
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.load_test import SPEC_LIMIT_BYTES, check_size, parse
from sshload_operator.api.schedule.spec import parse_schedule
from sshload_operator.api.shapes.errors import SpecError

TOO_LARGE = f"takes more than {SPEC_LIMIT_BYTES} bytes as compact JSON"


def test_a_spec_with_a_long_affinity_is_accepted_up_to_the_limit() -> None:
    parse(on_nodes(2_000))
    with pytest.raises(SpecError, match=f"^spec: {TOO_LARGE}, .*: shorten") as caught:
        parse(on_nodes(3_000))
    assert caught.value.path == "spec"


@pytest.mark.parametrize("content", ["a", "é", '"', "\n"])
def test_the_size_is_that_of_compact_json_in_utf_8(content: str) -> None:
    def spec(characters: int) -> dict[str, Any]:
        odd = {"numbers": [1, -2.5, True, None], "empty": [{}, []], "text": content}
        return {**odd, "filling": "a" * characters}

    left = SPEC_LIMIT_BYTES - len(json.dumps(spec(0), separators=(",", ":"), ensure_ascii=False).encode())
    check_size(spec(left))
    with pytest.raises(SpecError, match=TOO_LARGE):
        check_size(spec(left + 1))


def test_a_spec_that_contains_itself_is_too_large() -> None:
    spec: dict[str, Any] = dict(SMALL)
    spec["workers"] = {"affinity": spec}
    with pytest.raises(SpecError, match=TOO_LARGE):
        parse(spec)


def test_a_schedules_template_is_no_larger_than_a_test() -> None:
    with pytest.raises(SpecError, match=TOO_LARGE):
        parse_schedule({"schedule": "0 3 * * *", "testTemplate": {"spec": on_nodes(3_000)}})


def test_a_comparisons_base_and_each_variant_are_no_larger_than_a_test() -> None:
    with pytest.raises(SpecError, match=rf"^spec\.base: {TOO_LARGE}"):
        parse_comparison(comparison_spec(base=on_nodes(3_000)))
    variants = [{"name": "a"}, {"name": "b", "patch": {"workers": on_nodes(3_000)["workers"]}}]
    with pytest.raises(SpecError, match=rf"makes an invalid test of variant b: spec: {TOO_LARGE}"):
        parse_comparison(comparison_spec(variants=variants))


def endless() -> dict[str, Any]:
    """Return a value that doubles with each level, as YAML's aliases can say."""
    value: dict[str, Any] = {}
    value.update({"a": value, "b": value})
    return value


def test_a_template_a_base_and_a_patch_without_end_are_refused_by_their_first_values() -> None:
    with pytest.raises(SpecError) as template:
        parse_schedule({"schedule": "0 3 * * *", "testTemplate": {"spec": endless()}})
    assert str(template.value) == "spec.testTemplate.spec: has more than 32768 values"
    with pytest.raises(SpecError) as base:
        parse_comparison(comparison_spec(base=endless()))
    assert str(base.value) == "spec.base: has more than 32768 values"
    variants = [{"name": "a"}, {"name": "b", "patch": endless()}]
    with pytest.raises(SpecError, match=r"^spec\.variants\[1\]\.patch: has more than 32768 values$"):
        parse_comparison(comparison_spec(variants=variants))


@pytest.mark.parametrize("key", [5, 10**5_000, None, True], ids=["a number", "a huge number", "null", "a flag"])
def test_a_key_that_is_no_string_is_refused_whatever_its_size(key: Any) -> None:
    with pytest.raises(SpecError, match=r"has a key that is (a number|null|a boolean), not a string"):
        parse({**SMALL, key: 1})
