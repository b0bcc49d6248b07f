"""Regular expressions of a spec: over what a server says, in the dialect of RE2, whose time is linear.

The API server (CEL) and the workers have RE2. What is taken here is what Python's own means by the same text.
"""

import re
import warnings
from typing import Annotated, Final, TypeAlias

from sshload_contract.declared import Check, Rule, Text

EXPRESSION_MOST_INSTRUCTIONS = 2_000
"""The largest regular expression, as RE2 compiles it, that output is searched for."""

_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(\\.|[^\]\\])*\]", re.DOTALL)
_POSSESSIVE = re.compile(r"([*+?]|\{[0-9,]+\})\+")
_REPEAT = re.compile(r"\{([0-9]+)?(?:,([0-9]+)?)?\}")
_REPEAT_MOST = 1000

_BODY: Final = r"([^\\(]|\(*\\([^A-Za-z0-9]|[dDwWsSbBnrt])|\(+[^?\\(]|\(+\?:)*"
_WANTED: Final = (
    "a regular expression whose groups are (...) or (?:...), and after a backslash punctuation or dDwWsSbBnrt"
)


def _fault_of_expression(expression: str) -> str:
    """Return the fault of an expression that RE2 would find, as far as the standard library tells; empty if none."""
    bare = _ESCAPE_OR_SET.sub("x", expression)
    if _POSSESSIVE.search(bare) or any(int(n or 0) > _REPEAT_MOST for pair in _REPEAT.findall(bare) for n in pair):
        return f"must have no *+, ++, ?+ or }}+, and repeat nothing more than {_REPEAT_MOST} times"
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of sets that RE2 reads alike: [a&&b]
            re.compile(expression)
    except re.error as error:
        return f"must be a regular expression: {error}"
    return ""


_RULES: Final = (
    Rule("!self.contains('[[')", "must have no set inside a set"),
    Rule("!self.matches('[{],[0-9]+[}]')", "must write {0,n} for {,n}"),
    Check(_fault_of_expression),
    Rule("''.matches(self) || !''.matches(self)", "must be a regular expression", parsed=False),
)
Expression: TypeAlias = Annotated[str, Text(shortest=1, longest=500, pattern=_BODY, wanted=_WANTED), *_RULES]
PromptExpression: TypeAlias = Annotated[
    str,
    Text(
        shortest=1,
        longest=200,
        pattern=rf"(\(\?i\))?{_BODY}",
        wanted=f"{_WANTED}, with (?i) at its beginning to ignore case",
    ),
    *_RULES,
]
