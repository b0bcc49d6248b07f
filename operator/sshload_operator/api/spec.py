"""LoadTestSpec: the spec of an SSHLoadTest as values. `parse.parse` makes it; defaults are the CRD's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sshload_contract.capacity import Capacity
from sshload_contract.load import Load
from sshload_contract.run_config import Auth, Client, Scenario
from sshload_contract.target_config import DirectoryFixture, FileFixture, RepositoryFixture
from sshload_contract.thresholds import Threshold


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and with what a pod runs: Kubernetes' own objects, handed through as they are."""

    resources: Mapping[str, Any]
    node_selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, Any], ...]
    affinity: Mapping[str, Any]
    topology_spread_constraints: tuple[Mapping[str, Any], ...]
    priority_class_name: str


@dataclass(frozen=True, slots=True)
class Sshd:
    """The typed knobs of sshd_config(5), None where sshd's own default is to hold; `extra_config` is taken verbatim."""

    max_startups: str | None
    max_sessions: int | None
    per_source_max_startups: str | None
    per_source_penalties: str | None
    login_grace_time_s: float | None
    use_dns: bool | None
    kex_algorithms: tuple[str, ...]
    ciphers: tuple[str, ...]
    macs: tuple[str, ...]
    host_key_algorithms: tuple[str, ...]
    compression: str | None
    rekey_limit: str | None
    log_level: str
    sftp_subsystem: str
    extra_config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ManagedTarget:
    """A target that the operator makes. Empty `image` means the installation's.

    `spare_bytes` is the room in the user's home beside the fixtures.
    """

    image: str
    image_pull_secrets: tuple[str, ...]
    placement: Placement
    sshd: Sshd
    files: tuple[FileFixture, ...]
    directories: tuple[DirectoryFixture, ...]
    repositories: tuple[RepositoryFixture, ...]
    spare_bytes: int


@dataclass(frozen=True, slots=True)
class ExternalTarget:
    """A server that exists: the target, or a jump host before it. Its Secret holds what `auth` needs.

    With `encrypted_key` the Secret holds the private key's passphrase too. Known hosts are in the other Secret; its
    name is empty only with `insecure_ignore_host_key`.
    """

    host: str
    port: int
    user: str
    credentials_secret: str
    encrypted_key: bool
    known_hosts_secret: str
    insecure_ignore_host_key: bool
    auth: Auth


Target = ManagedTarget | ExternalTarget


@dataclass(frozen=True, slots=True)
class CapacityThreshold:
    """The capacity that a search finds is to be above this amount."""

    kind: ClassVar[str] = "capacity"
    above: float


@dataclass(frozen=True, slots=True)
class RelativeLatency:
    """The percentile of a step is to be at most this fraction above the baseline's."""

    kind: ClassVar[str] = "relativeLatency"
    step: str
    percentile: float
    within: float


@dataclass(frozen=True, slots=True)
class RelativeThroughput:
    """Iterations completed per second are to be at most this fraction below the baseline's."""

    kind: ClassVar[str] = "relativeThroughput"
    within: float


@dataclass(frozen=True, slots=True)
class RelativeCapacity:
    """The capacity is to be at most this fraction below the baseline's."""

    kind: ClassVar[str] = "relativeCapacity"
    within: float


RelativeThreshold = RelativeLatency | RelativeThroughput | RelativeCapacity


@dataclass(frozen=True, slots=True)
class Baseline:
    """What relative thresholds are held against: a test in the same namespace.

    An empty `test` means the last one of the same schedule that passed.
    """

    test: str


@dataclass(frozen=True, slots=True)
class LocustfileRef:
    """The key of a ConfigMap that holds a locustfile."""

    config_map: str
    key: str


@dataclass(frozen=True, slots=True)
class Workers:
    """The load pods. Empty `image` means the installation's.

    `processes_per_pod` None means one for each whole CPU that a pod asks for.
    """

    replicas: int
    processes_per_pod: int | None
    image: str
    image_pull_secrets: tuple[str, ...]
    placement: Placement


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """How long a finished test is kept, in seconds, by verdict; None: for ever."""

    passed_s: float | None
    failed_s: float | None


@dataclass(frozen=True, slots=True)
class LoadTestSpec:
    """A whole SSHLoadTest spec. A change of `triggers` is a new run, and nothing else."""

    target: Target
    via: tuple[ExternalTarget, ...]
    auth: Auth
    client: Client
    scenario: Scenario
    locustfile: LocustfileRef | None
    load: Load
    capacity: Capacity | None
    warm_up_s: float
    thresholds: tuple[Threshold, ...]
    capacity_thresholds: tuple[CapacityThreshold, ...]
    relative_thresholds: tuple[RelativeThreshold, ...]
    baseline: Baseline | None
    workers: Workers
    deadline_s: float
    start_timeout_s: float
    time_to_live: TimeToLive
    triggers: Mapping[str, str]
    abort: bool
    suspend: bool
    login_before_load: bool = True
