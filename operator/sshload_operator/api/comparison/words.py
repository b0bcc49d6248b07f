"""The words of a comparison's status: phases, verdicts, conditions and reasons, each spelled here once."""

from enum import StrEnum, unique

from sshload_operator.state import Reason


@unique
class ComparisonPhase(StrEnum):
    """Where a comparison stands. Only FINISHED is terminal."""

    PENDING = "Pending"
    RUNNING = "Running"
    FINISHED = "Finished"


@unique
class ComparisonVerdict(StrEnum):
    """How far the results can be taken. It says nothing of which variant is better: the figures do."""

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


@unique
class Difference(StrEnum):
    """What the interval says of a variant's figure beside the first variant's. UNKNOWN: there is no interval."""

    NONE = "none"
    FASTER = "faster"
    SLOWER = "slower"
    HIGHER = "higher"
    LOWER = "lower"
    UNKNOWN = "unknown"
