"""Single values: how each form of sshload_contract.declared is read, and its schema in a CRD, side by side.

A value is read as the API server validates it: a whole number may be written 5.0, and text is counted in characters.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from math import isfinite, isinf
from typing import Any, Final, TypeAlias

from sshload_contract.declared import (
    Duration,
    FreeForm,
    Number,
    Percentage,
    Size,
    Text,
    Timestamp,
    TrueOnly,
    Whole,
    WholeOrText,
    Words,
)
from sshload_contract.quantities import duration_s, percent_share, size_bytes

from sshload_operator.api.shapes.errors import kind, shown

Schema: TypeAlias = dict[str, Any]
ReadForm: TypeAlias = Callable[[Any, Any], Any]

_INT32_MOST: Final = 2**31 - 1
_INT64_MOST: Final = 2**63 - 1
_DURATION_CHARACTERS: Final = 20
_PERCENTAGE_CHARACTERS: Final = 10
_SIZE_CHARACTERS: Final = 20
_TIMESTAMP_CHARACTERS: Final = 64
_CLASS_OR_ESCAPE: Final = re.compile(r"\\.|\[\^?\]?(\\.|[^\]\\])*\]")
_GROUP: Final = re.compile(r"\([^()]*\)")
_FREE_FORM_VALUES: Final = 32 * 1024
_SIZE_PATTERN: Final = "^[0-9]{1,12}(k|M|G|Ki|Mi|Gi)?$"


class Misfit(Exception):  # noqa: N818 - it never leaves this package: it becomes a Problem where it is caught
    """A value is not of its form. The text says what it must be."""


def read_text(form: Text, value: Any) -> str:
    """Read a string."""
    if not isinstance(value, str):
        hint = "; put it in quotes" if isinstance(value, bool | int | float) else ""
        raise Misfit(f"must be a string, not {kind(value)}{hint}")
    if not form.shortest <= len(value) <= form.longest:
        raise Misfit(f"must have from {form.shortest} to {form.longest} characters, not {len(value)}")
    if form.pattern and re.fullmatch(form.pattern, value) is None:
        raise Misfit(f"is {shown(value)}, but must be {form.wanted or f'like {form.pattern}'}")
    return value


def _text_schema(form: Text) -> Schema:
    schema: Schema = {"type": "string"}
    if form.shortest:
        schema["minLength"] = form.shortest
    schema["maxLength"] = form.longest
    return {**schema, "pattern": whole_pattern(form.pattern)} if form.pattern else schema


def whole_pattern(pattern: str) -> str:
    """Return the pattern of a schema, which is searched for, that matches a string as a whole."""
    outside_groups = _GROUP.sub("", _CLASS_OR_ESCAPE.sub("", pattern))
    while (fewer := _GROUP.sub("", outside_groups)) != outside_groups:
        outside_groups = fewer
    return f"^({pattern})$" if "|" in outside_groups else f"^{pattern}$"


def read_words(form: Words, value: Any) -> str:
    """Read one of some words."""
    if isinstance(value, bool):
        raise Misfit(f"is {str(value).lower()}, but must be one of {', '.join(form.words)}; put it in quotes")
    if not isinstance(value, str) or value not in form.words:
        raise Misfit(f"is {shown(value)}, but must be one of {', '.join(form.words)}")
    return value


def _words_schema(form: Words) -> Schema:
    return {"type": "string", "enum": list(form.words)}


def read_enumeration(members: type[Enum], value: Any) -> Enum:
    """Read a member of an enumeration by its value."""
    return members(read_words(Words(tuple(member.value for member in members)), value))


def enumeration_schema(members: type[Enum]) -> Schema:
    """Return the schema of an enumeration."""
    return _words_schema(Words(tuple(member.value for member in members)))


def read_flag(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Misfit(f"must be true or false, not {kind(value)}")
    return value


def _read_true(form: TrueOnly, value: Any) -> bool:
    if not read_flag(value):
        raise Misfit(form.otherwise)
    return True


def _read_whole(form: Whole, value: Any) -> int:
    found = _number(value)
    if form.read_by_rule and isinstance(value, float):
        raise Misfit("must be a whole number, without a decimal point")
    if found != int(found):
        raise Misfit(f"is {value}, but must be a whole number")
    _check_range(found, form.least, form.most)
    return int(found)


def _whole_schema(form: Whole) -> Schema:
    schema: Schema = {"type": "integer"}
    if form.most > _INT32_MOST:
        schema["format"] = "int64"
    if form.least > -_INT64_MOST:
        schema["minimum"] = form.least
    return {**schema, "maximum": form.most} if form.most < _INT64_MOST else schema


def _read_number(form: Number, value: Any) -> float:
    found = float(_number(value))
    _check_range(found, form.least, form.most)
    if form.above and found == form.least:
        raise Misfit(f"must be above {form.least:g}")
    return found


def _number_schema(form: Number) -> Schema:
    schema: Schema = {"type": "number"}
    if not isinf(form.least):
        schema["minimum"] = form.least
    if form.above:
        schema["exclusiveMinimum"] = True
    return schema if isinf(form.most) else {**schema, "maximum": form.most}


def read_timestamp(_form: Timestamp, value: Any) -> datetime:
    """Read a time. The API server takes some that Python does not, such as the year 0 and a zone 99 hours away."""
    written = read_text(Text(_TIMESTAMP_CHARACTERS), value)
    try:
        return datetime.fromisoformat(written).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Misfit(f"is {shown(written)}, but must be a time such as 2026-06-01T10:00:00Z") from error


def timestamp_text(time: datetime) -> str:
    """Return a time as Kubernetes writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_duration(form: Duration, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 0 <= value < _INT32_MOST:
            raise Misfit(f"is {value:g}, but must be a duration: write {value:g}s")
        raise Misfit("must be a duration such as 30s")
    written = read_text(Text(_DURATION_CHARACTERS), value)
    try:
        seconds = duration_s(written, whole_seconds=form.whole_seconds)
    except ValueError as error:
        raise Misfit(f"{shown(written)} {error}") from error
    if not duration_s(form.least) <= seconds <= duration_s(form.most):
        raise Misfit(f"is {written}, but must be a duration from {form.least} to {form.most}")
    return seconds


def _duration_schema(form: Duration) -> Schema:
    return {
        "type": "string",
        "maxLength": _DURATION_CHARACTERS,
        "pattern": "^([0-9]+(s|m|h))+$" if form.whole_seconds else r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$",
        "x-kubernetes-validations": [
            {
                "rule": f"duration(self) >= duration('{form.least}') && duration(self) <= duration('{form.most}')",
                "message": f"must be a duration from {form.least} to {form.most}, such as {form.example}",
            }
        ],
    }


def _read_percentage(form: Percentage, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Misfit(f"is {value}, but must be a percentage with its sign, such as 1%")
    written = read_text(Text(_PERCENTAGE_CHARACTERS), value)
    try:
        share = percent_share(written)
    except ValueError as error:
        raise Misfit(f"{shown(written)} {error}") from error
    if not percent_share(form.least) <= share <= percent_share(form.most):
        raise Misfit(f"is {written}, but must be a percentage from {form.least} to {form.most}")
    return share


def _percentage_schema(form: Percentage) -> Schema:
    least, most = (float(bound.removesuffix("%")) for bound in (form.least, form.most))
    return {
        "type": "string",
        "maxLength": _PERCENTAGE_CHARACTERS,
        "pattern": "^[0-9]{1,3}([.][0-9]{1,4})?%$",
        "x-kubernetes-validations": [
            {
                "rule": f"double(self.replace('%', '')) >= {least} && double(self.replace('%', '')) <= {most}",
                "message": f"must be a percentage from {form.least} to {form.most}",
            }
        ],
    }


def _read_size(form: Size, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Misfit(f"is {shown(value)}, but must be a size such as {form.example}")
    if form.only_text and isinstance(value, int):
        raise Misfit(f"must be a string such as {form.example}, not a number; put it in quotes")
    if isinstance(value, int):
        _check_64_bits(value)
    try:
        found = size_bytes(str(value))
    except ValueError as error:
        raise Misfit(f"{shown(str(value))} {error}") from error
    if not size_bytes(form.least) <= found <= size_bytes(form.most):
        raise Misfit(f"is {value}, but must be a size from {form.least} to {form.most}")
    return found


def _size_schema(form: Size) -> Schema:
    bounds = [f"size.compareTo(quantity('{form.most}')) <= 0"]
    if size_bytes(form.least):
        bounds.insert(0, f"size.compareTo(quantity('{form.least}')) >= 0")
    fits = f"[quantity(self)].all(size, {' && '.join(bounds)})"
    message = f"must be a size from {form.least} to {form.most}, such as {form.example}"
    if form.only_text:
        rules = [{"rule": fits, "message": message}]
        return {
            "type": "string",
            "maxLength": _SIZE_CHARACTERS,
            "pattern": _SIZE_PATTERN,
            "x-kubernetes-validations": rules,
        }
    return {
        "x-kubernetes-int-or-string": True,
        "maxLength": _SIZE_CHARACTERS,
        "pattern": _SIZE_PATTERN,
        "minimum": size_bytes(form.least),
        "maximum": size_bytes(form.most),
        "x-kubernetes-validations": [
            {
                # The API server takes each reading of a size for one of megabytes, and has a limit for those of a CRD.
                "rule": f"type(self) != string || {fits}",
                "message": message,
            }
        ],
    }


def _read_whole_or_text(form: WholeOrText, value: Any) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Misfit(f"is {shown(value)}, but must be {form.wanted}")
    if isinstance(value, int):
        _check_64_bits(value)
        fits = form.least <= value and (form.most is None or value <= form.most)
    else:
        fits = len(value) <= form.longest and re.fullmatch(form.pattern, value) is not None
    if not fits:
        raise Misfit(f"must be {form.wanted}")
    return value


def _whole_or_text_schema(form: WholeOrText) -> Schema:
    schema: Schema = {
        "x-kubernetes-int-or-string": True,
        "maxLength": form.longest,
        "pattern": whole_pattern(form.pattern),
        "minimum": form.least,
    }
    return schema if form.most is None else {**schema, "maximum": form.most}


def read_object(value: Any) -> Mapping[str, Any]:
    """Read an object as it is."""
    if not isinstance(value, Mapping):
        raise Misfit(f"must be an object, not {kind(value)}")
    for key in value:
        if not isinstance(key, str):
            raise Misfit(f"has a key that is {kind(key)}, not a string; put it in quotes")
    return value


def _read_free_form(form: FreeForm, value: Any) -> Mapping[str, Any]:
    """Read an object that YAML may have let contain itself, so that its values have no end."""
    whole_object, count = read_object(value), 0
    level: list[Any] = [whole_object]
    for _ in range(form.levels):
        level = [inner for item in level for inner in _inner(item)]
        if not level:
            return whole_object
        count += len(level)
        if count > _FREE_FORM_VALUES:
            raise Misfit(f"has more than {_FREE_FORM_VALUES} values")
    raise Misfit(f"is nested more than {form.levels} levels deep")


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = (
            "; remove the quotes"
            if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,15}([.][0-9]+)?", value)
            else ""
        )
        raise Misfit(f"must be a number, not {kind(value)}{hint}")
    _check_64_bits(value)
    if not isfinite(value):
        raise Misfit("must be a finite number")
    return value


def _check_64_bits(value: float) -> None:
    """Refuse a whole number that the API server could not read, nor Python make a float of."""
    if isinstance(value, int) and not -_INT64_MOST - 1 <= value <= _INT64_MOST:
        raise Misfit("must be a number of 64 bits")


def _check_range(value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise Misfit(f"is {_figure(value)}, but must be from {_figure(least)} to {_figure(most)}")


def _figure(value: float) -> str:
    """Return a number as it would be written: a whole one with all its digits."""
    return str(int(value)) if isfinite(value) and value == int(value) else f"{value:g}"


FORMS: Final[Mapping[type, tuple[ReadForm, Callable[[Any], Schema]]]] = {
    Text: (read_text, _text_schema),
    Words: (read_words, _words_schema),
    TrueOnly: (_read_true, lambda _: {"type": "boolean", "enum": [True]}),
    Whole: (_read_whole, _whole_schema),
    Number: (_read_number, _number_schema),
    Timestamp: (read_timestamp, lambda _: {"type": "string", "format": "date-time"}),
    Duration: (_read_duration, _duration_schema),
    Percentage: (_read_percentage, _percentage_schema),
    Size: (_read_size, _size_schema),
    WholeOrText: (_read_whole_or_text, _whole_or_text_schema),
    FreeForm: (_read_free_form, lambda _: {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
}
"""What reads a value of a form, and what its schema is."""
