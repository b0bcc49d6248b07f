"""What each iteration does."""

import re
from typing import Any

from sshload_contract.run_config import ExecStep, ScenarioStep, SleepStep

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import duration, items, shown, text, whole

_NAME = text(longest=30, pattern=r"[a-z][A-Za-z0-9-]*", wanted="a name that begins with a small letter, such as uptime")
_COMMAND = text(shortest=1, longest=4096, pattern=r"[^\x00]+", wanted="a command")
_SLEEP = duration("1ms", "24h")
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


def read_scenario(value: Any, path: str) -> tuple[ScenarioStep, ...]:
    """Read the scenario and return its steps."""
    fields = Fields(value, path)
    steps = fields.required("steps", items(_read_step, most=20))
    fields.end()
    _check_names([step.name for step in steps if isinstance(step, ExecStep)], fields.at("steps"))
    return steps


def _check_names(names: list[str], path: str) -> None:
    if len(names) > 1 and not all(names):
        raise SpecError(path, "each exec step must have a name where there are several")
    for name in names:
        if names.count(name) > 1:
            raise SpecError(path, f"the names of exec steps must differ, and {shown(name)} stands there twice")


def _read_step(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    if fields.one_of("exec", "sleep") == "exec":
        step: ScenarioStep = fields.required("exec", _read_exec)
    else:
        step = SleepStep(duration_s=fields.required("sleep", _SLEEP))
    fields.end()
    return step


def _read_exec(value: Any, path: str) -> ExecStep:
    fields = Fields(value, path)
    step = ExecStep(
        name=fields.optional("name", _NAME) or "",
        command=fields.required("command", _COMMAND),
        expect_exit_code=fields.defaulted("expectExitCode", whole(0, 255), 0),
        expect_stdout=fields.optional("expectStdout", _read_expression) or "",
    )
    fields.end()
    return step


def _read_expression(value: Any, path: str) -> str:
    """Read a regular expression of the dialect that Go and Python share: what one takes, the other does too."""
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
