"""The part of CEL in which rules are written, so that a spec is checked by the same text here and in the API server.

A field is absent if it is missing or null, and equals nothing. Regular expressions are those of our own declarations:
one of a spec could keep Python's engine, which goes back, busy for years.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from ipaddress import IPv6Address, ip_address
from operator import add, eq, ge, gt, le, lt, mul, ne, sub, truediv
from typing import Any, Final, TypeAlias

from sshload_contract.quantities import duration_s, size_bytes

Scope: TypeAlias = Mapping[str, Any]
Expression: TypeAlias = Callable[[Scope], Any]

_ABSENT: Final = object()
_MICROSECONDS: Final = 1_000_000
_TOKEN: Final = re.compile(
    r"(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>&&|\|\||[=!<>]=|\.\?|\S)"
)


def holds(rule: str, value: Any) -> bool:
    """Return whether a rule holds of a value as it is written, with its defaults; ValueError if it is no rule."""
    expression = _compiled(rule)
    try:
        return expression({"self": value}) is True
    except (ArithmeticError, LookupError, TypeError, ValueError):  # the API server refuses what has no value, too
        return False


def text(expression: str, value: Any) -> str:
    """Return the text that an expression makes of a value of which its rule does not hold, empty if it makes none."""
    compiled = _compiled(expression)
    try:
        return str(compiled({"self": value}))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return ""


@cache
def _compiled(text: str) -> Expression:
    parser = _Parser(text)
    expression = parser.expression()
    parser.take("")
    return expression


_OPERATORS: Final[tuple[Mapping[str, Callable[[Any, Any], Any] | None], ...]] = (
    {"||": None},
    {"&&": None},
    {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge, "in": lambda item, items: item in items},
    {"+": add, "-": sub},
    {"*": mul, "/": truediv},
)
"""The operators of two values, the weakest first. None: the second value is asked only if the first does not decide."""
_MACROS: Final[Mapping[str, Callable[[Iterable[tuple[Any, Any]]], Any]]] = {
    "all": lambda results: all(result for _, result in results),
    "exists": lambda results: any(result for _, result in results),
    "filter": lambda results: [item for item, result in results if result],
    "map": lambda results: [result for _, result in results],
}
"""What is made of the items of a list, or the keys of a map, each with its result."""


def _is_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (isinstance(address, IPv6Address) and (address.ipv4_mapped is not None or address.scope_id))


_LITERALS: Final[Mapping[str, Expression]] = {"true": lambda _: True, "false": lambda _: False}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "double": float,
    "has": lambda found: found is not _ABSENT,
    "duration": lambda text: round(duration_s(text) * _MICROSECONDS),
    "int": int,
    "isIP": _is_address,
    "quantity": size_bytes,
    "string": str,
}
_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "compareTo": lambda left, right: (left > right) - (left < right),
    "contains": lambda text, part: part in text,
    "getMilliseconds": lambda duration: duration // 1_000,
    "getSeconds": lambda duration: duration // _MICROSECONDS,
    "indexOf": lambda found, item: found.index(item),
    "lastIndexOf": lambda found, item: len(found) - 1 - found[::-1].index(item),
    "lowerAscii": str.lower,
    # The end of a text, and not also what is before a last newline, as in RE2.
    "matches": lambda text, pattern: re.search(pattern.replace("$", r"\Z"), text) is not None,
    "or": lambda found, other: other if found is _ABSENT else found,
    "orValue": lambda found, default: default if found is _ABSENT else found,
    "size": len,
    "split": str.split,
    "startsWith": str.startswith,
    "substring": lambda text, *places: text[slice(*places) if len(places) > 1 else slice(places[0], None)],
    "sum": sum,
}


class _Parser:
    """Makes an expression of a rule's text, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(str(found.lastgroup), found[0]) for found in _TOKEN.finditer(text)]

    @property
    def _next(self) -> str:
        return self._tokens[0][1] if self._tokens else ""

    def take(self, *tokens: str) -> str:
        """Take the next token, which must be one of these if any are named; "" is the end."""
        if tokens and self._next not in tokens:
            raise ValueError(f"{self._next!r} where {tokens} is expected, in {self._text}")
        return self._tokens.pop(0)[1] if self._tokens else ""

    def expression(self) -> Expression:
        """Take an expression."""
        condition = self._joined(0)
        if self._next != "?":
            return condition
        self.take()
        then = self.expression()
        self.take(":")
        otherwise = self.expression()
        return lambda scope: then(scope) if condition(scope) else otherwise(scope)

    def _joined(self, level: int) -> Expression:
        if level == len(_OPERATORS):
            return self._single()
        left = self._joined(level + 1)
        while self._next in _OPERATORS[level]:
            sign = self.take()
            left = _of_two(sign, _OPERATORS[level][sign], left, self._joined(level + 1))
        return left

    def _single(self) -> Expression:
        if self._next == "!":
            self.take()
            negated = self._single()
            return lambda scope: not negated(scope)
        found = self._operand()
        while self._next in (".", ".?", "["):
            found = self._of(found)
        return found

    def _operand(self) -> Expression:
        kind, taken = self._tokens.pop(0) if self._tokens else ("", "")
        if kind in ("number", "text"):
            literal = ast.literal_eval(taken)
            return lambda _: literal
        if taken == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if taken == "[":
            items = self._expressions("]")
            return lambda scope: [item(scope) for item in items]
        if kind != "word":
            raise ValueError(f"{taken!r} where a value is expected, in {self._text}")
        if self._next == "(":
            return _call(_FUNCTIONS[taken], self._arguments())
        return _LITERALS.get(taken, lambda scope: scope[taken])

    def _of(self, holder: Expression) -> Expression:
        """Take an index of a list, a field of an object, or a method."""
        if self.take() == "[":
            (place,) = self._expressions("]")
            return lambda scope: holder(scope)[place(scope)]
        name = self.take()
        if self._next != "(":
            return lambda scope: _field(holder(scope), name)
        if name == "matches" and self._tokens[1][0] != "text":
            raise ValueError(f"matches takes a text of its own, in {self._text}")
        if name not in _MACROS:
            return _call(_METHODS[name], [holder, *self._arguments()])
        self.take("(")
        variable = self.take()
        self.take(",")
        (body,) = self._expressions(")")
        return lambda scope: _MACROS[name]((item, body({**scope, variable: item})) for item in holder(scope))

    def _arguments(self) -> list[Expression]:
        self.take("(")
        return self._expressions(")")

    def _expressions(self, end: str) -> list[Expression]:
        found: list[Expression] = []
        while self._next != end:
            found.append(self.expression())
            if self._next != end:
                self.take(",")
        self.take()
        return found


def _of_two(sign: str, compute: Callable[[Any, Any], Any] | None, left: Expression, right: Expression) -> Expression:
    if compute is not None:
        return lambda scope: compute(left(scope), right(scope))
    return (lambda scope: left(scope) or right(scope)) if sign == "||" else lambda scope: left(scope) and right(scope)


def _call(function: Callable[..., Any], arguments: list[Expression]) -> Expression:
    return lambda scope: function(*(argument(scope) for argument in arguments))


def _field(holder: Any, name: str) -> Any:
    """Return a field of an object, or that it is absent."""
    if holder is _ABSENT:
        return _ABSENT
    found = holder.get(name)
    return _ABSENT if found is None else found
