"""The schema of a JSON merge patch (RFC 7396) of an object, made from the object's own schema."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_DESCRIPTION = "See base."
"""Of the patch's own members. What is below them has no description, because a CRD has little room."""
_ATOMIC_LIST = ("x-kubernetes-list-type", "atomic")
"""What a list is that says nothing of it: in a patch, which has one owner, the word would only take room."""
# What applies only to a whole object.
_OF_WHOLE_OBJECTS = ("default", "minProperties", "required", "x-kubernetes-map-type", "x-kubernetes-validations")
# What is also left out for a list's items, which a patch replaces as they are.
_OF_OBJECTS_AT_WORK = ("default", "x-kubernetes-validations")


def merge_patch_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of a patch of such a value, whose members refer to the base for their descriptions.

    It does not allow null, which removes a member.
    """
    patch = _patch(schema)
    for member in patch.get("properties", {}).values():
        member["description"] = _DESCRIPTION
    return patch


def _patch(schema: Schema) -> dict[str, Any]:
    """Return the schema of a patch. A map may have twice as many entries: those that it removes, and as many new."""
    patch = _without(schema, _OF_WHOLE_OBJECTS)
    if "properties" in schema:
        patch["properties"] = {name: _member(member) for name, member in schema["properties"].items()}
    if "additionalProperties" in schema:
        patch["additionalProperties"] = _member(schema["additionalProperties"])
        patch["maxProperties"] = 2 * schema["maxProperties"]
    if "items" in schema:
        patch["items"] = _replaced(schema["items"])
    return patch


def _member(schema: Schema) -> dict[str, Any]:
    """Return the schema of a member of a patch, which may be null.

    The API server refuses null for an `enum`, even if null is one of its values. So strings become a pattern. An `enum`
    of another type, which has only one value, is checked by the reader of the patched object.
    """
    patch = _patch(schema)
    words = patch.pop("enum", ())
    if words and schema["type"] == "string":
        patch |= {"maxLength": max(map(len, words)), "pattern": f"^({'|'.join(words)})$"}
    return {**patch, "nullable": True}


def _replaced(schema: Schema) -> dict[str, Any]:
    """Return the schema of a value that a patch sets as it is."""
    value = _without(schema, _OF_OBJECTS_AT_WORK)
    if "properties" in schema:
        value["properties"] = {name: _replaced(member) for name, member in schema["properties"].items()}
    for inner in ("additionalProperties", "items"):
        if inner in schema:
            value[inner] = _replaced(schema[inner])
    return value


def _without(schema: Schema, words: tuple[str, ...]) -> dict[str, Any]:
    words = (*words, "description")
    return {word: said for word, said in schema.items() if word not in words and (word, said) != _ATOMIC_LIST}
