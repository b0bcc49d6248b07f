"""Text for a terminal: figures with as many digits as are significant, and no control characters."""

from typing import Final

ABSENT: Final = "-"
MET: Final = "✓"
BROKEN: Final = "✗"
UNKNOWN: Final = "?"
_PLAIN_FROM_MS = 100.0
_ONE_DECIMAL_FROM_MS = 10.0
_UNITS = ("B", "kB", "MB", "GB")
_KILO = 1000.0
_LEVELS = "▁▂▃▄▅▆▇█"
_FULL = "█"
# Replacements for these characters if the stream's encoding does not have them.
_PLAIN = str.maketrans(f"{MET}{BROKEN}{_LEVELS}…━─╸", "+x_.-:=+*#~=->")


def milliseconds(value: float | None) -> str:
    """Return a latency to three digits, the precision in which it was measured; `-` where there is none."""
    if value is None:
        return ABSENT
    if value >= _PLAIN_FROM_MS:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= _ONE_DECIMAL_FROM_MS else f"{value:.2f}"


def bytes_per_second(value: float) -> str:
    """Return a throughput to three digits, in powers of 1,000: `11.2 MB/s`."""
    return f"{size_text(value)}/s"


def size_text(value: float) -> str:
    """Return a number of bytes to three digits, in powers of 1,000: `11.2 MB`."""
    unit = 0
    while value >= _KILO - 0.5 and unit < len(_UNITS) - 1:
        value, unit = value / _KILO, unit + 1
    digits = 0 if unit == 0 or value >= _PLAIN_FROM_MS else 1 if value >= _ONE_DECIMAL_FROM_MS else 2
    return f"{value:,.{digits}f} {_UNITS[unit]}"


def amount_text(amount: float) -> str:
    """Return an amount of load: `118`, `1,200`, `0.5`."""
    return f"{amount:,.6g}"


def mark(passed: bool | None) -> str:  # noqa: FBT001 - the one thing that it is about
    """Return the sign of a threshold that held, was broken, or cannot be judged (None)."""
    return UNKNOWN if passed is None else MET if passed else BROKEN


def bar(value: float, most: float, width: int) -> str:
    """Return a bar of up to `width` characters; a value above 0 has one at least."""
    return _FULL * max(1, round(width * min(value / most, 1.0))) if value > 0 and most > 0 else ""


def sparkline(values: tuple[float | None, ...]) -> str:
    """Return a character for each value, higher for larger ones, from 0 to the largest, and a gap for each None."""
    most = max((value for value in values if value is not None), default=0.0)
    scale = len(_LEVELS) / most if most > 0 else 0.0
    return "".join(" " if value is None else _LEVELS[min(int(value * scale), len(_LEVELS) - 1)] for value in values)


def in_encoding(text: str, encoding: str) -> str:
    """Return `text` as a stream with this encoding can write it: signs by ASCII ones, other characters by `?`."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
    return text
