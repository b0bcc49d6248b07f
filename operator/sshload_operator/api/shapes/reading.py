"""Declared classes: what spells an instance is read, and what an instance states is written, as its fields declare it.

`shape_of` makes the shape of a type once.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
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
    Check,
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
)

from sshload_operator.api.shapes.errors import Problem, SpecError
from sshload_operator.api.shapes.forms import (
    FORMS,
    Schema,
    enumeration_schema,
    read_enumeration,
    read_flag,
    timestamp_text,
)
from sshload_operator.api.shapes.objects import Constant, Member, ObjectShape, UnionShape, with_defaults
from sshload_operator.api.shapes.values import (
    UNREAD,
    BareShape,
    ListShape,
    MapShape,
    RuledShape,
    ScalarShape,
    Shape,
    TooManyProblemsError,
    ValuedShape,
    description_of,
    field_path,
)

T = TypeVar("T")
_UNIT: Final = re.compile(r"_(s|bytes)$")


def read(shape: type[T], value: Any, path: str = "") -> T:
    """Return the instance of a declared class that `value` spells; raises SpecError with all that is wrong.

    The first 50 problems are collected.
    """
    problems: list[Problem] = []
    hint: Any = shape
    try:
        shape_of_value = shape_of(hint)
        found: T = shape_of_value.read(with_defaults(shape_of_value, value), path, problems)
    except TooManyProblemsError as enough:
        raise SpecError.of(problems) from enough
    if problems:
        raise SpecError.of(problems)
    return found


def read_fitting(shape: type[T], value: Any) -> T:
    """Return the instance of a declared class that `value` states as far as it fits; the rest is as if absent.

    For a status, which an older release or a person may have written. The class has no required field. Of a list or a
    map with too many entries the first are read.
    """
    found: T = _object_of(shape).read(value if isinstance(value, Mapping) else {}, "", None)
    return found


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
    if not is_dataclass(value) or isinstance(value, type) or not permissions_of(type(value)):
        return
    path = field_path(path, getattr(value, "kind", ""))
    if hasattr(value, "permission"):
        yield path, value.permission
    shape = _object_of(type(value))
    for member in shape.members():
        held, inside = getattr(value, member.attribute), field_path(path, member.name)
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


def _object_of(shape: type) -> "ObjectShape":
    hint: Any = shape
    found = shape_of(hint)
    if not isinstance(found, ObjectShape):
        raise TypeError(f"{shape.__name__} is not declared as an object")
    return found


@cache
def shape_of(hint: Any) -> Shape:
    """Return the shape of a type with its annotations."""
    base, notes = _unwrapped(hint)
    shape = _bare_shape(base, notes)
    rules = tuple(note for note in notes if isinstance(note, Rule | Check))
    return RuledShape(shape, rules) if rules else shape


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
            return written if is_typeddict(note.shape) else ValuedShape(written)
        if type(note) in FORMS:
            return _scalar(note, base)
    return _container_shape(base, notes) if get_args(base) else _plain_shape(base)


def _container_shape(base: Any, notes: tuple[Any, ...]) -> Shape:
    origin, arguments = get_origin(base), get_args(base)
    if origin in (Union, UnionType):
        return UnionShape({member.kind: _member_shape(member) for member in arguments if member is not NoneType})
    if origin in (tuple, list):
        return ListShape(_note(notes, Items), shape_of(arguments[0]), _description(arguments[0]), origin)
    if is_dataclass(origin):
        return ObjectShape(base.__origin__, _members_of(origin, arguments), getattr(origin, "rules", ()))
    return MapShape(_note(notes, Entries), shape_of(arguments[1]), _description(arguments[1]))


def _plain_shape(base: Any) -> Shape:
    if isinstance(base, TypeVar):
        return _plain_shape(base.__bound__)  # of a generic class whose arguments are not known: it is only written
    if base is bool:
        return ScalarShape(read_flag, lambda: {"type": "boolean"})
    if issubclass(base, Enum):
        return ScalarShape(partial(read_enumeration, base), partial(enumeration_schema, base))
    return ObjectShape(base, _members_of(base), getattr(base, "rules", ()))


def _member_shape(member: Any) -> Shape:
    """Return the shape of a member of a union: of the field or the class that it is written as, if there is one."""
    if hasattr(member, "written_as"):
        return ValuedShape(shape_of(member.written_as))
    bare = getattr(member, "written_bare", "")
    if not bare:
        return shape_of(member)
    return BareShape(shape_of(get_type_hints(member, include_extras=True)[bare]), member)


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


def _scalar(form: Any, base: Any) -> ScalarShape:
    """Return the shape of a form. What is kept as a string may be written as a number (WholeOrText)."""
    read_form, schema_of_form = FORMS[type(form)]
    read_value = partial(read_form, form)
    return ScalarShape(
        (lambda value: str(read_value(value))) if base is str else read_value, partial(schema_of_form, form)
    )


def _members_of(shape: Any, arguments: tuple[Any, ...] = ()) -> tuple[Member, ...]:
    """Return the fields of a class. `arguments` are the types that a generic class is declared with."""
    hints = get_type_hints(shape, include_extras=True)
    if arguments:
        hints = {name: hint[arguments] if getattr(hint, "__parameters__", ()) else hint for name, hint in hints.items()}
    if is_typeddict(shape):
        required: frozenset[str] = vars(shape)["__required_keys__"]
        return tuple(
            _member(name, name, hint, () if name in required else (Absent(UNREAD),)) for name, hint in hints.items()
        )
    return tuple(
        _member(_written_name(field.name, hints[field.name]), field.name, hints[field.name]) for field in fields(shape)
    )


def _member(name: str, attribute: str, hint: Any, more: tuple[Any, ...] = ()) -> Member:
    _, notes = _unwrapped(hint)
    named = [note.name for note in notes if isinstance(note, Named)]
    absent = [note for note in (*notes, *more) if isinstance(note, Default | Absent)]
    if not absent and _may_be_none(hint):
        absent = [Absent(None)]
    inline = any(isinstance(note, Inline) for note in notes)
    unwritten = [note.value for note in notes if isinstance(note, Unwritten)]
    if unwritten:
        return Member("", attribute, Constant(unwritten[0]), "", Absent(unwritten[0]))
    return Member(
        "" if inline else named[-1] if named else name,
        attribute,
        shape_of(hint),
        _description(hint),
        absent[-1] if absent else None,
        next((note for note in notes if isinstance(note, Permission)), None),
    )


def _may_be_none(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _may_be_none(get_args(hint)[0])
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _written_name(attribute: str, hint: Any) -> str:
    """Return the camel case of an attribute, without the unit at its end where the value is written with one."""
    _, notes = _unwrapped(hint)
    has_unit = any(isinstance(note, Duration | Size) for note in notes)
    return camel_case(_UNIT.sub("", attribute) if has_unit else attribute)


def camel_case(attribute: str) -> str:
    """Return the name that an attribute has in a spec or a status."""
    head, *tail = attribute.split("_")
    return head + "".join(word.capitalize() for word in tail)


@cache
def permissions_of(shape: type) -> frozenset[Permission]:
    """Return every permission that an instance of a declared class may take."""
    hint: Any = shape
    return frozenset(_permissions_below(shape_of(hint)))


def _permissions_below(shape: Shape) -> Iterator[Permission]:
    match shape:
        case RuledShape() | ValuedShape() | BareShape():
            yield from _permissions_below(shape.of)
        case ListShape() | MapShape():
            yield from _permissions_below(shape.item)
        case UnionShape():
            for member in shape.members.values():
                yield from _permissions_below(member)
        case ObjectShape():
            if hasattr(shape.shape, "permission"):
                yield shape.shape.permission
            for field in shape.members():
                if field.permission is not None:
                    yield field.permission
                yield from _permissions_below(field.shape)
