"""The schema of a spec that people apply in any way: by kubectl, Flux or Argo CD, client-side and server-side in turn.

A spec in a cluster is what its author wrote. The API server writes no defaults into it: server-side apply gives them to
the manager that applied first, and takes them away when that manager applies again. Of an object in which nothing else
is left it then makes null, and refuses it. So a default is only described, and a rule that reads the field is given the
default in CEL. Only a field that `kubectl get` prints in a column has a default there.

For the same reason each part of a spec, such as `target` or `load`, has one owner (an atomic map): server-side apply
replaces it as a whole, also where another manager applied another load before. Only `triggers` has an owner for each
entry. So that its last entry may go, it has the default {}, which the API server writes in place of null.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Final

Schema = Mapping[str, Any]
Path = tuple[str, ...]

_TEXT_OR_QUESTION: Final = r"'(?:[^'\\]|\\.)*'|\bhas\([^()]*\)"
_FIELD: Final = re.compile(rf"{_TEXT_OR_QUESTION}|\bself((?:\.[A-Za-z]\w*(?!\w*\())+)")
_OWNER_OF_EACH_ENTRY: Final = ("triggers",)


def applied_schema(spec: Schema, columns: Iterable[str] = (), specs_within: Iterable[Path] = ()) -> dict[str, Any]:
    """Return the schema of a spec without defaults, whose rules know them, and whose parts have one owner each.

    A column is the path of a printed field, such as .spec.suspend. `specs_within` are the paths of objects whose parts
    have owners of their own, such as a test's spec in a template, with those of the objects that contain them.
    """
    shown = {tuple(path.split("."))[2:] for path in columns if path.startswith(".spec.")}
    return _with_owners(_without_defaults(spec, (), shown), (), frozenset(specs_within))


def _without_defaults(schema: Schema, path: Path, shown: Iterable[Path]) -> dict[str, Any]:
    """Return a schema with its defaults in the descriptions of their fields and in the rules that read these."""
    found = dict(schema)
    if rules := schema.get("x-kubernetes-validations"):
        found["x-kubernetes-validations"] = [{**rule, "rule": _with_defaults(rule["rule"], schema)} for rule in rules]
    if "properties" in schema:
        found["properties"] = {
            name: _without_defaults(field, (*path, name), shown) for name, field in schema["properties"].items()
        }
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            found[inner] = _without_defaults(schema[inner], (*path, inner), shown)
    return _in_words(found, is_written=path in shown)


def _in_words(field: dict[str, Any], *, is_written: bool) -> dict[str, Any]:
    """Return the schema of a field whose default, if it has one, is described, and written only if asked for."""
    default = field.get("default", {})
    if not is_written:
        field.pop("default", None)
    if not isinstance(default, dict):
        words = str(default).lower() if isinstance(default, bool) else default
        field["description"] = f"{field['description']} Without it, {words}."
    return field


def _with_defaults(rule: str, schema: Schema) -> str:
    """Return a rule of an object that reads a field's default where the field is absent.

    It does not rely on a field of which it asks whether it is there, as in `!has(self.client)`.
    """
    return _FIELD.sub(lambda found: _read(found[0], found[1].split(".")[1:], schema) if found[1] else found[0], rule)


def _read(expression: str, names: list[str], schema: Schema) -> str:
    """Return the CEL that reads `self.` and these fields."""
    fields = list(accumulate(names, lambda holder, name: holder.get("properties", {}).get(name, {}), initial=schema))[
        1:
    ]
    have_default = ["default" in field for field in fields]
    if not any(have_default):
        return expression
    first = have_default.index(True)
    if not have_default[-1]:
        raise ValueError(f"{expression} may be absent, and has no default: write it as an optional field of CEL")
    steps = [f".{'?' * (place >= first)}{name}" for place, name in enumerate(names)]
    return f"self{''.join(steps)}.orValue({_literal(fields[-1])})"


def _literal(field: Schema) -> str:
    """Return the default of a field in CEL."""
    default = field["default"]
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return f"'{default}'"
    return str(float(default) if field["type"] == "number" else default)


def _with_owners(schema: Schema, path: Path, specs_within: frozenset[Path]) -> dict[str, Any]:
    """Return a schema in which the parts of each spec are atomic maps. `schema` is a spec, or contains one."""
    found = dict(schema)
    found["properties"] = {
        name: _with_owners(field, (*path, name), specs_within) if (*path, name) in specs_within else _owned(name, field)
        for name, field in schema["properties"].items()
    }
    return found


def _owned(name: str, field: Schema) -> dict[str, Any]:
    """Return the schema of a part of a spec, which is replaced as a whole; of a list with keys, each item is a part."""
    found = dict(field)
    if field.get("x-kubernetes-list-type") == "map":
        members = field["items"]["properties"].items()
        found["items"] = {**field["items"], "properties": {one: _owned(one, member) for one, member in members}}
    elif name in _OWNER_OF_EACH_ENTRY:
        found["default"] = {}
    elif field.get("type") == "object":
        found["x-kubernetes-map-type"] = "atomic"
    return found
