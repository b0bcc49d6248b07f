"""The status of an SSHLoadTestComparison, and its words: phases, verdicts, conditions and reasons."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum, unique
from typing import Annotated, ClassVar, Final

from sshload_contract.declared import Absent, Entries, Items, Text
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.comparison.spec import MOST_VARIANTS
from sshload_operator.api.status.figures import (
    Amount,
    AnyNumber,
    Count,
    ObjectName,
    Ordinal,
    ReasonWord,
    StepName,
    Time,
    Uid,
)
from sshload_operator.api.status.head import Column, Condition, RunStatus
from sshload_operator.api.status.results import Agreement
from sshload_operator.state import Reason

MOST_FIGURES: Final = 200
MOST_REPEATS: Final = 2
"""How often a test whose generator lagged is made again."""
MOST_AGREED: Final = 3
"""How many combinations of algorithms are kept of a test: there may be 200 tests."""
_VariantName = Annotated[str, Text(20)]


@unique
class ComparisonPhase(StrEnum):
    """Where a comparison stands. Only FINISHED is terminal."""

    PENDING = "Pending"
    RUNNING = "Running"
    FINISHED = "Finished"


@unique
class ComparisonVerdict(StrEnum):
    """Whether you can rely on the results. It says nothing of which variant is better: the figures do."""

    CONCLUSIVE = "Conclusive"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"
    ABORTED = "Aborted"


@unique
class ComparisonCondition(StrEnum):
    """The conditions of every status; the last three are kstatus's."""

    COMPLETE = "Complete"
    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


@unique
class ComparisonReason(StrEnum):
    """Why a comparison's status is as it is, for machines."""

    # under way
    OLD_TESTS_GOING = "OldTestsGoing"
    PODS_GOING = "PodsGoing"
    TEST_STARTING = "TestStarting"
    TEST_RUNNING = "TestRunning"
    # Conclusive
    COMPARED = "Compared"
    # Inconclusive
    TESTS_NOT_MEASURED = "TestsNotMeasured"
    TOO_FEW_ROUNDS = "TooFewRounds"
    # Error
    VARIANT_NOT_MEASURED = "VariantNotMeasured"
    INVALID_SPEC = Reason.INVALID_SPEC.value
    TARGET_NOT_ALLOWED = Reason.TARGET_NOT_ALLOWED.value
    NOT_PERMITTED = Reason.NOT_PERMITTED.value
    LOAD_IMPOSSIBLE = Reason.LOAD_IMPOSSIBLE.value
    TEST_REFUSED = "TestRefused"
    NAME_TAKEN = "NameTaken"
    # Aborted
    ABORT_REQUESTED = Reason.ABORT_REQUESTED.value
    DELETED = Reason.DELETED.value


@unique
class Difference(StrEnum):
    """What the interval says of a variant's figure beside the first variant's. UNKNOWN: there is no interval."""

    NONE = "none"
    FASTER = "faster"
    SLOWER = "slower"
    HIGHER = "higher"
    LOWER = "lower"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigure:
    """One figure."""

    figure: Annotated[
        str,
        Text(64),
        "Its name in an SSHLoadTest's results, with its unit: errorPercent, completedRate, cpuPerLoginMs,"
        " cpuPerIterationMs, memoryPeakBytes, memoryPerSessionBytes, capacity; for a step p50Ms, p90Ms and p99Ms, for a"
        " whole step meanMs too. Figures of results.generator, results.proxy and results.gateway have a prefix:"
        " generatorCpuPerIterationMs, generatorMemoryPeakBytes, proxyCpuPerLoginMs, proxyCpuPerIterationMs,"
        " proxyMemoryPeakBytes, gatewayCpuPerIterationMs, gatewayMemoryPeakBytes.",
    ]
    step: Annotated[StepName, Absent(""), "The step that it belongs to. Absent if it belongs to the whole test."] = ""
    value: Annotated[AnyNumber, "The median over the variant's tests."]
    rounds: Annotated[Count, "The number of rounds in which both this variant and its reference have it."]
    ratio: Annotated[Amount | None, "The geometric mean of the rounds' ratios to the reference."] = None
    points: Annotated[
        AnyNumber | None,
        "For errorPercent, instead of the ratio: the mean difference from the reference in percentage points.",
    ] = None
    low: Annotated[
        AnyNumber | None,
        "The lower end of the ratio's (or difference's) 95 % confidence interval. Absent with fewer than three rounds.",
    ] = None
    high: Annotated[AnyNumber | None, "The upper end."] = None
    difference: Annotated[
        Difference | None,
        "What the interval says: none (it contains 1, or 0 for points), faster or slower (latencies), higher or lower"
        " (all other figures), unknown (there is no interval).",
    ] = None
    difference_ms: Annotated[
        AnyNumber | None,
        "For a latency, the mean difference from the reference.",
    ] = None
    low_ms: Annotated[
        AnyNumber | None,
        "Its lower end.",
    ] = None
    high_ms: Annotated[AnyNumber | None, "The upper end."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """One variant."""

    name: Annotated[_VariantName, "Its name."]
    value: Annotated[str, Text(200), Absent(""), "Its value of the swept field. Absent without a sweep."] = ""
    reference: Annotated[_VariantName, Absent(""), "Its reference, if not the first."] = ""
    tests: Annotated[Count, "Its finished tests."]
    measured: Annotated[Count, "The number of these tests that were measured."]
    verdicts: Annotated[
        Mapping[str, Annotated[Count, "The number of tests."]],
        Entries(most=6),
        "How many of its tests ended in each verdict.",
    ]
    figures: Annotated[
        tuple[ComparedFigure, ...],
        Items(most=MOST_FIGURES),
        "What was measured, those of whole tests first.",
    ]


@dataclass(frozen=True, slots=True)
class ComparisonResults:
    """The variants beside each other, as far as their tests are over."""

    variants: Annotated[tuple[VariantResult, ...], Items(most=MOST_VARIANTS), "Each variant, the first one first."]
    swept: Annotated[
        str, Text(200), Absent(""), "The field that has another value in each variant. Absent without a sweep."
    ] = ""

    def reference_of(self, variant: VariantResult) -> VariantResult:
        """Return the variant that this one is compared with: the first one, unless it names another that is there."""
        return next((one for one in self.variants if one.name == variant.reference), self.variants[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One test."""

    __test__ = False  # not a pytest class

    test: Annotated[ObjectName, "The SSHLoadTest's name."]
    round: Annotated[Ordinal, "The round that it belongs to."]
    variant: Annotated[_VariantName, "The variant that it measured."]
    verdict: Annotated[Verdict, "Its verdict."]
    reason: Annotated[str, Text(100), Absent(""), "The verdict's reason."] = ""
    problem: Annotated[str, Text(500), Absent(""), "Why it gave no figures. Absent if it gave some."] = ""
    uid: Annotated[
        Uid,
        Absent(""),
        "The uid of a test whose generator lagged, so that it gave no figures. It is made again, at most twice.",
    ] = ""
    repeats: Annotated[Count, Absent(0), "How many earlier tests in its place lagged. Absent if none did."] = 0
    figures: Annotated[
        Mapping[str, Annotated[AnyNumber, "The figure."]],
        Entries(most=200),
        Absent({}),
        "Its figures. Figures of a step have its name as a prefix, such as login.p50Ms. If there are too many, parts"
        " of steps are left out.",
    ] = field(default_factory=dict)
    negotiated: Annotated[
        tuple[Agreement, ...],
        Items(most=MOST_AGREED),
        Absent(()),
        "What its logins agreed on, the most frequent combinations first. Absent if it gave no figures.",
    ] = ()

    @property
    def lagged(self) -> bool:
        """Whether it gave no figures because its generator lagged."""
        return bool(self.uid)

    @property
    def is_repeated(self) -> bool:
        """Whether another test takes its place."""
        return self.lagged and self.repeats < MOST_REPEATS


def negotiated_in(tests: Iterable[TestRun], variant: str) -> tuple[Agreement, ...]:
    """Return what the logins of a variant's tests agreed on, counted over all of them, the most frequent first."""
    counts: Counter[Agreement] = Counter()
    for test in tests:
        for one in test.negotiated if test.variant == variant else ():
            counts[replace(one, count=1)] += one.count
    return tuple(replace(one, count=count) for one, count in counts.most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonStatus(RunStatus):
    """How the comparison stands and what it found."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("Phase", ".status.phase"),
        Column("Verdict", ".status.verdict", "Whether you can rely on the results."),
        Column("Progress", ".status.progress"),
        Column("Test", ".status.test"),
        Column("Reason", ".status.reason", wide=True),
        Column("Message", ".status.message", wide=True),
    )
    phase: Annotated[ComparisonPhase | None, "The state of the comparison. Only Finished is terminal."] = None
    verdict: Annotated[
        ComparisonVerdict | None,
        "Whether you can rely on the results: Conclusive (every test was measured, in three rounds or more),"
        " Inconclusive (some were not, or there were fewer rounds), Error (a variant was not measured at all),"
        " Aborted. It does not say which variant is better.",
    ] = None
    reason: Annotated[ReasonWord, Absent(""), "Why the status is as it is, in one word for machines."] = ""
    start_time: Annotated[Time | None, "When the current run was started."] = None
    round: Annotated[Count, Absent(0), "The round that is under way, or was the last."] = 0
    test: Annotated[ObjectName, Absent(""), "The SSHLoadTest that is under way."] = ""
    progress: Annotated[str, Text(20), Absent(""), "Finished tests of all, such as 3/10."] = ""
    conditions: Annotated[
        tuple[Condition[ComparisonCondition], ...],
        Items(most=4, key=("type",)),
        Absent(()),
        "Complete; and kstatus's Ready, Reconciling and Stalled, for Argo CD, Flux and `kubectl wait`.",
    ] = ()
    results: ComparisonResults | None = None
    tests: Annotated[
        tuple[TestRun, ...],
        Items(most=200),
        Absent(()),
        "Each finished test, with the figures that the results are computed from.",
    ] = ()

    @property
    def is_finished(self) -> bool:
        """Whether the run is over."""
        return self.phase is ComparisonPhase.FINISHED

    @property
    def is_aborted(self) -> bool:
        """Whether the run was ended by request."""
        return self.verdict is ComparisonVerdict.ABORTED
