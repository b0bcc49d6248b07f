"""The test that relative thresholds are held against."""

from typing import Any

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import flag, text
from sshload_operator.api.spec import Baseline, LoadTestSpec

_NAME = text(longest=40, pattern=r"[a-z]([-a-z0-9]*[a-z0-9])?", wanted="the name of a test")


def read_baseline(value: Any, path: str) -> Baseline:
    """Read the baseline: exactly one of a test's name and the last that passed."""
    fields = Fields(value, path)
    if fields.one_of("testRef", "lastPassed") == "testRef":
        test = fields.required("testRef", _read_test)
    else:
        test = fields.required("lastPassed", _read_last_passed)
    fields.end()
    return Baseline(test)


def check_baseline(spec: LoadTestSpec) -> None:
    """Raise SpecError for thresholds within a baseline that is not named, and for a baseline that nothing asks for."""
    if spec.baseline is None and spec.relative_thresholds:
        raise SpecError("spec.baseline", "is needed by thresholds with within, and missing")
    if spec.baseline is not None and not spec.relative_thresholds:
        raise SpecError("spec.baseline", "is for thresholds with within, and there is none")


def _read_test(value: Any, path: str) -> str:
    fields = Fields(value, path)
    name = fields.required("name", _NAME)
    fields.end()
    return name


def _read_last_passed(value: Any, path: str) -> str:
    if not flag(value, path):
        raise SpecError(path, "must be true: without a baseline, leave spec.baseline out")
    return ""
