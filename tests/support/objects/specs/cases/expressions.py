"""Regular expressions: the dialect that the API server and the workers share."""

from specs.bad import Bad
from specs.small import with_steps
from specs.spec import Spec


def _expecting(expression: str) -> Spec:
    """Return the small spec with one command whose output must match."""
    return with_steps({"exec": {"command": "x", "expectStdout": expression}})


def _refused(expression: str) -> Bad:
    return Bad(_expecting(expression), "spec.scenario.steps[0].exec.expectStdout")


BAD: dict[str, Bad] = {
    "expression-that-does-not-compile": _refused("(a"),
    "expression-of-python-only": _refused("a(?=b)"),
    "expression-of-go-only": _refused(r"\pL"),
    "expression-that-never-gives-back": _refused("a*+"),
    "expression-that-repeats-without-end": _refused("a{1,1001}"),
    "expression-with-a-set-in-a-set": _refused("[[:alpha:]]"),
    "expression-with-an-open-repetition": _refused("a{,5}"),
}

GOOD: dict[str, Spec] = {
    "groups-and-escapes": _expecting(r"^(a|(?:b\.c))+\d{2,3} [x-z]\($"),
    "operators-in-sets-and-escapes": _expecting(r"[*+]+\*+[]+{1001]\]+a{1000}"),
    "braces-and-commas-of-the-output": _expecting(r"a}+ 1,5000 {x,2000}"),
}
