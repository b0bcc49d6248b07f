"""What the server is to keep, by itself or beside a baseline."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sshload_contract.load import HoldLoad
from sshload_contract.run_config import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    Library,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    SleepStep,
)
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold
from sshload_contract.vocabulary import Step, measured_step

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import Reader, duration, flag, items, number, percentage, shown, text
from sshload_operator.api.spec import (
    CapacityThreshold,
    LoadTestSpec,
    RelativeCapacity,
    RelativeLatency,
    RelativeThreshold,
    RelativeThroughput,
)

_LOGIN_STEPS = (Step.CONNECT, Step.BANNER, Step.KEX, Step.AUTH, Step.LOGIN)
_HELD_STEPS = (*_LOGIN_STEPS, Step.KEEP_ALIVE, Step.HOLD)
_TIMINGS: Mapping[str, tuple[Step, ...]] = {
    ExecStep.kind: (Step.CHANNEL_OPEN, Step.EXEC, Step.FIRST_BYTE, Step.READ, Step.CLOSE, Step.COMMAND),
    SftpReadStep.kind: (Step.SUBSYSTEM, Step.OPEN, Step.FIRST_BYTE, Step.READ, Step.CLOSE, Step.SFTP_READ),
    SftpWriteStep.kind: (Step.SUBSYSTEM, Step.OPEN, Step.WRITE, Step.CLOSE, Step.VERIFY, Step.SFTP_WRITE),
    SftpListStep.kind: (Step.SUBSYSTEM, Step.SFTP_LIST),
    SftpStatStep.kind: (Step.SUBSYSTEM, Step.SFTP_STAT),
    SftpMkdirStep.kind: (Step.SUBSYSTEM, Step.SFTP_MKDIR),
    SftpRmdirStep.kind: (Step.SUBSYSTEM, Step.SFTP_RMDIR),
    SftpRenameStep.kind: (Step.SUBSYSTEM, Step.SFTP_RENAME),
    SftpRemoveStep.kind: (Step.SUBSYSTEM, Step.SFTP_REMOVE),
    ScpReadStep.kind: (Step.OPEN, Step.FIRST_BYTE, Step.READ, Step.CLOSE, Step.SCP_READ),
    ScpWriteStep.kind: (Step.OPEN, Step.WRITE, Step.CLOSE, Step.VERIFY, Step.SCP_WRITE),
    ShellStep.kind: (Step.CHANNEL_OPEN, Step.SHELL_START, Step.ECHO, Step.CLOSE, Step.SHELL),
    ForwardStep.kind: (Step.CHANNEL_OPEN, Step.ECHO, Step.CLOSE, Step.FORWARD),
    GitUploadPackStep.kind: (
        Step.CHANNEL_OPEN, Step.EXEC, Step.ADVERTISE, Step.FIRST_BYTE, Step.READ, Step.CLOSE, Step.GIT_UPLOAD_PACK,
    ),
}  # fmt: skip
_PARTS = frozenset(timing for timings in _TIMINGS.values() for timing in timings[:-1])
_NAMED_IN_LOCUSTFILE = re.compile(r"([a-z][A-Za-z0-9-]{0,29}[.])?[a-z][A-Za-z]{0,18}")
_MOST = 100_000
_LEAST_SHARE = "0.0001%"
_SHARE_BELOW = percentage(_LEAST_SHARE, "99.9999%")

_AnyThreshold = Threshold | CapacityThreshold | RelativeThreshold


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of a spec by what they are held against: a run, the capacity of a search, or a baseline."""

    of_run: tuple[Threshold, ...]
    of_capacity: tuple[CapacityThreshold, ...]
    relative: tuple[RelativeThreshold, ...]


def read_thresholds(value: Any, path: str) -> Thresholds:
    """Read the thresholds; whether there is such a timing is for `check_measured` to say."""
    found = items(_read_threshold, most=20)(value, path)
    return Thresholds(
        of_run=tuple(threshold for threshold in found if isinstance(threshold, Threshold)),
        of_capacity=tuple(threshold for threshold in found if isinstance(threshold, CapacityThreshold)),
        relative=tuple(threshold for threshold in found if isinstance(threshold, RelativeThreshold)),
    )


def check_measured(spec: LoadTestSpec) -> None:
    """Raise SpecError for a threshold on a timing that the run does not take, as far as that is known."""
    measured = set(_measured(spec))
    for threshold in (*spec.thresholds, *spec.relative_thresholds):
        if not isinstance(threshold, LatencyThreshold | RelativeLatency):
            continue
        step = threshold.step
        if step not in measured and (spec.locustfile is None or _NAMED_IN_LOCUSTFILE.fullmatch(step) is None):
            known = ", ".join(sorted(measured))
            raise SpecError("spec.thresholds", f"latency.step is {shown(step)}, but must be one of {known}")
        if spec.client.library is Library.OPENSSH and step.rpartition(".")[2] in _PARTS:
            raise SpecError(
                "spec.thresholds",
                f"the library openssh runs programs, whose parts cannot be told apart: latency.step is {shown(step)}",
            )


def check_aborting(spec: LoadTestSpec) -> None:
    """Raise SpecError for a threshold that is to end the load early where nobody can know in time that it is broken."""
    aborting = [
        one for one in spec.thresholds if isinstance(one, LatencyThreshold | ErrorRateThreshold) and one.abort_on_fail
    ]
    if not aborting:
        return
    if spec.capacity is not None or isinstance(spec.load, HoldLoad):
        raise SpecError(
            "spec.thresholds",
            "abortOnFail is for load.users, load.arrivals and load.burst: a search's trials are to break what is"
            " promised, and held sessions are judged when they end",
        )
    if spec.locustfile is not None and any(
        isinstance(one, LatencyThreshold) and one.step != Step.TOTAL for one in aborting
    ):
        raise SpecError(
            "spec.thresholds",
            "abortOnFail with a locustfile is for errorRate and the step total: how often a task takes another step"
            " is not known",
        )


def _measured(spec: LoadTestSpec) -> Iterator[str]:
    yield str(Step.TOTAL)
    yield from map(str, _LOGIN_STEPS)
    for place in range(1, len(spec.via) + 1):
        yield from (measured_step(f"via{place}", timing) for timing in _LOGIN_STEPS)
    if isinstance(spec.load, HoldLoad):
        yield from (measured_step("held", timing) for timing in _HELD_STEPS)
    for step in spec.scenario.steps:
        if not isinstance(step, SleepStep):
            yield from (measured_step(step.name, timing) for timing in _TIMINGS[step.kind])


def _read_threshold(value: Any, path: str) -> _AnyThreshold:
    readers: Mapping[str, Reader[_AnyThreshold]] = {
        "latency": _read_latency,
        "errorRate": _read_error_rate,
        "throughput": _least(ThroughputThreshold, RelativeThroughput),
        "capacity": _least(CapacityThreshold, RelativeCapacity),
    }
    fields = Fields(value, path)
    kind = fields.one_of(*readers)
    threshold = fields.required(kind, readers[kind])
    if fields.defaulted("abortOnFail", flag, default=False):
        if not isinstance(threshold, LatencyThreshold | ErrorRateThreshold):
            raise SpecError(
                fields.at("abortOnFail"), "is for latency.below and errorRate: what else may be promised, the end tells"
            )
        threshold = replace(threshold, abort_on_fail=True)
    fields.end()
    return threshold


def _read_latency(value: Any, path: str) -> _AnyThreshold:
    fields = Fields(value, path)
    step = fields.required("step", text(shortest=1, longest=50))
    percentile = fields.required("percentile", number(1, 99.999))
    threshold: _AnyThreshold
    if fields.one_of("below", "within") == "below":
        threshold = LatencyThreshold(step, percentile, below_s=fields.required("below", duration("1ms", "1h")))
    else:
        within = fields.required("within", percentage(_LEAST_SHARE, "900%"))
        threshold = RelativeLatency(step, percentile, within)
    fields.end()
    return threshold


def _read_error_rate(value: Any, path: str) -> _AnyThreshold:
    fields = Fields(value, path)
    threshold = ErrorRateThreshold(below=fields.required("below", percentage(_LEAST_SHARE, "100%")))
    fields.end()
    return threshold


def _least(
    absolute: Callable[[float], _AnyThreshold], relative: Callable[[float], _AnyThreshold]
) -> Reader[_AnyThreshold]:
    """Return the reader of a figure that is to be above an amount, or within a share of the baseline's."""

    def read(value: Any, path: str) -> _AnyThreshold:
        fields = Fields(value, path)
        if fields.one_of("above", "within") == "above":
            threshold = absolute(fields.required("above", number(0, _MOST)))
        else:
            threshold = relative(fields.required("within", _SHARE_BELOW))
        fields.end()
        return threshold

    return read
