"""Text for a terminal: figures in as many digits as mean anything, columns, and no character that steers it."""

from collections.abc import Sequence

ABSENT = "-"
_PLAIN_FROM_MS = 100.0
_ONE_DECIMAL_FROM_MS = 10.0
_UNITS = ("B/s", "kB/s", "MB/s", "GB/s")
_KILO = 1000.0


def milliseconds(value: float | None) -> str:
    """Return a latency to three digits, the precision in which it was measured; `-` where there is none."""
    if value is None:
        return ABSENT
    if value >= _PLAIN_FROM_MS:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= _ONE_DECIMAL_FROM_MS else f"{value:.2f}"


def bytes_per_second(value: float) -> str:
    """Return a throughput to three digits, in powers of 1,000: `11.2 MB/s`."""
    unit = 0
    while value >= _KILO - 0.5 and unit < len(_UNITS) - 1:
        value, unit = value / _KILO, unit + 1
    digits = 0 if unit == 0 or value >= _PLAIN_FROM_MS else 1 if value >= _ONE_DECIMAL_FROM_MS else 2
    return f"{value:,.{digits}f} {_UNITS[unit]}"


def printable(text: str) -> str:
    """Return `text` in one line and without control characters, so that no server writes to the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int, last_left: bool = False) -> str:
    """Return rows under their heads; the first `left` columns (and the last, if asked) to the left, else right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    to_left = {*range(left), *([len(head) - 1] if last_left else [])}
    return "\n".join(
        "  ".join(
            cell.ljust(widths[column]) if column in to_left else cell.rjust(widths[column])
            for column, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )
