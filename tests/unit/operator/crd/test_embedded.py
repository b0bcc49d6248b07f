"""The CRDs are made of the declarations, and the spec of a test is the same wherever it is embedded."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from crd_schema import crd_document, crd_version
from merge_patch_schema import merge_patch_schema

from crds import crds

Schema = dict[str, Any]
# Where the spec of an SSHLoadTest stands in the spec of another kind.
PLACES = {"sshloadtestschedules": ("testTemplate", "spec"), "sshloadtestcomparisons": ("base",)}
OF_WHOLE_OBJECTS = {"default", "minProperties", "required", "x-kubernetes-map-type", "x-kubernetes-validations"}


def schema(plural: str, *path: str) -> Schema:
    found: Schema = crd_version(plural)["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for name in path:
        found = found["items"] if name == "[]" else found["properties"][name]
    return found


PATCH = schema("sshloadtestcomparisons", "variants", "[]", "patch")


def members(patch: Schema) -> Iterator[Schema]:
    """Yield the schemas of all that a merge patch merges, but not of lists' items, which it replaces."""
    for member in [*patch.get("properties", {}).values(), *filter(None, [patch.get("additionalProperties")])]:
        yield member
        yield from members(member)


def inside(value: Schema) -> Iterator[Schema]:
    """Yield a schema and all below it."""
    yield value
    below = [*value.get("properties", {}).values(), value.get("additionalProperties"), value.get("items")]
    for inner in filter(None, below):
        yield from inside(inner)


def items(patch: Schema) -> Iterator[Schema]:
    """Yield the schemas of everything in lists of a merge patch."""
    for member in members(patch):
        if "items" in member:
            yield from inside(member["items"])


def test_every_crd_is_what_the_script_writes() -> None:
    for path, crd in crds().items():
        assert crd_document(path.stem) == json.loads(json.dumps(crd)), "run .venv/bin/python scripts/crds.py"


@pytest.mark.parametrize("plural", PLACES)
def test_the_spec_of_a_test_is_embedded_whole(plural: str) -> None:
    """In the CRD of comparisons, which is the largest, a description is the first sentence of that of a test."""
    embedded = schema(plural, *PLACES[plural])
    said, whole = descriptions(embedded), descriptions(schema("sshloadtests"))
    assert undescribed(embedded) == undescribed(schema("sshloadtests"))
    assert [one for one, of_whole in zip(said, whole, strict=True) if not of_whole.startswith(one)] == []


def descriptions(value: Any) -> list[str]:
    """Return every description in a schema, in its order."""
    if isinstance(value, list):
        return [text for one in value for text in descriptions(one)]
    if not isinstance(value, dict):
        return []
    found = value.get("description")
    below = [text for one in value.values() for text in descriptions(one)]
    return [found, *below] if isinstance(found, str) else below


def undescribed(value: Any) -> Any:
    """Return a schema without descriptions."""
    if isinstance(value, list):
        return [undescribed(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: undescribed(one) for name, one in value.items() if name != "description" or not isinstance(one, str)}


def test_a_patch_has_the_fields_of_a_spec() -> None:
    spec = schema("sshloadtests")
    assert PATCH["properties"] == merge_patch_schema(spec)["properties"]
    assert PATCH["properties"].keys() == spec["properties"].keys()


def test_a_patch_may_take_away_every_member() -> None:
    found = list(members(PATCH))
    assert found
    assert all(member["nullable"] for member in found)
    assert not any("enum" in member for member in found), "the API server takes no null beside an enum"


def test_a_patch_is_held_to_no_rule_of_the_whole() -> None:
    assert [member for member in members(PATCH) if OF_WHOLE_OBJECTS & member.keys()] == []
    assert OF_WHOLE_OBJECTS & PATCH.keys() == {"x-kubernetes-map-type"}


def test_an_item_of_a_patch_is_whole_but_for_rules_and_defaults() -> None:
    found = list(items(PATCH))
    assert any("required" in item for item in found)
    assert not any({"nullable", "default", "x-kubernetes-validations"} & item.keys() for item in found)


@pytest.mark.parametrize(
    ("whole", "patch"),
    [
        ({"type": "string", "enum": ["yes", "no"]}, {"type": "string", "maxLength": 3, "pattern": "^(yes|no)$"}),
        ({"type": "boolean", "enum": [True]}, {"type": "boolean"}),
        ({"type": "integer", "minimum": 1, "default": 5}, {"type": "integer", "minimum": 1}),
        ({"x-kubernetes-int-or-string": True, "pattern": "a"}, {"x-kubernetes-int-or-string": True, "pattern": "a"}),
    ],
)
def test_a_member_of_a_patch_may_be_what_it_may_be_in_the_whole_or_null(whole: Schema, patch: Schema) -> None:
    found = merge_patch_schema({"type": "object", "required": ["a"], "properties": {"a": whole}})
    assert found == {"type": "object", "properties": {"a": {**patch, "nullable": True, "description": "See base."}}}


def test_a_patch_of_a_map_may_take_away_all_entries_and_set_as_many() -> None:
    whole = {"type": "object", "maxProperties": 20, "additionalProperties": {"type": "string", "maxLength": 63}}
    assert merge_patch_schema(whole)["maxProperties"] == 40
