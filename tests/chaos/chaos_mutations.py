"""Each field of a CRD, changed and changed back, as Acto does it (SOSP'23): the changes are made from the schema.

Whole specs that tests have are the places: each field that stands in one of them is replaced by values around what its
schema allows and by values of other types, is taken away, and gets an unknown neighbour. Fields that stand in none are
put in. Whether a value is good is for the API server and the operator to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from crd_schema import crd_version

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]
_DURATIONS = ("0s", "1ms", "2s", "90s", "169h", "1.5", "s")
_TEXTS = ("", "a", "B c", "é", "-", "no", "1%", "0.01%", "64Ki", "10:30:100", "x\u0000")
_OTHER_TYPES: Mapping[str, Any] = {"object": {}, "array": [], "string": "a", "integer": 1, "boolean": True}
_GONE = object()


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of one field of a spec."""

    path: Path
    what: str
    whole: Mapping[str, Any]
    value: Any

    @property
    def spec(self) -> Mapping[str, Any]:
        """The whole spec with the change: a copy, which most changes of a share are never asked for."""
        return _with(self.whole, self.path, self.value)

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.what}"


def spec_schema(plural: str) -> Schema:
    """Return the schema of a kind's `spec`."""
    found: Schema = crd_version(plural)["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def mutations(spec: Mapping[str, Any], schema: Schema, skip: Sequence[str] = ()) -> Iterator[Mutation]:
    """Yield the changes of a spec; those of the fields in `skip` are left out."""
    for path, place in places(spec, schema):
        if path[0] in skip:
            continue
        for what, value in _values(place):
            yield Mutation(path, what, spec, value)


def places(value: Any, schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Yield each field that the schema has inside of a value, those that stand there and those that may."""
    if isinstance(value, Mapping):
        for name, field in schema.get("properties", {}).items():
            yield (*path, name), field
            if name in value:
                yield from places(value[name], field, (*path, name))
    if isinstance(value, list) and value:
        yield (*path, 0), schema["items"]
        for index, item in enumerate(value):
            yield from places(item, schema["items"], (*path, index))


def _values(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Yield values that a field may be given, with their names."""
    yield "taken away", _GONE
    yield "null", None
    for kind, other in _OTHER_TYPES.items():
        if kind != schema.get("type"):
            yield f"of type {kind}", other
    for value in (*schema.get("enum", ()), *_of_type(schema)):
        yield f"{value!r:.40}", value


def _of_type(schema: Schema) -> Iterator[Any]:
    kind = schema.get("type")
    if kind == "boolean":
        yield from (True, False)
    if kind in ("integer", "number"):
        for edge in (schema.get("minimum", 0), schema.get("maximum", 2**31)):
            yield from (edge - 1, edge, edge + 1)
    if kind == "string":
        yield from _DURATIONS if "duration" in str(schema.get("x-kubernetes-validations")) else _TEXTS
        yield "x" * (schema.get("maxLength", 1000) + 1)
    if kind == "array":
        example = _example(schema["items"])
        yield from ([], [example], [example, example], [example] * (schema.get("maxItems", 100) + 1))
    if kind == "object":
        yield from (_example(schema), {"unknown": 1})


def _example(schema: Schema) -> Any:
    """Return a small value of a schema, which may break rules that are no schema's."""
    kind = schema.get("type", "string")
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: _example(schema["properties"][name]) for name in schema.get("required", ())}
    if kind == "array":
        return [_example(schema["items"])] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": True}.get(kind, "1s" if "duration" in str(schema) else "a")


def _with(spec: Mapping[str, Any], path: Path, value: Any) -> Mapping[str, Any]:
    whole = deepcopy(dict(spec))
    parent: Any = whole
    for step in path[:-1]:
        parent = parent[step]
    if value is not _GONE:
        parent[path[-1]] = value
    elif isinstance(parent, list):
        del parent[int(path[-1])]
    else:
        parent.pop(path[-1], None)
    return whole
