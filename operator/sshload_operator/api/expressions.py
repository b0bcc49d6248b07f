"""Regular expressions of a spec, as the workers' RE2 takes them. The API server's, which is Go's, has other limits."""

from sshload_contract.expressions import EXPRESSION_MOST_INSTRUCTIONS


def expression_fault(expression: str) -> str:
    """Return why the workers do not take an expression, empty if they do."""
    import re2  # noqa: PLC0415 - 4 MB, and few specs have an expression

    options = re2.Options()
    options.log_errors = False
    try:
        instructions = re2.compile(expression, options).programsize
    except re2.error as error:
        reason = error.args[0]
        return f"must be a regular expression of RE2: {reason.decode() if isinstance(reason, bytes) else reason}"
    if instructions > EXPRESSION_MOST_INSTRUCTIONS:
        return (
            f"must be smaller: it makes {instructions} instructions, at most {EXPRESSION_MOST_INSTRUCTIONS} are"
            " searched for; repeat less"
        )
    return ""
