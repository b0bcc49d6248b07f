"""Cron expressions as CronJob takes them (robfig/cron's standard parser), to the canonical lists that CronSim takes.

The two dialects differ. Here `?` is `*`, Sunday is 0 and never 7, there is no `L` and no `#`; and the days of the month
and of the week must both match if one of them is `*`, where `*/2` is not `*`. So each field becomes `*` or the list of
its numbers, which mean the same to both.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sshload_contract.declared import Check, Rule
from sshload_contract.quantities import duration_s

from sshload_operator.api.shapes.errors import shown

EVERY: Final = re.compile(r"@every ((?:[0-9]{1,6}[smh])+)")
"""A fixed interval in place of a cron expression."""
EVERY_LEAST_S: Final = 60.0
EVERY_MOST_S: Final = 87_600 * 3600.0

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
_NUMBER: Final = r"[0-9]{1,2}"
_WORD: Final = r"[a-z]{3}"
_TERM: Final = re.compile(
    rf"(?:[*?]|(?=({_NUMBER}|{_WORD}))(?:{_NUMBER}(?:-({_NUMBER}))?|{_WORD}(?:-({_WORD}))?))(?:/([0-9]{{1,3}}))?"
)
_LIST_OF_DAYS: Final = r"^[^ ]+ +[^ ]+ +{day}(-{day})?(/[0-9]+)?(,{day}(-{day})?(/[0-9]+)?)*"
_ANY_WEEKDAY: Final = "([^ ]*,)?[*?](/0*1)?(,[^ ]*)?$"
_FEBRUARY: Final = "(0?2|(?i:feb))"
_SHORT_MONTH: Final = "(0?[2469]|11|(?i:feb|apr|jun|sep|nov))"
_MACRO_NAMES: Final = "|".join(macro.removeprefix("@") for macro in _MACROS)
_NO_30TH: Final = (
    f"{_LIST_OF_DAYS.format(day='(30|31)')} +{_FEBRUARY}(-{_FEBRUARY})?(,{_FEBRUARY}(-{_FEBRUARY})?)* +{_ANY_WEEKDAY}"
)
_NO_31ST: Final = f"{_LIST_OF_DAYS.format(day='31')} +{_SHORT_MONTH}(,{_SHORT_MONTH})* +{_ANY_WEEKDAY}"


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its name, its range, a pattern of its numbers, and its names, the first of which means `least`."""

    name: str
    least: int
    most: int
    number: str
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59, "[0-5]?[0-9]"),
    _Field("hour", 0, 23, "([01]?[0-9]|2[0-3])"),
    _Field("day of the month", 1, 31, "(0?[1-9]|[12][0-9]|3[01])"),
    _Field("month", 1, 12, "(0?[1-9]|1[0-2])", tuple(_MONTHS.split("|"))),
    _Field("day of the week", 0, 6, "0?[0-6]", tuple(_WEEKDAYS.split("|"))),
)


def canonical(expression: str) -> str:
    """Return the expression in five fields, each `*` or a list of numbers; raises ValueError saying what is wrong.

    Macros (`@daily`) are written out. An expression that names no day that exists, as 30 February, is refused.
    """
    texts = re.split(" +", _MACROS.get(expression, expression).lower())  # no other space, as in the CRD
    if len(texts) != len(_FIELDS) or (expression.startswith("@") and expression not in _MACROS):
        raise ValueError(
            "is neither a cron expression of five fields nor one of @hourly, @daily, @weekly, @monthly, @yearly"
        )
    values = [_numbers(field, text) for field, text in zip(_FIELDS, texts, strict=True)]
    _, _, days, months, weekdays = values
    if days is not None and weekdays is None and min(days) > max(map(_most_days, months or (1,))):
        raise ValueError("never fires: there is no such day in these months")
    return " ".join("*" if numbers is None else ",".join(map(str, numbers)) for numbers in values)


def _numbers(field: _Field, text: str) -> tuple[int, ...] | None:
    """Return the numbers of a field, None if it is `*`: every number, and a star to the rule of days."""
    found: set[int] = set()
    starred = False
    for term in text.split(","):
        matched = _TERM.fullmatch(term)
        if matched is None:
            raise ValueError(f"has the {field.name} {term!r}, which is not valid")
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


def problem_of(expression: str) -> str:
    """Return the fault of an expression, or of an `@every` and its duration; empty if there is none."""
    every = EVERY.fullmatch(expression)
    if every is not None:
        interval_s = duration_s(every[1], whole_seconds=True)
        if EVERY_LEAST_S <= interval_s <= EVERY_MOST_S:
            return ""
        return f"{shown(expression)} must have an interval from one minute to ten years"
    try:
        canonical(expression)
    except ValueError as error:
        return f"{shown(expression)} {error}"
    return ""


# The same for the API server's CEL, which can only match patterns.


def _field_pattern(field: _Field) -> str:
    value = f"{field.number}(-{field.number})?"
    if field.names:
        names = f"(?i:{'|'.join(field.names)})"
        value = f"{value}|{names}(-{names})?"
    term = rf"([*?]|{value})(/[1-9][0-9]{{0,2}})?"
    return f"{term}(,{term})*"


def _digits_below(digit: int) -> str:
    """Return a pattern of the digits below one."""
    return "0" if digit == 1 else "[01]" if digit == 2 else f"[0-{digit - 1}]"  # noqa: PLR2004 - as short as they can be


def _backward_ranges() -> str:
    """Return a pattern of the ranges that end before they begin, of numbers up to 59, of months and of weekdays."""
    units = [f"0?{digit}-0?{_digits_below(digit)}" for digit in range(1, 10)]
    tens = ["[1-5][0-9]-0?[0-9]", "2[0-9]-1[0-9]", "3[0-9]-[12][0-9]", "4[0-9]-[1-3][0-9]", "5[0-9]-[1-4][0-9]"]
    same = [f"{ten}({'|'.join(f'{unit}-{ten}{_digits_below(unit)}' for unit in range(1, 10))})" for ten in range(1, 6)]
    names = [
        f"{name}-({'|'.join(field.names[:place])})"
        for field in _FIELDS
        for place, name in enumerate(field.names)
        if place
    ]
    return "|".join([*units, *tens, *same, *names])


_ANY_EXPRESSION: Final = " +".join(map(_field_pattern, _FIELDS))

SCHEDULE_RULES: Final = (
    Check(problem_of),
    Rule(
        f"self.matches('^({_ANY_EXPRESSION}|@({_MACRO_NAMES})|@every ([0-9]{{1,6}}[smh])+)$')",
        "must be a cron expression of five fields, each within its range, or one of @hourly, @daily, @weekly, @monthly,"
        " @yearly, or @every 1h30m; the time zone goes into spec.timeZone",
    ),
    Rule(
        f"!self.matches('(?i)(^|[ ,])({_backward_ranges()})($|[ ,/])')",
        "a range must not end before it begins",
    ),
    Rule(
        f"!self.matches('{_NO_30TH}') && !self.matches('{_NO_31ST}')",
        "never fires: there is no such day in these months",
    ),
    Rule(
        "!self.startsWith('@every ') || (duration(self.substring(7)) >= duration('1m')"
        " && duration(self.substring(7)) <= duration('87600h'))",
        "@every must have a duration from 1m to 87600h",
    ),
)
"""What a schedule must be."""
