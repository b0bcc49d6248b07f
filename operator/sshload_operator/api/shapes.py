"""Values made of others: objects, unions, lists and maps, read and described as their classes declare them.

`shape_of` makes the shape of a type once. A shape reads a value, with every problem in it, and has a schema.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from functools import cache, partial
from itertools import islice
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Protocol,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from sshload_contract.declared import (
    Absent,
    Default,
    Duration,
    Entries,
    Inline,
    Items,
    Named,
    Permission,
    Rule,
    Size,
    Unwritten,
    WrittenAs,
    exactly_one,
)

from sshload_operator.api.errors import Problem, SpecError, kind, shown
from sshload_operator.api.forms import (
    FORMS,
    Misfit,
    Schema,
    enumeration_schema,
    read_enumeration,
    read_flag,
    read_object,
    timestamp_text,
)

T = TypeVar("T")
_UNIT: Final = re.compile(r"_(s|bytes)$")
_MOST_PROBLEMS: Final = 50
_SHOWN_CHARACTERS: Final = 60

_UNREAD: Final = object()
"""What is read of a value that has problems."""


def read(shape: type[T], value: Any, path: str = "") -> T:
    """Return the instance of a declared class that `value` spells; raises SpecError with all that is wrong.

    The first 50 problems are collected.
    """
    problems: list[Problem] = []
    hint: Any = shape
    try:
        found: T = shape_of(hint).read(value, path, problems)
    except _EnoughError as enough:
        raise SpecError.of(problems) from enough
    if problems:
        raise SpecError.of(problems)
    return found


def read_fitting(shape: type[T], value: Any) -> T:
    """Return the instance of a declared class that `value` states as far as it fits; the rest is as if absent.

    For a status, which an older release or a person may have written. The class has no required field. Of a list or a
    map with too many entries the first are read.
    """
    found: T = _object_of(shape).fitting(value if isinstance(value, Mapping) else {})
    return found


class _EnoughError(Exception):
    """So much is wrong that no more is looked for: a tenant could fill a spec with unknown fields."""


def _add(problems: list[Problem], found: Iterable[Problem]) -> None:
    for problem in found:
        problems.append(problem)
        if len(problems) == _MOST_PROBLEMS:
            raise _EnoughError


def schema(shape: type) -> Schema:
    """Return the structural schema of a declared class, as a CRD has it."""
    return shape_of(shape).schema()


def stated(value: Any) -> Any:
    """Return what an instance of a declared class states, by the names of a spec, without what is as if absent.

    Numbers are in the units of their fields, so that `1m` and `60s` state the same.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return _plain(value)
    shape = _object_of(type(value))
    found: dict[str, Any] = {}
    for member in shape.members():
        held = getattr(value, member.attribute)
        if member.absent is None or held != shape.if_absent(member):
            found |= {member.name: stated(held)} if member.name else stated(held)
    bare = getattr(value, "written_bare", "")
    content = getattr(value, bare) if bare else found
    kind_of_union = getattr(type(value), "kind", None)
    return {kind_of_union: content} if isinstance(kind_of_union, str) else content


def permissions_taken(value: Any, path: str) -> Iterator[tuple[str, Permission]]:
    """Yield each field of an instance of a declared class, the value at `path`, that is used by permission only."""
    if isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from permissions_taken(item, f"{path}[{index}]")
    if not is_dataclass(value) or isinstance(value, type):
        return
    path = _at(path, getattr(value, "kind", ""))
    if hasattr(value, "permission"):
        yield path, value.permission
    shape = _object_of(type(value))
    for member in shape.members():
        held, inside = getattr(value, member.attribute), _at(path, member.name)
        if member.permission is not None and held != shape.if_absent(member):
            yield inside, member.permission
        yield from permissions_taken(held, inside)


def _plain(value: Any) -> Any:
    match value:
        case tuple() | list():
            return [stated(item) for item in value]
        case Mapping():
            return {name: stated(item) for name, item in value.items()}
        case Enum():
            return value.value
        case datetime():
            return timestamp_text(value)
        case float():
            return value + 0.0  # -0.0 is 0.0
        case _:
            return value


def _object_of(shape: type) -> "_Object":
    hint: Any = shape
    found = shape_of(hint)
    if not isinstance(found, _Object):
        raise TypeError(f"{shape.__name__} is not declared as an object")
    return found


class Shape(Protocol):
    """How a value is read: what is wrong is added to `problems`, and the result is then _UNREAD."""

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        """Return the value."""

    def fitting(self, value: Any) -> Any:
        """Return the value, without what does not fit; _UNREAD where it does not fit as a whole."""

    def schema(self) -> Schema:
        """Its schema, without rules, default and description."""


@cache
def shape_of(hint: Any) -> Shape:
    """Return the shape of a type with its annotations."""
    base, notes = _unwrapped(hint)
    shape = _bare_shape(base, notes)
    rules = tuple(note for note in notes if isinstance(note, Rule))
    return _Ruled(shape, rules) if rules else shape


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without None and Required, and its annotations, the inner ones first."""
    notes: tuple[Any, ...] = ()
    while True:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            hint, notes = arguments[0], (*arguments[1:], *notes)
        elif origin is Required:
            hint = arguments[0]
        elif origin in (Union, UnionType) and NoneType in arguments and len(arguments) == 2:  # noqa: PLR2004 - T | None
            hint = next(argument for argument in arguments if argument is not NoneType)
        else:
            return hint, notes


def _bare_shape(base: Any, notes: tuple[Any, ...]) -> Shape:
    """Return the shape without its rules."""
    for note in notes:
        if isinstance(note, WrittenAs):
            written = shape_of(note.shape)
            return written if is_typeddict(note.shape) else _Valued(written)
        if type(note) in FORMS:
            return _scalar(note, base)
    return _container_shape(base, notes) if get_args(base) else _plain_shape(base)


def _container_shape(base: Any, notes: tuple[Any, ...]) -> Shape:
    origin, arguments = get_origin(base), get_args(base)
    if origin in (Union, UnionType):
        return _OneOf({member.kind: _member_shape(member) for member in arguments if member is not NoneType})
    if origin in (tuple, list):
        return _List(_note(notes, Items), shape_of(arguments[0]), _description(arguments[0]), origin)
    if is_dataclass(origin):
        return _Object(base.__origin__, _members_of(origin, arguments), getattr(origin, "rules", ()))
    return _Map(_note(notes, Entries), shape_of(arguments[1]), _description(arguments[1]))


def _plain_shape(base: Any) -> Shape:
    if isinstance(base, TypeVar):
        return _plain_shape(base.__bound__)  # of a generic class whose arguments are not known: it is only written
    if base is bool:
        return _Scalar(read_flag, lambda: {"type": "boolean"})
    if issubclass(base, Enum):
        return _Scalar(partial(read_enumeration, base), partial(enumeration_schema, base))
    return _Object(base, _members_of(base), getattr(base, "rules", ()))


def _member_shape(member: Any) -> Shape:
    """Return the shape of a member of a union: of the field or the class that it is written as, if there is one."""
    if hasattr(member, "written_as"):
        return _Valued(shape_of(member.written_as))
    bare = getattr(member, "written_bare", "")
    if not bare:
        return shape_of(member)
    return _Bare(shape_of(get_type_hints(member, include_extras=True)[bare]), member)


def _note(notes: tuple[Any, ...], of: type[T]) -> T:
    return next(note for note in notes if isinstance(note, of))


def _description(hint: Any) -> str:
    """Return the description among the annotations, else the type's docstring."""
    base, notes = _unwrapped(hint)
    said = [note for note in notes if isinstance(note, str)]
    if said:
        return said[-1]
    written = [note.shape for note in notes if isinstance(note, WrittenAs)]
    return description_of(written[0] if written else base)


def description_of(shape: type) -> str:
    """Return a class's docstring in one line."""
    shape = get_origin(shape) or shape
    return " ".join((shape.__doc__ or "").split()) if is_dataclass(shape) or is_typeddict(shape) else ""


def rule_schemas(rules: tuple[Rule, ...]) -> list[Schema]:
    """Return the rules as a schema has them, without those that CEL cannot check."""
    return [
        {
            "rule": rule.cel,
            **({"fieldPath": rule.at} if rule.at else {}),
            **({"messageExpression": rule.message_cel} if rule.message_cel else {}),
            "message": rule.message,
        }
        for rule in rules
        if rule.cel
    ]


def _with_rules(schema_of_value: Schema, rules: tuple[Rule, ...]) -> Schema:
    found = [*schema_of_value.get("x-kubernetes-validations", ()), *rule_schemas(rules)]
    return {**schema_of_value, "x-kubernetes-validations": found} if found else schema_of_value


def broken(rules: tuple[Rule, ...], value: Any, path: str) -> Iterator[Problem]:
    """Yield the problems of a value, in the order of the rules, with at most one for each place.

    Where the value as a whole is wrong, the rules that follow may not rely on it and are not asked.
    """
    blamed = set()
    for rule in rules:
        if rule.at not in blamed and (text := rule.problem(value)):
            blamed.add(rule.at)
            yield Problem(f"{path}{rule.at}" if path else rule.at.removeprefix("."), text)
            if not rule.at:
                return


@dataclass(frozen=True, slots=True)
class _Ruled:
    """A value that must keep rules."""

    of: Shape
    rules: tuple[Rule, ...]

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        found = self.of.read(value, path, problems)
        if found is _UNREAD:
            return found
        said = list(broken(self.rules, found, path))[:1]
        _add(problems, said)
        return _UNREAD if said else found

    def fitting(self, value: Any) -> Any:
        found = self.of.fitting(value)
        return _UNREAD if found is _UNREAD or any(broken(self.rules, found, "")) else found

    def schema(self) -> Schema:
        return _with_rules(self.of.schema(), self.rules)


@dataclass(frozen=True, slots=True)
class _Valued:
    """What the class that declares how it is written makes of it."""

    of: Shape

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        found = self.of.read(value, path, problems)
        return found if found is _UNREAD else found.value()

    def fitting(self, value: Any) -> Any:
        found = self.of.fitting(value)
        return found if found is _UNREAD else found.value()

    def schema(self) -> Schema:
        return self.of.schema()


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A single value. `of_value` reads it, or raises Misfit; `of_schema` makes its schema."""

    of_value: Callable[[Any], Any]
    of_schema: Callable[[], Schema]

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        try:
            return self.of_value(value)
        except Misfit as misfit:
            _add(problems, [Problem(path, str(misfit))])
            return _UNREAD

    def fitting(self, value: Any) -> Any:
        try:
            return self.of_value(value)
        except Misfit:
            return _UNREAD

    def schema(self) -> Schema:
        return self.of_schema()


def _scalar(form: Any, base: Any) -> _Scalar:
    """Return the shape of a form. What is kept as a string may be written as a number (WholeOrText)."""
    read_form, schema_of_form = FORMS[type(form)]
    read_value = partial(read_form, form)
    return _Scalar((lambda value: str(read_value(value))) if base is str else read_value, partial(schema_of_form, form))


@dataclass(frozen=True, slots=True)
class _Bare:
    """A dataclass that is written as one of its fields alone."""

    of: Shape
    make: type

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        found = self.of.read(value, path, problems)
        return found if found is _UNREAD else self.make(found)

    def fitting(self, value: Any) -> Any:
        found = self.of.fitting(value)
        return found if found is _UNREAD else self.make(found)

    def schema(self) -> Schema:
        return {**self.of.schema(), "description": description_of(self.make)}


@dataclass(frozen=True, slots=True)
class _List:
    """A list. Each item is read, and no two may be equal where the declaration says so."""

    bounds: Items
    item: Shape
    description: str
    make: Callable[[list[Any]], Any]

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        if not isinstance(value, list):
            _add(problems, [Problem(path, f"must be a list, not {kind(value)}")])
            return _UNREAD
        if not self.bounds.least <= len(value) <= self.bounds.most:
            problem = f"must have from {self.bounds.least} to {self.bounds.most} items, not {len(value)}"
            _add(problems, [Problem(path, problem)])
            return _UNREAD
        before = len(problems)
        found = [self.item.read(one, f"{path}[{index}]", problems) for index, one in enumerate(value)]
        if len(problems) == before:
            _add(problems, self._repeated(value, path))
        return _UNREAD if len(problems) > before else self.make(found)

    def fitting(self, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return _UNREAD
        items = (self.item.fitting(one) for one in value[: self.bounds.most])
        return self.make([item for item in items if item is not _UNREAD])

    def _repeated(self, value: list[Any], path: str) -> Iterator[Problem]:
        if not self.bounds.key and not self.bounds.distinct:
            return
        seen: list[Any] = []
        for index, one in enumerate(value):
            key = tuple(one.get(name) for name in self.bounds.key) if self.bounds.key else (one,)
            if key in seen:
                yield Problem(f"{path}[{index}]", f"{shown(' '.join(map(str, key)))} is repeated")
            seen.append(key)

    def schema(self) -> Schema:
        items = {"description": self.description, **_without_defaults(self.item.schema())}
        schema_of_list: Schema = {"type": "array"}
        if self.bounds.least:
            schema_of_list["minItems"] = self.bounds.least
        schema_of_list["maxItems"] = self.bounds.most
        list_type = "set" if self.bounds.distinct else "map" if self.bounds.key else "atomic"
        schema_of_list["x-kubernetes-list-type"] = list_type
        if self.bounds.key:
            schema_of_list["x-kubernetes-list-map-keys"] = list(self.bounds.key)
        return {**schema_of_list, "items": items}


def _without_defaults(of_item: Schema) -> Schema:
    """Return the schema of a list's item. Its defaults are only described: an applied list stays as it was written."""
    found = dict(of_item)
    if "properties" in found:
        found["properties"] = {name: _default_in_words(one) for name, one in found["properties"].items()}
    return found


def _default_in_words(field: Schema) -> Schema:
    found = _without_defaults(field)
    if "default" in found:
        default = found.pop("default")
        written = str(default).lower() if isinstance(default, bool) else default
        found["description"] = f"{found['description']} Without it, {written}."
    return found


@dataclass(frozen=True, slots=True)
class _Map:
    """A map with free keys. A value of null is as if the key was not there, as the API server has it."""

    bounds: Entries
    item: Shape
    description: str

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        entries = _entries(value, path, problems)
        if entries is None:
            return _UNREAD
        present = {key: item for key, item in entries.items() if item is not None}
        if len(present) > self.bounds.most:
            _add(problems, [Problem(path, f"must have at most {self.bounds.most} entries, not {len(present)}")])
            return _UNREAD
        before = len(problems)
        found = {key: self.item.read(item, _at(path, key), problems) for key, item in present.items()}
        return _UNREAD if len(problems) > before else found

    def fitting(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return _UNREAD
        entries = ((key, self.item.fitting(item)) for key, item in islice(value.items(), self.bounds.most))
        return {key: item for key, item in entries if isinstance(key, str) and item is not _UNREAD}

    def schema(self) -> Schema:
        values = {"description": self.description, **self.item.schema()}
        return {"type": "object", "maxProperties": self.bounds.most, "additionalProperties": values}


def _entries(value: Any, path: str, problems: list[Problem]) -> Mapping[str, Any] | None:
    try:
        return read_object(value)
    except Misfit as misfit:
        _add(problems, [Problem(path, str(misfit))])
        return None


@dataclass(frozen=True, slots=True)
class _OneOf:
    """An object that has exactly one key, the kind of a dataclass."""

    members: Mapping[str, Shape]

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        entries = _entries(value, path, problems)
        if entries is None:
            return _UNREAD
        before = len(problems)
        _add(problems, _unknown(entries, self.members, path))
        found = self.read_from(entries, path, problems)
        return _UNREAD if len(problems) > before else found

    def read_from(self, entries: Mapping[str, Any], path: str, problems: list[Problem]) -> Any:
        """Return the value of the one kind among these entries."""
        given = [name for name in self.members if entries.get(name) is not None]
        if len(given) != 1:
            _add(problems, [Problem(path, self.rule().message)])
            return _UNREAD
        return self.members[given[0]].read(entries[given[0]], _at(path, given[0]), problems)

    def fitting(self, value: Any) -> Any:
        given = [name for name in self.members if isinstance(value, Mapping) and value.get(name) is not None]
        return self.members[given[0]].fitting(value[given[0]]) if len(given) == 1 else _UNREAD

    def rule(self) -> Rule:
        """Return the rule that exactly one of the kinds is set."""
        return exactly_one(**{name: name for name in self.members})

    def properties(self) -> Schema:
        """Return the schemas of the members."""
        return {name: _described(member) for name, member in self.members.items()}

    def schema(self) -> Schema:
        return _with_rules({"type": "object", "properties": self.properties()}, (self.rule(),))


def _described(member: Shape) -> Schema:
    declared = member.of if isinstance(member, _Valued) else member
    if not isinstance(declared, _Object):
        return member.schema()
    permission = getattr(declared.shape, "permission", None)
    return {**_said(description_of(declared.shape), permission), **member.schema()}


@dataclass(frozen=True, slots=True)
class _Member:
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
        found = self.shape.read(written, self.name, problems)
        if problems:
            raise ValueError(f"a default that is refused: {problems[0]}")
        return found

    def schema(self) -> Schema:
        default = {"default": self.absent.written} if isinstance(self.absent, Default) else {}
        return {**_said(self.description, self.permission), **self.shape.schema(), **default}


def _said(description: str, permission: Permission | None) -> Schema:
    words = " ".join(filter(None, (description, permission.in_words if permission is not None else "")))
    return {"description": words} if words else {}


def _members_of(shape: Any, arguments: tuple[Any, ...] = ()) -> tuple[_Member, ...]:
    """Return the fields of a class. `arguments` are the types that a generic class is declared with."""
    hints = get_type_hints(shape, include_extras=True)
    if arguments:
        hints = {name: hint[arguments] if getattr(hint, "__parameters__", ()) else hint for name, hint in hints.items()}
    if is_typeddict(shape):
        required: frozenset[str] = vars(shape)["__required_keys__"]
        return tuple(
            _member(name, name, hint, () if name in required else (Absent(_UNREAD),)) for name, hint in hints.items()
        )
    return tuple(
        _member(_written_name(field.name, hints[field.name]), field.name, hints[field.name]) for field in fields(shape)
    )


def _member(name: str, attribute: str, hint: Any, more: tuple[Any, ...] = ()) -> _Member:
    _, notes = _unwrapped(hint)
    named = [note.name for note in notes if isinstance(note, Named)]
    absent = [note for note in (*notes, *more) if isinstance(note, Default | Absent)]
    if not absent and _may_be_none(hint):
        absent = [Absent(None)]
    inline = any(isinstance(note, Inline) for note in notes)
    unwritten = [note.value for note in notes if isinstance(note, Unwritten)]
    if unwritten:
        return _Member("", attribute, _Constant(unwritten[0]), "", Absent(unwritten[0]))
    return _Member(
        "" if inline else named[-1] if named else name,
        attribute,
        shape_of(hint),
        _description(hint),
        absent[-1] if absent else None,
        next((note for note in notes if isinstance(note, Permission)), None),
    )


@dataclass(frozen=True, slots=True)
class _Constant:
    """A field that is not part of a spec."""

    value: Any

    def read(self, _value: Any, _path: str, _problems: list[Problem]) -> Any:
        return self.value

    def fitting(self, _value: Any) -> Any:
        return self.value

    def schema(self) -> Schema:
        return {}


def _may_be_none(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _may_be_none(get_args(hint)[0])
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _written_name(attribute: str, hint: Any) -> str:
    """Return the camel case of an attribute, without the unit at its end where the value is written with one."""
    _, notes = _unwrapped(hint)
    has_unit = any(isinstance(note, Duration | Size) for note in notes)
    head, *tail = (_UNIT.sub("", attribute) if has_unit else attribute).split("_")
    return head + "".join(word.capitalize() for word in tail)


class _Object:
    """An object with declared fields: a dataclass, or a TypedDict, which keeps the fields that are there."""

    def __init__(self, shape: type, members: tuple[_Member, ...], rules: tuple[Rule, ...]) -> None:
        self.shape = shape
        self._rules = rules
        self._fields = {member.name: member for member in members if member.name}
        self._inline = [(m, m.shape) for m in members if isinstance(m.shape, _OneOf) and not m.name]
        self._constants = {m.attribute: m.shape.value for m in members if isinstance(m.shape, _Constant)}
        self._defaults = {
            member.attribute: member.value_if_absent() for member in self._fields.values() if member.absent is not None
        }
        self._known = [*self._fields, *(name for _, union in self._inline for name in union.members)]
        self._make = _kept if is_typeddict(shape) else shape

    def members(self) -> Iterator[_Member]:
        """Yield the fields that a spec has, the inline ones last."""
        yield from self._fields.values()
        yield from (member for member, _ in self._inline)

    def if_absent(self, member: _Member) -> Any:
        """Return what a field that may be absent holds if it is."""
        return self._defaults[member.attribute]

    def read(self, value: Any, path: str, problems: list[Problem]) -> Any:
        entries = _entries(value, path, problems)
        if entries is None:
            return _UNREAD
        before = len(problems)
        _add(problems, _unknown(entries, self._known, path))
        found = {**self._constants, **self._defaults}
        for name, member in self._fields.items():
            item = entries.get(name)
            if item is not None:
                found[member.attribute] = member.shape.read(item, _at(path, name), problems)
            elif member.absent is None:
                _add(problems, [Problem(_at(path, name), "is required, and missing")])
        for member, union in self._inline:
            found[member.attribute] = union.read_from(entries, path, problems)
        if len(problems) > before:
            return _UNREAD
        return self._made(found, path, problems)

    def fitting(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return _UNREAD
        found = {**self._constants, **self._defaults}
        for name, member in self._fields.items():
            item = value.get(name)
            read = _UNREAD if item is None else member.shape.fitting(item)
            if read is not _UNREAD:
                found[member.attribute] = read
            elif member.absent is None:
                return _UNREAD
        for member, union in self._inline:
            found[member.attribute] = union.fitting(value)
            if found[member.attribute] is _UNREAD:
                return _UNREAD
        made = self._make(**found)
        return _UNREAD if any(broken(self._rules, made, "")) else made

    def _made(self, found: dict[str, Any], path: str, problems: list[Problem]) -> Any:
        made = self._make(**found)
        said = list(broken(self._rules, made, path))
        _add(problems, said)
        return _UNREAD if said else made

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
        return _with_rules(schema_of_object, rules)


def _kept(**found: Any) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not _UNREAD}


def _at(path: str, name: str) -> str:
    if not name:
        return path
    named = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"  # a key may be of any length
    return f"{path}.{named}" if path else named


def _unknown(entries: Mapping[str, Any], known: Any, path: str) -> Iterator[Problem]:
    """Yield a problem for each unknown key; it names the nearest known one."""
    for name in entries:
        if name in known:
            continue
        near = get_close_matches(name, list(known), n=1) if len(name) <= _SHOWN_CHARACTERS else []
        yield Problem(_at(path, name), f"unknown field; did you mean {near[0]}?" if near else "unknown field")


def permissions_of(shape: type) -> frozenset[Permission]:
    """Return every permission that an instance of a declared class may take."""
    hint: Any = shape
    return frozenset(_permissions_below(shape_of(hint)))


def _permissions_below(shape: Shape) -> Iterator[Permission]:
    match shape:
        case _Ruled() | _Valued() | _Bare():
            yield from _permissions_below(shape.of)
        case _List() | _Map():
            yield from _permissions_below(shape.item)
        case _OneOf():
            for member in shape.members.values():
                yield from _permissions_below(member)
        case _Object():
            if hasattr(shape.shape, "permission"):
                yield shape.shape.permission
            for field in shape.members():
                if field.permission is not None:
                    yield field.permission
                yield from _permissions_below(field.shape)
