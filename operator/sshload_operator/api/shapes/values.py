"""Shapes of values: single ones, lists, maps, and what must keep rules.

A shape reads a value, with every problem in it, and has a schema.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import islice
from typing import (
    Any,
    Final,
    Protocol,
    TypeAlias,
    get_origin,
    is_typeddict,
)

from sshload_contract.declared import (
    Check,
    Entries,
    Items,
    Rule,
)
from sshload_contract.shortened import shortened

from sshload_operator.api.shapes import cel
from sshload_operator.api.shapes.errors import Problem, kind, shown
from sshload_operator.api.shapes.forms import (
    Misfit,
    Schema,
    read_object,
)

MOST_PROBLEMS: Final = 50
SHOWN_CHARACTERS: Final = 60
UNREAD: Final = object()
"""What is read of a value that has problems."""


class TooManyProblemsError(Exception):
    """So much is wrong that no more is looked for: a tenant could fill a spec with unknown fields."""


Problems: TypeAlias = list[Problem] | None
"""What is found wrong with a value. None: nobody asks, and what does not fit is read as if it were absent."""


def add_problems(problems: Problems, found: Iterable[Problem]) -> bool:
    """Add problems, and return whether there are any; raises TooManyProblemsError once there are MOST_PROBLEMS."""
    if problems is None:
        return False
    before = len(problems)
    for problem in found:
        problems.append(problem)
        if len(problems) == MOST_PROBLEMS:
            raise TooManyProblemsError
    return len(problems) > before


class Shape(Protocol):
    """How a value is read: what is wrong is added to `problems`, and the result is then UNREAD."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        """Return the value."""

    def schema(self) -> Schema:
        """Its schema, without rules, default and description."""


def field_path(path: str, name: str) -> str:
    """Return the path of a field of the object at `path`."""
    if not name:
        return path
    named = shortened(name, SHOWN_CHARACTERS)  # a key may be of any length
    return f"{path}.{named}" if path else named


def description_of(shape: type) -> str:
    """Return a class's docstring in one line."""
    shape = get_origin(shape) or shape
    return " ".join((shape.__doc__ or "").split()) if is_dataclass(shape) or is_typeddict(shape) else ""


def rule_schemas(rules: Iterable[Rule | Check]) -> list[Schema]:
    """Return the rules as a schema has them."""
    return [
        {
            "rule": rule.cel,
            **({"fieldPath": rule.at} if rule.at else {}),
            **({"messageExpression": rule.message_cel} if rule.message_cel else {}),
            "message": rule.message,
        }
        for rule in rules
        if isinstance(rule, Rule)
    ]


def with_rules(schema_of_value: Schema, rules: Iterable[Rule | Check]) -> Schema:
    """Return a schema with the rules."""
    found = [*schema_of_value.get("x-kubernetes-validations", ()), *rule_schemas(rules)]
    return {**schema_of_value, "x-kubernetes-validations": found} if found else schema_of_value


def broken(rules: Iterable[Rule | Check], written: Any, value: Any, path: str) -> Iterator[Problem]:
    """Yield the problems of a value and of how it is written, in the order of the rules, at most one for each place.

    Where the value as a whole is wrong, the rules that follow may not rely on it and are not asked.
    """
    blamed = set()
    for rule in rules:
        if rule.at not in blamed and (text := _problem(rule, written, value)):
            blamed.add(rule.at)
            yield Problem(f"{path}{rule.at}" if path else rule.at.removeprefix("."), text)
            if not rule.at:
                return


def _problem(rule: Rule | Check, written: Any, value: Any) -> str:
    if isinstance(rule, Check):
        return rule.problem(value)
    if not rule.parsed or cel.holds(rule.cel, written):
        return ""
    explain = rule.message_cel or rule.explain
    said = explain(value) if callable(explain) else cel.text(explain, written) if explain else ""
    return said or rule.message


@dataclass(frozen=True, slots=True)
class RuledShape:
    """A value that must keep rules."""

    of: Shape
    rules: tuple[Rule | Check, ...]

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        found = self.of.read(value, path, problems)
        if found is UNREAD:
            return found
        said = list(broken(self.rules, value, found, path))
        add_problems(problems, said)
        return UNREAD if said else found

    def schema(self) -> Schema:
        return with_rules(self.of.schema(), self.rules)


@dataclass(frozen=True, slots=True)
class ValuedShape:
    """What the class that declares how it is written makes of it."""

    of: Shape

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        found = self.of.read(value, path, problems)
        return found if found is UNREAD else found.value()

    def schema(self) -> Schema:
        return self.of.schema()


@dataclass(frozen=True, slots=True)
class ScalarShape:
    """A single value. `of_value` reads it, or raises Misfit; `of_schema` makes its schema."""

    of_value: Callable[[Any], Any]
    of_schema: Callable[[], Schema]

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        try:
            return self.of_value(value)
        except Misfit as misfit:
            add_problems(problems, [Problem(path, str(misfit))])
            return UNREAD

    def schema(self) -> Schema:
        return self.of_schema()


@dataclass(frozen=True, slots=True)
class BareShape:
    """A dataclass that is written as one of its fields alone."""

    of: Shape
    make: type

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        found = self.of.read(value, path, problems)
        return found if found is UNREAD else self.make(found)

    def schema(self) -> Schema:
        return {**self.of.schema(), "description": description_of(self.make)}


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list. Each item is read, and no two may be equal where the declaration says so."""

    bounds: Items
    item: Shape
    description: str
    make: Callable[[list[Any]], Any]

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, list | tuple):
            add_problems(problems, [Problem(path, f"must be a list, not {kind(value)}")])
            return UNREAD
        if problems is None:
            read = (self.item.read(one, "", None) for one in value[: self.bounds.most])
            return self.make([one for one in read if one is not UNREAD])
        if not self.bounds.least <= len(value) <= self.bounds.most:
            problem = f"must have from {self.bounds.least} to {self.bounds.most} items, not {len(value)}"
            add_problems(problems, [Problem(path, problem)])
            return UNREAD
        before = len(problems)
        found = [self.item.read(one, f"{path}[{index}]", problems) for index, one in enumerate(value)]
        if len(problems) == before:
            add_problems(problems, self._repeated(value, path))
        return UNREAD if len(problems) > before else self.make(found)

    def _repeated(self, value: Sequence[Any], path: str) -> Iterator[Problem]:
        if not self.bounds.key and not self.bounds.distinct:
            return
        seen: list[Any] = []
        for index, one in enumerate(value):
            key = tuple(one.get(name) for name in self.bounds.key) if self.bounds.key else (one,)
            if key in seen:
                yield Problem(f"{path}[{index}]", f"{shown(' '.join(map(str, key)))} is repeated")
            seen.append(key)

    def schema(self) -> Schema:
        items = {"description": self.description, **self.item.schema()}
        schema_of_list: Schema = {"type": "array"}
        if self.bounds.least:
            schema_of_list["minItems"] = self.bounds.least
        schema_of_list["maxItems"] = self.bounds.most
        list_type = "set" if self.bounds.distinct else "map" if self.bounds.key else "atomic"
        schema_of_list["x-kubernetes-list-type"] = list_type
        if self.bounds.key:
            schema_of_list["x-kubernetes-list-map-keys"] = list(self.bounds.key)
        return {**schema_of_list, "items": items}


@dataclass(frozen=True, slots=True)
class MapShape:
    """A map with free keys. A value of null is as if the key was not there, as the API server has it."""

    bounds: Entries
    item: Shape
    description: str

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        entries = entries_of(value, path, problems)
        if entries is None:
            return UNREAD
        present = {key: item for key, item in entries.items() if item is not None}
        if problems is None:
            read = ((key, self.item.read(item, "", None)) for key, item in islice(present.items(), self.bounds.most))
            return {key: item for key, item in read if item is not UNREAD}
        if len(present) > self.bounds.most:
            add_problems(problems, [Problem(path, f"must have at most {self.bounds.most} entries, not {len(present)}")])
            return UNREAD
        before = len(problems)
        found = {key: self.item.read(item, field_path(path, key), problems) for key, item in present.items()}
        return UNREAD if len(problems) > before else found

    def schema(self) -> Schema:
        values = {"description": self.description, **self.item.schema()}
        return {"type": "object", "maxProperties": self.bounds.most, "additionalProperties": values}


def entries_of(value: Any, path: str, problems: Problems) -> Mapping[str, Any] | None:
    """Return the entries of an object; adds a problem and returns None for another value."""
    if problems is None:
        return value if isinstance(value, Mapping) else None
    try:
        return read_object(value)
    except Misfit as misfit:
        add_problems(problems, [Problem(path, str(misfit))])
        return None
