"""How a field of the API is written in a spec or a status: annotations of the fields of dataclasses.

A field is declared once, where the class that holds its value is: its type, one of the forms below, what the field
means in plain words (a `str`), and its default. The operator derives the parser, the CRDs and the reference from that:

    rate: Annotated[float, Number(0, 100_000, above=True), "Iterations begun per second, over all workers."]

The name in a spec or status is the field's name in camel case. A `Duration` and a `Size` are written with their unit,
so their names have no unit suffix: `duration_s` is written `duration`. A field is required unless it may be None or is
annotated with `Default` or `Absent`. A union of dataclasses is an object that has exactly one of their `kind`s as its
key. A member whose class variable `written_bare` names one of its fields is written as only that field: `sleep: 10s`.
One whose class variable `written_as` is another class is written as that class declares (`WrittenAs`).

The class variable `rules` has the rules and checks that concern several fields. A field that needs the installer's
permission is annotated with a `Permission`; a member of a union has it as its class variable `permission`.

The description of an object is the first paragraph of its class's docstring, unless the field that holds it has one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """A string with a limited number of characters that fully matches `pattern` (RE2 and Python).

    `wanted` describes the pattern in words.
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
    """A number from `least` to `most`, which may be infinite. With `above`, `least` itself is excluded."""

    least: float
    most: float
    above: bool = False


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A time in the format of Kubernetes, in whole seconds of UTC. The value is a datetime."""


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
    """A size such as `26Ki`, or a number of bytes. The value is in bytes.

    With `only_text`, it is a string: what may be a number too is a text of any length to the API server, which has a
    limit for what the rules of a CRD may cost.
    """

    least: str
    most: str
    example: str = "26Ki"
    only_text: bool = False


@dataclass(frozen=True, slots=True)
class WholeOrText:
    """A whole number, or a string that fully matches `pattern`."""

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
    """An object that is validated elsewhere, such as a patch. Only its nesting is bounded."""

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
    """A map with arbitrary keys. A key whose value is null counts as absent."""

    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Default:
    """The value of an absent field, as it is written in a spec. The API server fills it in, but not in lists."""

    written: Any


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """The value of an absent field. It cannot be written in a spec."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Unwritten:
    """The field is not part of a spec. The code that reads the spec replaces this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Named:
    """The field's name in a spec, if it differs from the one that this module's rule gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Inline:
    """The field is a union of dataclasses whose kinds are keys beside the other fields of its object."""


@dataclass(frozen=True, slots=True)
class WrittenAs:
    """The field is written as this class declares. Its method `value` returns the value of the field."""

    shape: type


@dataclass(frozen=True, slots=True)
class Permission:
    """The field can be used only with the installer's permission: the flag `name` in the chart's value `permitted`."""

    name: str
    by_default: bool = False

    @property
    def in_words(self) -> str:
        """The text about the permission in the description of the field."""
        if self.by_default:
            return f"Accepted unless the installation forbids it (permitted.{self.name})."
        return f"Needs permitted.{self.name}."


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on a value as it is written, in CEL. The API server evaluates it, and so does the parser.

    Without `parsed`, only the API server does, and a `Check` beside it states the same for the parser.

    `at` is the field that the error names, as a path from the value (`.deadline`). Where `message` would not be
    specific enough, `message_cel` is an expression for one about the value. `explain` is one that only the parser can
    say: an expression that the API server takes for too dear, or what the value that was read makes, "" for nothing.
    """

    cel: str
    message: str
    at: str = ""
    explain: Callable[[Any], str] | str = ""
    message_cel: str = ""
    parsed: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that CEL cannot state: `problem` returns what is wrong with the value that was read, or nothing."""

    problem: Callable[[Any], str]
    at: str = ""


def exactly_one(*names: str) -> Rule:
    """Return the rule that exactly one of these fields is set."""
    *others, last = names
    given = ", ".join(f"has(self.{name})" for name in names)
    return Rule(
        f"[{given}].filter(given, given).size() == 1", f"exactly one of {', '.join(others)} and {last} must be set"
    )
