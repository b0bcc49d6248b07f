"""JSON as the API server hands it on: what it would refuse, or change, is refused and changed here."""

import json
from typing import Any


class RefusedError(ValueError):
    """The API server would not take the text."""


def handed_on(text: bytes) -> Any:
    """Return what the text says; raises RefusedError.

    Half of a surrogate pair becomes U+FFFD, and a whole number that has more than 64 bits a float, which must be
    finite.
    """
    try:
        return _value(json.loads(text, parse_constant=_no_constant))
    except (ValueError, OverflowError, RecursionError) as error:
        raise RefusedError(str(error)) from error


def _no_constant(word: str) -> None:
    raise RefusedError(f"{word} is not JSON")


def _value(found: Any) -> Any:
    if isinstance(found, str):
        return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(found, dict):
        return {_value(key): _value(item) for key, item in found.items()}
    if isinstance(found, list):
        return [_value(item) for item in found]
    if isinstance(found, float) and found in (float("inf"), float("-inf")):
        raise RefusedError("a number is too large")
    if isinstance(found, int) and not -(2**63) <= found < 2**63:
        return float(found)
    return found
