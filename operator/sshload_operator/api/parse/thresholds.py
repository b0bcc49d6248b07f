"""What the server is to keep."""

from typing import Any

from sshload_contract.run_config import ExecStep, ScenarioStep
from sshload_contract.vocabulary import Step, measured_step

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import duration, items, number, shown, text
from sshload_operator.api.quantities import percent_share
from sshload_operator.api.spec import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold

_LOGIN_STEPS = (Step.CONNECT, Step.BANNER, Step.KEX, Step.AUTH, Step.LOGIN, Step.TOTAL)
_EXEC_STEPS = (Step.CHANNEL_OPEN, Step.EXEC, Step.FIRST_BYTE, Step.READ, Step.CLOSE, Step.COMMAND)


def read_thresholds(value: Any, path: str, steps: tuple[ScenarioStep, ...]) -> tuple[Threshold, ...]:
    """Read the thresholds of a scenario of `steps`: each must be on something that is measured."""
    thresholds = items(_read_threshold, most=20)(value, path)
    measured = {str(step) for step in _LOGIN_STEPS}
    for step in steps:
        if isinstance(step, ExecStep):
            measured.update(measured_step(step.name, timing) for timing in _EXEC_STEPS)
    for threshold in thresholds:
        if isinstance(threshold, LatencyThreshold) and threshold.step not in measured:
            raise SpecError(path, f"latency.step is {shown(threshold.step)}, but must be one of {', '.join(measured)}")
    return thresholds


def _read_threshold(value: Any, path: str) -> Threshold:
    readers = {"latency": _read_latency, "errorRate": _read_error_rate, "throughput": _read_throughput}
    fields = Fields(value, path)
    kind = fields.one_of(*readers)
    threshold = fields.required(kind, readers[kind])
    fields.end()
    return threshold


def _read_latency(value: Any, path: str) -> Threshold:
    fields = Fields(value, path)
    threshold = LatencyThreshold(
        step=fields.required("step", text(shortest=1, longest=50)),
        percentile=fields.required("percentile", number(1, 99.999)),
        below_s=fields.required("below", duration("1ms", "1h")),
    )
    fields.end()
    return threshold


def _read_error_rate(value: Any, path: str) -> Threshold:
    fields = Fields(value, path)
    threshold = ErrorRateThreshold(below=fields.required("below", _read_share))
    fields.end()
    return threshold


def _read_share(value: Any, path: str) -> float:
    try:
        share = percent_share(text(longest=10)(value, path))
    except SpecError:
        raise
    except ValueError as error:
        raise SpecError(path, f"{shown(value)} {error}") from error
    if not 0 < share <= 1:
        raise SpecError(path, f"is {value}, but must be above 0% and at most 100%")
    return share


def _read_throughput(value: Any, path: str) -> Threshold:
    fields = Fields(value, path)
    threshold = ThroughputThreshold(above=fields.required("above", number(0, _RATE_MOST)))
    fields.end()
    return threshold


_RATE_MOST = 100_000
