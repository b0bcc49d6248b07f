"""The operator's words and the values between its stages: what is observed and announced.

The phases, condition types and reasons of a test are spelled here, once; those of other kinds in `api/status/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from sshload_contract.vocabulary import InPath, Invalidity

if TYPE_CHECKING:
    from sshload_contract.wire.master_log import MasterLog

Manifest = Mapping[str, Any]
WAITS_TO_BE_MADE = frozenset({"ContainerCreating", "PodInitializing"})
"""Why a container waits that nothing is known to be wrong with. The second one: for init containers before it."""

NO_SANDBOX = "FailedCreatePodSandBox"
"""Why a pod waits whose node cannot make what its containers share, such as a user namespace."""


@unique
class Phase(StrEnum):
    """Where a run stands. Only FINISHED is terminal."""

    PENDING = "Pending"
    PREPARING_TARGET = "PreparingTarget"
    STARTING_WORKERS = "StartingWorkers"
    RUNNING = "Running"
    COLLECTING = "Collecting"
    FINISHED = "Finished"


@unique
class ConditionType(StrEnum):
    """The conditions that every status carries. The last three are kstatus's, for Argo CD, Flux and `kubectl wait`."""

    TARGET_READY = "TargetReady"
    WORKERS_READY = "WorkersReady"
    COMPLETE = "Complete"
    PASSED = "Passed"
    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


@unique
class ConditionStatus(StrEnum):
    """Kubernetes' three-valued truth."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@unique
class Reason(StrEnum):
    """Why a status is as it is, for machines. The message beside it is for people and says what to change."""

    # under way
    TARGET_STARTING = "TargetStarting"
    TARGET_READY = "TargetReady"
    TARGET_EXTERNAL = "TargetExternal"
    WORKERS_STARTING = "WorkersStarting"
    WORKERS_CONNECTED = "WorkersConnected"
    LOAD_RUNNING = "LoadRunning"
    COLLECTING_RESULTS = "CollectingResults"
    CAUTION = "Caution"
    SUSPENDED = "Suspended"
    INSTALLATION_PAUSED = "InstallationPaused"
    QUEUED = "Queued"
    TARGET_NOT_READY = "TargetNotReady"
    RUN_FINISHED = "RunFinished"
    # Passed, Failed
    THRESHOLDS_MET = "ThresholdsMet"
    NO_THRESHOLDS = "NoThresholds"
    CAPACITY_FOUND = "CapacityFound"
    THRESHOLD_BROKEN = "ThresholdBroken"
    CAPACITY_BELOW_MIN = "CapacityBelowMin"
    ALL_FAILED = "AllFailed"
    MANY_FAILED = "ManyFailed"
    # Inconclusive
    TOO_FEW_SAMPLES = "TooFewSamples"
    TARGET_UNREAD = "TargetUnread"
    CAPACITY_ABOVE_MAX = "CapacityAboveMax"
    SEARCH_UNFINISHED = "SearchUnfinished"
    NO_BASELINE = "NoBaseline"
    BASELINE_DIFFERS = "BaselineDiffers"
    WITHIN_NOISE = "WithinNoise"
    # Invalid
    WORKER_LOST = Invalidity.WORKER_LOST.value
    NO_REQUESTS = Invalidity.NO_REQUESTS.value
    LATE_ARRIVALS = Invalidity.LATE_ARRIVALS.value
    ARRIVALS_DROPPED = Invalidity.ARRIVALS_DROPPED.value
    CPU_STOLEN = Invalidity.CPU_STOLEN.value
    GENERATOR_SATURATED = Invalidity.GENERATOR_SATURATED.value
    GENERATOR_FAULT = Invalidity.GENERATOR_FAULT.value
    SOURCE_PORTS_USED_UP = Invalidity.SOURCE_PORTS_USED_UP.value
    REPORTS_MISSING = Invalidity.REPORTS_MISSING.value
    COUNTS_DISAGREE = Invalidity.COUNTS_DISAGREE.value
    # Error
    INVALID_SPEC = "InvalidSpec"
    TARGET_NOT_ALLOWED = "TargetNotAllowed"
    NOT_PERMITTED = "NotPermitted"
    LOAD_IMPOSSIBLE = "LoadImpossible"
    LIMIT_EXCEEDED = "LimitExceeded"
    IMAGE_UNAVAILABLE = "ImageUnavailable"
    POD_REJECTED = "PodRejected"
    POD_CONFIG_ERROR = "PodConfigError"
    UNSCHEDULABLE = "Unschedulable"
    SSHD_CONFIG_REJECTED = "SshdConfigRejected"
    NO_USER_NAMESPACE = "NoUserNamespace"
    TARGET_FAILED = "TargetFailed"
    TARGET_NEVER_READY = "TargetNeverReady"
    TARGET_LOST = "TargetLost"
    TARGET_UNREACHABLE = "TargetUnreachable"
    TARGET_NAME_UNKNOWN = "TargetNameUnknown"
    LOGIN_FAILED = "LoginFailed"
    WORKERS_MISSING = "WorkersMissing"
    MASTER_LOST = "MasterLost"
    RESULTS_UNREADABLE = "ResultsUnreadable"
    CREDENTIALS_REJECTED = "CredentialsRejected"
    HOST_KEY_MISMATCH = "HostKeyMismatch"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    # Aborted
    ABORT_REQUESTED = "AbortRequested"
    DELETED = "Deleted"
    SPEC_CHANGED = "SpecChanged"


@unique
class Resource(StrEnum):
    """What a managed target can be short of: first what a machine has, then what sshd's configuration grants."""

    CPU = "cpu"
    MEMORY = "memory"
    PROCESSES = "processes"
    MAX_STARTUPS = "maxStartups"
    PENALTIES = "penalties"
    LISTEN_BACKLOG = "listenBacklog"
    MAX_SESSIONS = "maxSessions"


@unique
class Role(StrEnum):
    """What a child pod is, as its `sshload.dev/role` label says. Each program that may be in the path has one.

    `room` is what to do if no node has room for its pod. `lost` tells that it was lost while the load ran.
    """

    room: str
    lost: str

    def __new__(cls, value: str, room: str = "Add a node", lost: str = "") -> Self:
        """Make the role that is written as `value`."""
        role = str.__new__(cls, value)
        role._value_, role.room, role.lost = value, room, lost
        return role

    TARGET = "target", "Lower spec.target.managed.resources, or add a node", "the target was lost while the load ran"
    PROXY = (
        "proxy",
        "Add a node, or lower the chart's value proxy.resources",
        "the proxy in the path was lost while the load ran",
    )
    GATEWAY = (
        "gateway",
        "Add a node, or lower the chart's value gateway.runResources",
        "the gateway was lost while the load ran",
    )
    MASTER = "master"
    WORKER = (
        "worker",
        (
            "Lower spec.workers.resources (without them the chart's value worker.resources holds, by default a whole"
            " CPU), or add a node"
        ),
    )


DEPLOYED: Final = frozenset({Role.TARGET, *(Role(part) for part in InPath)})
"""The roles whose pods a Deployment makes, which makes them again; those of the others are of Jobs."""


class Amount(NamedTuple):
    """How much of a resource a container has, in its `requests` or its `limits`."""

    of: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What matters of one pod. `run_id` is its label's; strings are empty and numbers None where there is nothing.

    `run` is the number of its run that another label states, from which that id is made: 0 where none does.
    `controller_uid` is the uid of the Job or ReplicaSet that made it, empty outside of a cluster.
    `phase` is Succeeded or Failed as soon as the run's container has ended, even while an injected one runs on.
    `waiting_reason` and `waiting_message` are the container's (ImagePullBackOff, CreateContainerConfigError), or those
    of an injected container that it waits for. `blocked_message` says why the scheduler has not placed it,
    `termination_message` what the container left behind.
    `disruption` is the reason and message of its condition DisruptionTarget: an eviction, a preemption, a lost node.
    `resources` are those that its container has, as the kubelet tells them: empty before it does, and before 1.33.
    """

    name: str
    role: Role
    run_id: str
    controller_uid: str
    phase: str
    ready: bool
    deleting: bool
    restarts: int
    waiting_reason: str
    waiting_message: str
    blocked_message: str
    exit_code: int | None
    termination_message: str
    disruption: str = ""
    run: int = 0
    resources: tuple[Amount, ...] = ()

    @property
    def waits_to_be_made(self) -> bool:
        """Whether its container waits for an image, a mount or an injected init container, and does not say which."""
        return self.waiting_reason in WAITS_TO_BE_MADE


@dataclass(frozen=True, slots=True)
class ObservedBaseline:
    """Where a run's baseline was looked for: the SSHLoadTests that may be it, as the API server shows them.

    For a baseline that is named, that test or none; else, of the same schedule, the last one that fits and the oldest,
    or the newest where none fits. `problem` says why nobody could look, and is empty where somebody did.
    """

    tests: tuple[Manifest, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Observed:
    """All facts of one pass. `pods` are the test's, of any run; `log` is this run's master's, None while unreadable.

    `disrupted` are pods of the test that are gone after a disruption, as they were last.
    `rejected_message` is what the API server or a controller said of an object that could not be created (quota, Pod
    Security, a policy), else empty; `rejected_kind` is the kind of that object.
    `orphans` are the ids of runs of an earlier test of the same name, whose Jobs nobody owns any more.
    `baseline` is None until the run is over, and where the spec asks for none. `queued` is the position of a
    test in the queue for a run, 0 where it need not wait. `unread` says what could not be read in this pass, so that
    the facts may be old or missing, and is empty where all was read.
    """

    pods: tuple[PodFacts, ...]
    log: "MasterLog | None"
    rejected_message: str
    baseline: ObservedBaseline | None = None
    queued: int = 0
    unread: str = ""
    disrupted: tuple[PodFacts, ...] = ()
    rejected_kind: str = "Pod"
    orphans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Announcement:
    """A Kubernetes Event to be sent about an object. `warning` makes its type Warning, else Normal.

    It is sent once for each `occasion`: a scheduled time, a generation of the spec; empty for the object's run.
    """

    reason: StrEnum
    message: str
    warning: bool
    occasion: str = ""
