"""Regular expressions over what a server says, by RE2: no output takes more CPU than its length explains.

A worker does nothing else meanwhile, so what is searched is bounded too. RE2 takes some 5 ns a byte for each
instruction of the expression at worst, which is where its automaton does not fit into memory.
"""

from functools import lru_cache

import re2
from sshload_contract.expressions import EXPRESSION_MOST_INSTRUCTIONS

from sshload_worker.outcomes import GeneratorFaultError

_LIMIT_BYTES = 1_048_576
_MOST_WORK = 4_000_000
"""Instructions times bytes of one search: 20 ms, and as much again for the end before the last line break."""


class Expression:
    """An expression that an output may contain.

    `limit_bytes` is how much of an output is searched. Raises GeneratorFaultError where RE2 does not take it.
    """

    __slots__ = ("_compiled", "limit_bytes")

    def __init__(self, text: str) -> None:
        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace") if error.args else ""  # RE2's own words are bytes
            raise GeneratorFaultError(f"{text[:60]!r} must be a regular expression of RE2: {reason}") from None
        if self._compiled.programsize > EXPRESSION_MOST_INSTRUCTIONS:
            raise GeneratorFaultError(f"{text[:60]!r} is too large a regular expression: repeat less")
        self.limit_bytes = min(_LIMIT_BYTES, _MOST_WORK // self._compiled.programsize)

    def is_in(self, output: bytes) -> bool:
        """Return whether it is found in the beginning of an output, whose last line break may come after its end."""
        text = output[: self.limit_bytes].decode("utf-8", "replace").encode()[: self.limit_bytes]
        return self._finds(text) or (text.endswith(b"\n") and self._finds(text[:-1]))

    def _finds(self, text: bytes) -> bool:
        return self._compiled.search(text) is not None


@lru_cache(maxsize=64)
def expression_of(text: str) -> Expression:
    """Return the expression, compiled once; raises GeneratorFaultError where RE2 does not take it."""
    return Expression(text)
