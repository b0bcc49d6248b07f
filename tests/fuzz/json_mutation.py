"""Changes to JSON texts that leave them JSON, so that a fuzzer gets behind the first check of a reader."""

import json
from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from random import Random
from typing import Any, TypeAlias

Place: TypeAlias = tuple[Any, Any]
"""A container and the key or index of one of its members."""

_VALUES: tuple[Any, ...] = (
    *(None, True, False, [], {}, "", "0", "-1", "1e9", "\ud800", "\x00", "é", "\u0661", "99" * 3_000, "x" * 300),
    *(0, -1, 1, 2, 100, 2**31, 2**63 - 1, 2**63, -(2**63), 10**400, 0.0, -0.0, 0.5, 1e-9, 1e308, -1e308, 5e-324),
    *("2026-11-22T10:00:00Z", "0001-01-01T00:00:00+14:00", "2016-12-31T23:59:60Z", "10m", "1Gi", "50%", "NaN"),
)
_DEPTHS = (2, 60, 200, 900, 950, 960, 970, 975, 980, 985, 990)
_CHARACTERS = "\ud800\x00\n\r\t \"'\\/.:-_%*[](){}0129azAZé\u0661\u2028"


def mutate_json(data: bytes, seed: int) -> bytes:
    """Return another JSON text, made from `data` by one to four changes; `data` itself where none can be made."""
    random = Random(seed)  # noqa: S311 - nothing is secret here
    try:
        root = [json.loads(data)]
        for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
            random.choice(_CHANGES)(root, random)
        return json.dumps(root[0], separators=(",", ":")).encode()
    except (ValueError, OverflowError, RecursionError):  # no JSON, or more than can be written
        return data


def _places(root: Any) -> list[Place]:
    return list(_below(root))


def _below(container: Any) -> Iterator[Place]:
    waiting = [container]
    while waiting:
        found = waiting.pop()
        keys = list(found) if isinstance(found, dict) else range(len(found))
        for key in keys:
            yield found, key
            if isinstance(found[key], dict | list):
                waiting.append(found[key])


def _replace(root: Any, random: Random) -> None:
    container, key = random.choice(_places(root))
    container[key] = random.choice(_VALUES)


def _copy_over(root: Any, random: Random) -> None:
    places = _places(root)
    (container, key), (source, name) = random.choice(places), random.choice(places)
    container[key] = json.loads(json.dumps(source[name]))


def _remove(root: Any, random: Random) -> None:
    container, key = random.choice(_places(root)[1:] or _places(root))
    if container is not root:
        del container[key]


def _add(root: Any, random: Random) -> None:
    places = _places(root)
    container, key = random.choice(places)
    value = random.choice((random.choice(_VALUES), container[key]))
    copied = json.loads(json.dumps(value))
    if isinstance(container, MutableSequence) and container is not root:
        container.insert(random.randrange(len(container) + 1), copied)
    elif isinstance(container, MutableMapping):
        container[_edited(str(key), random)] = copied


def _edit(root: Any, random: Random) -> None:
    container, key = random.choice(_places(root))
    value = container[key]
    if isinstance(value, str):
        container[key] = _edited(value, random)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        container[key] = random.choice((value + 1, value - 1, -value, value * 2, float(value) / 3, str(value)))


def _edited(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    cut = random.choice((0, 0, 1, 4))
    put: str = random.choice(("", *_CHARACTERS, text[:8], text * 3))
    return text[:at] + put + text[at + cut :]


def _nest(root: Any, random: Random) -> None:
    container, key = random.choice(_places(root))
    value = container[key]
    for _ in range(random.choice(_DEPTHS)):
        value = [value] if random.random() < 0.9 else {"": value}
    container[key] = value


_CHANGES: tuple[Callable[[Any, Random], None], ...] = (
    *(_replace, _replace, _replace, _copy_over, _copy_over, _remove, _add, _edit, _edit, _edit, _nest),
)
