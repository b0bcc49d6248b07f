"""The status of an SSHLoadTest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from sshload_contract.declared import Absent, Items, Text
from sshload_contract.vocabulary import MEASURED_VERDICTS, Verdict
from sshload_contract.wire.master_log import MOST_FAILURE_KINDS, Stage

from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.capacity import CapacityStatus, SearchStatus
from sshload_operator.api.status.figures import (
    Amount,
    Count,
    ObjectName,
    Percent,
    ReasonWord,
    Time,
)
from sshload_operator.api.status.head import Column, Condition, RunStatus
from sshload_operator.api.status.installed import InstalledResources
from sshload_operator.api.status.results import Results
from sshload_operator.api.status.thresholds import ThresholdStatus
from sshload_operator.state import ConditionType, Phase


@dataclass(frozen=True, slots=True)
class FailuresSoFar:
    """Failures of one outcome."""

    outcome: Annotated[str, Text(64), "How they ended (refused, throttled, authRejected and so on)."]
    count: Annotated[Count, "How often."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of the current run."""

    stage: Annotated[Stage | None, "Which part of the run it is."] = None
    elapsed_seconds: Annotated[Amount, "Time since the start of the load."]
    remaining_seconds: Annotated[Amount, "Time to the end of the load."]
    workers_connected: Annotated[Count, "Workers connected to the master."]
    users: Annotated[Count, "Concurrent users, by the workers' last reports. 0 in open models."]
    held: Annotated[Count | None, "Sessions held, by the workers' last reports (load.hold only)."] = None
    in_flight: Annotated[Count, "Iterations under way, by the workers' last reports."]
    offered_rate: Annotated[
        Amount, "Iterations per second that the load model asked for, of the load that workers reported last."
    ]
    completed_rate: Annotated[Amount, "Iterations per second that succeeded, of the load that workers reported last."]
    iterations: Annotated[Count, "Iterations ended, by the workers' last reports."]
    failures: Annotated[Count, "Failed iterations, by the workers' last reports."]
    p50_ms: Annotated[Amount | None, "The median of the whole iteration so far, successes only."] = None
    recent_p50_ms: Annotated[Amount | None, "The same, of the load that workers reported last."] = None
    p99_ms: Annotated[Amount | None, "The 99th percentile of the whole iteration so far, successes only."] = None
    error_percent: Annotated[Percent | None, "The share of failed iterations so far."] = None
    failure_kinds: Annotated[
        tuple[FailuresSoFar, ...],
        Items(most=MOST_FAILURE_KINDS, key=("outcome",)),
        Absent(()),
        "Failures so far by their outcome, the most frequent first.",
    ] = ()
    search: SearchStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineStatus:
    """The test that the thresholds with within compare with."""

    test: Annotated[ObjectName, "Its name."]
    uid: Annotated[str, Text(64), Absent(""), "Its uid. Another test of the same name has another one."] = ""
    verdict: Annotated[Verdict | None, "Its verdict."] = None
    completion_time: Annotated[Time | None, "When its run was finished."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestHead(RunStatus):
    """Where a test stands, without what its run has measured."""

    __test__ = False  # not a pytest class

    phase: Annotated[Phase | None, "The state of the run. Only Finished is terminal."] = None
    verdict: Annotated[
        Verdict | None,
        "What the finished run says: Passed (every threshold met), Failed (a threshold broken), Inconclusive (too few"
        " samples to say), Invalid (the measurement cannot be trusted), Error (it could not be measured), Aborted.",
    ] = None
    reason: Annotated[ReasonWord, Absent(""), "Why the status is as it is, in one word for machines."] = ""
    start_time: Annotated[Time | None, "When the current run was started."] = None
    conditions: Annotated[
        tuple[Condition[ConditionType], ...],
        Items(most=7, key=("type",)),
        Absent(()),
        "TargetReady and WorkersReady (after the run, only the one that explains its end); Complete and Passed; and"
        " kstatus's Ready, Reconciling and Stalled, for Argo CD, Flux and `kubectl wait`.",
    ] = ()
    progress: Progress | None = None
    installed: InstalledResources | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run is over."""
        return self.phase is Phase.FINISHED

    @property
    def is_aborted(self) -> bool:
        """Whether the run was ended by request."""
        return self.verdict is Verdict.ABORTED


@dataclass(frozen=True, slots=True, kw_only=True)
class TestStatus(TestHead):
    """What became of the test. Only the operator writes it.

    Units stand in the names: Ms is milliseconds, Seconds seconds, Percent 0 to 100, Bytes bytes, Rate per second.
    A figure that could not be stated (too few samples, nothing seen) is absent, never null and never 0.
    """

    __test__ = False  # not a pytest class
    columns: ClassVar[tuple[Column, ...]] = (
        Column("Phase", ".status.phase"),
        Column("Verdict", ".status.verdict", "What the finished run says."),
        Column("Rate", ".status['results','progress'].completedRate", "Iterations completed per second."),
        Column("P99ms", ".status['results','progress'].p99Ms"),
        Column("Error%", ".status['results','progress'].errorPercent"),
        Column("Capacity", ".status.capacity.inWords"),
        Column("Reason", ".status.reason", wide=True),
        Column("Message", ".status.message", wide=True),
    )
    results: Results | None = None
    capacity: CapacityStatus | None = None
    thresholds: Annotated[
        tuple[ThresholdStatus, ...],
        Items(most=20),
        Absent(()),
        "The judged thresholds in the order of the spec. Those on the capacity come after the others, and those"
        " within a baseline come last.",
    ] = ()
    baseline: BaselineStatus | None = None
    results_config_map: Annotated[
        ObjectName,
        Absent(""),
        "The ConfigMap with the whole summary. It lives until the test is run again or deleted.",
    ] = ""

    @property
    def capacity_in_words(self) -> str | None:
        """What is known of the capacity, None if nothing is."""
        return None if self.capacity is None else self.capacity.in_words

    @property
    def judged(self) -> tuple[ThresholdStatus, ...]:
        """The thresholds as they count. In a run that was not measured, none is judged, whatever was observed."""
        if self.verdict in MEASURED_VERDICTS:
            return self.thresholds
        return tuple(map(self._unjudged, self.thresholds))

    def _unjudged(self, one: ThresholdStatus) -> ThresholdStatus:
        if one.value is None and one.met is None:
            return one
        return replace(one, met=None, message=f"{one.message}; not judged: {self.verdict or 'no verdict'}")


def head_of(test: Mapping[str, Any]) -> TestHead:
    """Return where a test stands, as its object says."""
    return read_fitting(TestHead, test.get("status"))
