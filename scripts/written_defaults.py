"""Which defaults the API server writes into a spec: those that a rule or a column reads, and no others.

A spec in a cluster has what its author wrote, plus the fields that a CEL rule relies on and those that `kubectl get`
prints. A rule that checks whether a field is there, as in `!has(self.client) || self.client.library == 'paramiko'`,
does not rely on that field, but on those in it. The operator knows all defaults itself. Defaults that the API server
does not write are in the description of their field.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sshload_operator.api.shapes.values import default_in_words

Schema = Mapping[str, Any]
Path = tuple[str, ...]

_TEXT: Final = re.compile(r"'(?:[^'\\\\]|\\\\.)*'")
_ASKED_FOR: Final = re.compile(r"\bhas\(self\.([\w.]+)\)")
_FIELD: Final = re.compile(r"\bself((?:\.\??[A-Za-z]\w*(?!\w*\())+)")


def with_defaults_that_are_read(spec: Schema, columns: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a spec in which defaults that no rule and no column reads are only described.

    A column is the path of a field that something other than a rule reads, such as .spec.suspend.
    """
    paths = (tuple(path.split("."))[2:] for path in columns if path.startswith(".spec."))
    shown = (one for path in paths for one in _with_holders(path))
    return _object(spec, (), frozenset((*_read(spec, ()), *shown)))


def _with_holders(path: Path) -> Iterator[Path]:
    """Yield the paths of a field and of the objects that contain it."""
    yield from (path[: number + 1] for number in range(len(path)))


def _read(schema: Schema, path: Path) -> Iterator[Path]:
    """Yield the path of each field that a rule of the object at `path` or of one in it reads, and of its containers."""
    for rule in schema.get("x-kubernetes-validations", ()):
        expression = _TEXT.sub("''", rule["rule"])
        asked_for = {tuple(fields.split(".")) for fields in _ASKED_FOR.findall(expression)}
        for fields in _FIELD.findall(expression):
            names = tuple(name.removeprefix("?") for name in fields[1:].split("."))
            yield from ((*path, *one) for one in _with_holders(names) if one not in asked_for)
    for name, field in schema.get("properties", {}).items():
        yield from _read(field, (*path, name))


def _object(schema: Schema, path: Path, read: frozenset[Path]) -> dict[str, Any]:
    found = dict(schema)
    if "properties" in schema:
        found["properties"] = {name: _field(field, (*path, name), read) for name, field in schema["properties"].items()}
    return found


def _field(field: Schema, path: Path, read: frozenset[Path]) -> dict[str, Any]:
    found = _object(field, path, read)
    return found if path in read else dict(default_in_words(found))
