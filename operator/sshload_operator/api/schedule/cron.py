"""Cron expressions as CronJob takes them (robfig/cron's standard parser), to the canonical lists that CronSim takes.

The two dialects differ. Here `?` is `*`, Sunday is 0 and never 7, there is no `L` and no `#`; and the days of the month
and of the week must both match if one of them is `*`, where `*/2` is not `*`. So each field becomes `*` or the list of
its numbers, which mean the same to both.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_WEEKDAYS: Final = "sun|mon|tue|wed|thu|fri|sat"
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MOST_DAYS: Final = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_FULL_MONTH: Final = 31


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: what it is called, its range, and its names, the first of which means `least`."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, tuple(_MONTHS.split("|"))),
    _Field("day of the week", 0, 6, tuple(_WEEKDAYS.split("|"))),
)
_NUMBER: Final = r"[0-9]{1,2}"
_WORD: Final = r"[a-z]{3}"
_TERM: Final = re.compile(
    rf"(?:[*?]|(?=({_NUMBER}|{_WORD}))(?:{_NUMBER}(?:-({_NUMBER}))?|{_WORD}(?:-({_WORD}))?))(?:/([0-9]{{1,3}}))?"
)


def canonical(expression: str) -> str:
    """Return the expression in five fields, each `*` or a list of numbers; raises ValueError saying what is wrong.

    Macros (`@daily`) are written out. An expression that names no day that exists, as 30 February, is refused.
    """
    texts = _MACROS.get(expression, expression).lower().split()
    if len(texts) != len(_FIELDS) or (expression.startswith("@") and expression not in _MACROS):
        raise ValueError(
            "is no cron expression of five fields, and none of @hourly, @daily, @weekly, @monthly, @yearly"
        )
    values = [_numbers(field, text) for field, text in zip(_FIELDS, texts, strict=True)]
    _, _, days, months, weekdays = values
    if days is not None and weekdays is None and min(days) > max(map(_most_days, months or (1,))):
        raise ValueError("never fires: there is no such day in these months")
    return " ".join("*" if numbers is None else ",".join(map(str, numbers)) for numbers in values)


def _numbers(field: _Field, text: str) -> tuple[int, ...] | None:
    """Return the numbers of a field, None where it is `*`: every number, and a star to the rule of days."""
    found: set[int] = set()
    starred = False
    for term in text.split(","):
        matched = _TERM.fullmatch(term)
        if matched is None:
            raise ValueError(f"has the {field.name} {term!r}, which is none")
        step = int(matched[4] or 1)
        if step < 1:
            raise ValueError(f"has the {field.name} {term!r}, but a step must be at least 1")
        starred = starred or (matched[1] is None and step == 1)
        found.update(_steps(field, term, matched, step))
    return None if starred else tuple(sorted(found))


def _steps(field: _Field, term: str, matched: re.Match[str], step: int) -> Iterator[int]:
    if matched[1] is None:
        first, last = field.least, field.most
    else:
        first = _number(field, matched[1])
        end = matched[2] or matched[3]
        last = _number(field, end) if end else field.most if matched[4] else first
    if first > last:
        raise ValueError(f"has the {field.name} {term!r}, which ends before it begins")
    yield from range(first, last + 1, step)


def _number(field: _Field, text: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.least
    if not text.isdigit() or not field.least <= int(text) <= field.most:
        raise ValueError(f"has the {field.name} {text!r}, but it must be from {field.least} to {field.most}")
    return int(text)


def _most_days(month: int) -> int:
    return _MOST_DAYS.get(month, _FULL_MONTH)
