"""Parsers of durations, percentages, sizes and resource quantities: `1m30s`, `0.5%`, `26Ki`, `500m`.

Each raises ValueError for any other text.
"""

import re
from fractions import Fraction
from functools import lru_cache

_UNIT_S = {"ms": Fraction(1, 1000), "s": Fraction(1), "m": Fraction(60), "h": Fraction(3600)}
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_DURATION = re.compile(r"([0-9]+(\.[0-9]+)?(ms|s|m|h))+")
_WHOLE_SECONDS = re.compile(r"([0-9]+(s|m|h))+")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)%")
_SIZE = re.compile(r"([0-9]{1,12})(k|M|G|Ki|Mi|Gi)?")
_UNIT_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_AMOUNT = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)(?P<unit>[A-Za-z]*)")
_UNIT_AMOUNT = {
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{unit: Fraction(1000**power) for power, unit in enumerate("kMGT", start=1)},
    **{f"{unit}i": Fraction(1024**power) for power, unit in enumerate("KMGT", start=1)},
}


@lru_cache(maxsize=256)
def duration_s(text: str, *, whole_seconds: bool = False) -> float:
    """Return the seconds of a duration such as `250ms`, `30s` or `1h30m`.

    Cached, because each parse of a spec converts the same defaults and bounds again.
    """
    if _DURATION.fullmatch(text) is None:
        raise ValueError("is not a duration such as 30s or 1m30s")
    if whole_seconds and _WHOLE_SECONDS.fullmatch(text) is None:
        raise ValueError("is not a duration in whole seconds such as 30s or 1m30s")
    return float(sum(Fraction(number) * _UNIT_S[unit] for number, unit in _DURATION_PART.findall(text)))


def percent_share(text: str) -> float:
    """Return the share, 0 to 9.99, of a percentage such as `1%`."""
    matched = _PERCENT.fullmatch(text)
    if matched is None:
        raise ValueError("is not a percentage such as 1%")
    return float(Fraction(matched[1]) / 100)


def size_bytes(text: str) -> int:
    """Return the bytes of a size such as `26Ki` or `11M`."""
    matched = _SIZE.fullmatch(text)
    if matched is None:
        raise ValueError("is not a size such as 26Ki")
    return int(matched[1]) * _UNIT_BYTES[matched[2] or ""]


def resource_amount(amount: float | str) -> Fraction:
    """Return the cores or bytes of a Kubernetes resource quantity: 2, "1500m", "0.5", "4Gi"."""
    found = _AMOUNT.fullmatch(str(amount))
    if found is None or found["unit"] not in _UNIT_AMOUNT:
        raise ValueError(f"{amount!r} is not an amount of a resource")
    return Fraction(found["number"]) * _UNIT_AMOUNT[found["unit"]]
