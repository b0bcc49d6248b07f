"""The schema of a JSON merge patch (RFC 7396) of an object, made from the object's own schema."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

# What holds of a whole object only. Descriptions are left to the object's own schema, for the size of the CRD.
_OF_WHOLE_OBJECTS = ("default", "description", "minProperties", "required", "x-kubernetes-validations")
# What is left out of a list's items too, which a patch replaces as they are.
_OF_OBJECTS_AT_WORK = ("default", "description", "x-kubernetes-validations")


def merge_patch_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of what a patch of such a value may be, but for null, which takes away a member.

    A map may have twice as many entries: as many as it takes away, and as many again.
    """
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

    The API server takes no null where an `enum` stands, not even with null as one of its words. So words become a
    pattern; that of another type, which has one value only, is left to who reads the patched object.
    """
    patch = merge_patch_schema(schema)
    words = patch.pop("enum", ())
    if words and schema["type"] == "string":
        patch |= {"maxLength": max(map(len, words)), "pattern": f"^({'|'.join(words)})$"}
    return {**patch, "nullable": True}


def _replaced(schema: Schema) -> dict[str, Any]:
    """Return the schema of a value that a patch puts there as it is."""
    value = _without(schema, _OF_OBJECTS_AT_WORK)
    if "properties" in schema:
        value["properties"] = {name: _replaced(member) for name, member in schema["properties"].items()}
    for inner in ("additionalProperties", "items"):
        if inner in schema:
            value[inner] = _replaced(schema[inner])
    return value


def _without(schema: Schema, words: tuple[str, ...]) -> dict[str, Any]:
    return {word: said for word, said in schema.items() if word not in words}
