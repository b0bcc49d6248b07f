"""How a field of the API is written in a spec or a status: annotations of the fields of dataclasses.

A field is declared once, where the class that holds its value is: its type, one of the forms below, what the field
means in plain words (a `str`), and its default. The operator derives the parser, the CRDs and the reference from that:

    rate: Annotated[float, Number(0, 100_000, above=True), "Iterations begun per second, over all workers."]

The name in a spec or status is the field's own in camel case. A `Duration` and a `Size` are written with their unit, so
that their names leave out theirs: `duration_s` is written `duration`. A field is required unless it may be None, is
annotated with a `Default` or with what it is when `Absent`. A union of dataclasses is an object that has exactly one of
their `kind`s as its key. A member whose class variable `written_bare` names one of its fields is written as that field
alone: `sleep: 10s`. One whose class variable `written_as` is another class is written as that one declares
(`WrittenAs`).

A class variable `rules` holds what must be true of its fields together. A field that is used only with the installer's
permission is annotated with a `Permission`; a member of a union has it as its class variable `permission`.

The description of an object is the first paragraph of its class's docstring, unless the field that holds it has one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """A string whose characters are counted, and which `pattern` (RE2 and Python) matches as a whole.

    `wanted` says in words what the pattern asks for.
    """

    longest: int
    shortest: int = 0
    pattern: str = ""
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """One of these strings. An enumeration needs no form."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number. It may be written 5.0, but not if a rule reads it: the API server's CEL takes no such integer."""

    least: int
    most: int
    read_by_rule: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `least` to `most`, which may be infinite, without `least` itself where it has to be `above` it."""

    least: float
    most: float
    above: bool = False


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A time as Kubernetes writes it, in whole seconds of UTC. The value is a datetime."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration such as `1m30s`. The value is in seconds."""

    least: str
    most: str
    example: str = "30s"
    whole_seconds: bool = False


@dataclass(frozen=True, slots=True)
class Percentage:
    """A percentage such as `0.5%`. The value is the fraction of one."""

    least: str
    most: str


@dataclass(frozen=True, slots=True)
class Size:
    """A size such as `26Ki`, or a number of bytes. The value is in bytes."""

    least: str
    most: str
    example: str = "26Ki"


@dataclass(frozen=True, slots=True)
class WholeOrText:
    """A whole number, or a string that `pattern` matches as a whole."""

    longest: int
    pattern: str
    least: int
    most: int | None
    wanted: str


@dataclass(frozen=True, slots=True)
class TrueOnly:
    """A boolean that can only be true. `otherwise` says what to do in place of false."""

    otherwise: str


@dataclass(frozen=True, slots=True)
class FreeForm:
    """An object that something else checks, such as a patch. Only its nesting is bounded."""

    levels: int = 50


@dataclass(frozen=True, slots=True)
class Items:
    """A list. No two items may be equal in all the fields `key`; with `distinct`, no two may be equal."""

    most: int
    least: int = 0
    key: tuple[str, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Entries:
    """A map with free keys. A value of null is as if the key was not there."""

    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Default:
    """What holds where the field is absent, as it would be written. The API server fills it in, but not in lists."""

    written: Any


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """The value where the field is absent. It cannot be written."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Unwritten:
    """The field is not part of a spec. Its value here is replaced by whoever reads the rest of the spec."""

    value: Any


@dataclass(frozen=True, slots=True)
class Named:
    """The field's name in a spec, where the rule of this module would give another."""

    name: str


@dataclass(frozen=True, slots=True)
class Inline:
    """The field is a union of dataclasses whose kinds stand beside the other fields of its object."""


@dataclass(frozen=True, slots=True)
class WrittenAs:
    """The field is written as this class declares, whose method `value` returns what the field holds."""

    shape: type


@dataclass(frozen=True, slots=True)
class Permission:
    """Using the field takes the installer's permission: the chart's value `permitted` has a flag of this `name`."""

    name: str
    by_default: bool = False

    @property
    def in_words(self) -> str:
        """What the description of the field says of it."""
        granted = "unless the installation forbids it" if self.by_default else "only where the installation permits it"
        return f"Accepted {granted} (permitted.{self.name})."


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold of a value, as the API server checks it (`cel`) and as the parser does (`holds`).

    An empty `cel` is for what the API server cannot check. `message_cel` makes the API server's message of the value.
    `at` is the field that is to blame, as a path from the value (`.deadline`). `explain` makes the parser's message of
    the value, where `message` alone would say too little.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool]
    at: str = ""
    explain: Callable[[Any], str] | None = None
    message_cel: str = ""

    def problem(self, value: Any) -> str:
        """Return the message for this value, empty if the rule holds."""
        if self.holds(value):
            return ""
        return self.message if self.explain is None else self.explain(value)


def exactly_one(**attributes: str) -> Rule:
    """Return the rule that exactly one of an object's fields is set. Each name in a spec stands for its attribute."""
    given = ", ".join(f"has(self.{name})" for name in attributes)
    *names, last = attributes
    return Rule(
        f"[{given}].filter(given, given).size() == 1",
        f"exactly one of {', '.join(names)} and {last} must be set",
        lambda value: sum(getattr(value, attribute) is not None for attribute in attributes.values()) == 1,
    )
