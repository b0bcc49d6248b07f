"""Figures in words with few digits, and large ones without an exponent."""

_ALL_DIGITS = 15


def to_digits(figure: float, digits: int) -> str:
    """Return a figure rounded to so many digits: `0.0123`, `12.3`, `12300`."""
    return f"{float(f'{figure:.{digits}g}'):.{_ALL_DIGITS}g}"
