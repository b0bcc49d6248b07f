"""Shapes of objects and unions: fields by their names in a spec, with what holds where one is absent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import (
    Any,
    is_typeddict,
)

from sshload_contract.declared import (
    Absent,
    Check,
    Default,
    Permission,
    Rule,
    exactly_one,
)

from sshload_operator.api.shapes.errors import Problem
from sshload_operator.api.shapes.forms import (
    Schema,
)
from sshload_operator.api.shapes.values import (
    SHOWN_CHARACTERS,
    UNREAD,
    BareShape,
    ListShape,
    MapShape,
    Problems,
    RuledShape,
    Shape,
    ValuedShape,
    add_problems,
    broken,
    description_of,
    entries_of,
    field_path,
    with_rules,
)


@dataclass(frozen=True, slots=True)
class UnionShape:
    """An object that has exactly one key, the kind of a dataclass."""

    members: Mapping[str, Shape]

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        entries = entries_of(value, path, problems)
        if entries is None:
            return UNREAD
        has_unknown = add_problems(problems, _unknown(entries, self.members, path))
        found = self.read_from(entries, path, problems)
        return UNREAD if has_unknown else found

    def read_from(self, entries: Mapping[str, Any], path: str, problems: Problems) -> Any:
        """Return the value of the one kind among these entries."""
        given = [name for name in self.members if entries.get(name) is not None]
        if len(given) != 1:
            add_problems(problems, [Problem(path, self.rule().message)])
            return UNREAD
        return self.members[given[0]].read(entries[given[0]], field_path(path, given[0]), problems)

    def rule(self) -> Rule:
        """Return the rule that exactly one of the kinds is set."""
        return exactly_one(*self.members)

    def properties(self) -> Schema:
        """Return the schemas of the members."""
        return {name: _described(member) for name, member in self.members.items()}

    def schema(self) -> Schema:
        return with_rules({"type": "object", "properties": self.properties()}, (self.rule(),))


def _described(member: Shape) -> Schema:
    declared = member.of if isinstance(member, ValuedShape) else member
    if not isinstance(declared, ObjectShape):
        return member.schema()
    permission = getattr(declared.shape, "permission", None)
    return {**_said(description_of(declared.shape), permission), **member.schema()}


@dataclass(frozen=True, slots=True)
class Member:
    """One field of an object: its name in a spec, the attribute that holds it, and what holds where it is absent."""

    name: str
    attribute: str
    shape: Shape
    description: str
    absent: Default | Absent | None
    permission: Permission | None = None

    def value_if_absent(self) -> Any:
        """Return the value of the field if it is absent."""
        if isinstance(self.absent, Absent):
            return self.absent.value
        problems: list[Problem] = []
        written = self.absent.written if self.absent is not None else None
        found = self.shape.read(with_defaults(self.shape, written), self.name, problems)
        if problems:
            raise ValueError(f"a default that is refused: {problems[0]}")
        return found

    def schema(self) -> Schema:
        default = {"default": self.absent.written} if isinstance(self.absent, Default) else {}
        return {**_said(self.description, self.permission), **self.shape.schema(), **default}


def _said(description: str, permission: Permission | None) -> Schema:
    words = " ".join(filter(None, (description, permission.in_words if permission is not None else "")))
    return {"description": words} if words else {}


@dataclass(frozen=True, slots=True)
class Constant:
    """A field that is not part of a spec."""

    value: Any

    def read(self, _value: Any, _path: str, _problems: Problems) -> Any:
        return self.value

    def schema(self) -> Schema:
        return {}


class ObjectShape:
    """An object with declared fields: a dataclass, or a TypedDict, which keeps the fields that are there."""

    def __init__(self, shape: type, members: tuple[Member, ...], rules: tuple[Rule | Check, ...]) -> None:
        self.shape = shape
        self._rules = rules
        self._fields = {member.name: member for member in members if member.name}
        self._inline = [(m, m.shape) for m in members if isinstance(m.shape, UnionShape) and not m.name]
        self._constants = {m.attribute: m.shape.value for m in members if isinstance(m.shape, Constant)}
        self._defaults = {
            member.attribute: member.value_if_absent() for member in self._fields.values() if member.absent is not None
        }
        self.shapes: dict[str, Shape] = {name: member.shape for name, member in self._fields.items()}
        for _, union in self._inline:
            self.shapes |= union.members
        self.defaults = {name: m.absent.written for name, m in self._fields.items() if isinstance(m.absent, Default)}
        self._make = _kept if is_typeddict(shape) else shape

    def members(self) -> Iterator[Member]:
        """Yield the fields that a spec has, the inline ones last."""
        yield from self._fields.values()
        yield from (member for member, _ in self._inline)

    def if_absent(self, member: Member) -> Any:
        """Return what a field that may be absent holds if it is."""
        return self._defaults[member.attribute]

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        entries = entries_of(value, path, problems)
        if entries is None:
            return UNREAD
        fits = not add_problems(problems, _unknown(entries, self.shapes, path))
        found = {**self._constants, **self._defaults}
        for name, member in self._fields.items():
            item = entries.get(name)
            if item is None:
                if member.absent is None:
                    add_problems(problems, [Problem(field_path(path, name), "is required, and missing")])
                    fits = False
            elif item is not self.defaults.get(name):  # a default is in `found` already
                read = member.shape.read(item, "" if problems is None else field_path(path, name), problems)
                if read is not UNREAD:
                    found[member.attribute] = read
                elif problems is not None or member.absent is None:
                    fits = False
        for member, union in self._inline:
            found[member.attribute] = union.read_from(entries, path, problems)
            fits = fits and found[member.attribute] is not UNREAD
        if not fits:
            return UNREAD
        made = self._make(**found)
        said = list(broken(self._rules, entries, made, path))
        add_problems(problems, said)
        return UNREAD if said else made

    def schema(self) -> Schema:
        properties = {name: member.schema() for name, member in self._fields.items()}
        rules = self._rules
        for _, union in self._inline:
            properties |= union.properties()
            rules = (union.rule(), *rules)
        required = [name for name, member in self._fields.items() if member.absent is None]
        schema_of_object = {
            "type": "object",
            **({"required": required} if required else {}),
            "properties": properties,
        }
        return with_rules(schema_of_object, rules)


def with_defaults(shape: Shape, value: Any) -> Any:
    """Return a value with its defaults, which rules read. What does not fit stays as it is, and is not looked into."""
    match shape, value:
        case ((RuledShape() | ValuedShape() | BareShape()), _):
            return with_defaults(shape.of, value)
        case ListShape(), list() if len(value) <= shape.bounds.most:
            return [with_defaults(shape.item, item) for item in value]
        case MapShape(), Mapping() if len(value) <= shape.bounds.most:
            return {key: with_defaults(shape.item, item) for key, item in value.items()}
        case UnionShape(), Mapping():
            return _each_with_defaults(shape.members, value)
        case ObjectShape(), Mapping():
            present = {name: item for name, item in value.items() if item is not None or name not in shape.shapes}
            return _each_with_defaults(shape.shapes, shape.defaults | present)
        case _:
            return value


def _each_with_defaults(shapes: Mapping[str, Shape], entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: with_defaults(shapes[name], item) if name in shapes else item for name, item in entries.items()}


def _kept(**found: Any) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not UNREAD}


def _unknown(entries: Mapping[str, Any], known: Any, path: str) -> Iterator[Problem]:
    """Yield a problem for each unknown key; it names the nearest known one."""
    for name in entries:
        if name in known:
            continue
        near = get_close_matches(name, list(known), n=1) if len(name) <= SHOWN_CHARACTERS else []
        yield Problem(field_path(path, name), f"unknown field; did you mean {near[0]}?" if near else "unknown field")
