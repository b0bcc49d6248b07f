"""Regular expressions of the dialect that the API server's CEL (RE2) and the workers' Python share."""

import re
from typing import Any

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.readers import text

_EXPRESSION = text(
    shortest=1,
    longest=500,
    pattern=r"([^\\(]|\(*\\([^A-Za-z0-9]|[dDwWsSbBnrt])|\(+[^?\\(]|\(+\?:)*",
    wanted=r"a regular expression whose groups are (...) or (?:...), and after a backslash punctuation or dDwWsSbBnrt",
)
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(\\.|[^\]\\])*\]", re.DOTALL)
_POSSESSIVE = re.compile(r"([*+?]|\{[0-9,]+\})\+")
_REPEAT = re.compile(r"\{([0-9]+)?(?:,([0-9]+)?)?\}")
_REPEAT_MOST = 1000


def read_expression(value: Any, path: str) -> str:
    """Read a regular expression that one dialect takes if the other does."""
    expression = _EXPRESSION(value, path)
    if "[[" in expression:
        raise SpecError(path, "must have no set inside a set")
    bare = _ESCAPE_OR_SET.sub("x", expression)
    if _POSSESSIVE.search(bare) or any(int(n or 0) > _REPEAT_MOST for pair in _REPEAT.findall(bare) for n in pair):
        raise SpecError(path, f"must have no *+, ++, ?+ or }}+, and repeat nothing more than {_REPEAT_MOST} times")
    try:
        re.compile(expression)
    except re.error as error:
        raise SpecError(path, f"must be a regular expression: {error}") from error
    return expression
