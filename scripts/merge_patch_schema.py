"""The schema of a JSON merge patch (RFC 7396) of an object, made from the object's own schema."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_DESCRIPTION = "See base."
"""Of every field: the base's own schema describes them, and a CRD has little room. Items and entries have none."""
_ATOMIC_LIST = ("x-kubernetes-list-type", "atomic")
"""What a list is that says nothing of it: in a patch, which has one owner, the word would only take room."""
# What applies only to a whole object.
_OF_WHOLE_OBJECTS = ("default", "minProperties", "required", "x-kubernetes-map-type", "x-kubernetes-validations")
# What is also left out for a list's items, which a patch replaces as they are.
_OF_OBJECTS_AT_WORK = ("default", "x-kubernetes-validations")


def merge_patch_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of a patch of such a value. It does not allow null, which removes a member.

    A map may have twice as many entries: those that it removes, and as many new ones.
    """
    patch = _without(schema, _OF_WHOLE_OBJECTS)
    if "properties" in schema:
        patch["properties"] = {name: _member(member) for name, member in schema["properties"].items()}
    if "additionalProperties" in schema:
        patch["additionalProperties"] = _undescribed(_member(schema["additionalProperties"]))
        patch["maxProperties"] = 2 * schema["maxProperties"]
    if "items" in schema:
        patch["items"] = _undescribed(_replaced(schema["items"]))
    return patch


def _member(schema: Schema) -> dict[str, Any]:
    """Return the schema of a member of a patch, which may be null.

    The API server refuses null for an `enum`, even if null is one of its values. So strings become a pattern. An `enum`
    of another type, which has only one value, is checked by the reader of the patched object.
    """
    patch = merge_patch_schema(schema)
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
            value[inner] = _undescribed(_replaced(schema[inner]))
    return value


def _without(schema: Schema, words: tuple[str, ...]) -> dict[str, Any]:
    found = {word: said for word, said in schema.items() if word not in words and (word, said) != _ATOMIC_LIST}
    return {**found, "description": _DESCRIPTION} if "description" in schema else found


def _undescribed(schema: Schema) -> dict[str, Any]:
    return {word: said for word, said in schema.items() if word != "description"}
