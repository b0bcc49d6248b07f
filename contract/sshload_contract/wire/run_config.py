"""RunConfig: everything that a master and its workers know of a run. Totals are over all workers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import ClassVar

from sshload_contract.allow_list import AllowList
from sshload_contract.client import Auth, Client
from sshload_contract.load import Load
from sshload_contract.steps import ScenarioStep, SleepStep
from sshload_contract.thresholds import Capacity, Threshold
from sshload_contract.vocabulary import InPath

RUN_CONFIG_VERSION = 9


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where SSH is spoken, as whom, and by which files, those that `auth` does not use being empty.

    An empty `passphrase_path` means that the private key is not encrypted, an empty `known_hosts_path`: accept any
    host key.
    """

    kind: ClassVar[str] = "ssh"
    host: str
    port: int
    user: str
    auth: Auth
    private_key_path: str
    certificate_path: str
    passphrase_path: str
    password_path: str
    known_hosts_path: str


@dataclass(frozen=True, slots=True)
class GatewayEndpoint:
    """Where a gateway answers: an HTTP API that runs commands over SSH, with one of the caller's `credential`s.

    With `tls` the certificate must be for `host`, by an authority of the file at `ca_path`, or a public one where that
    is empty. `path` stands before that of the API ("" or "/ssh"). `token_path` is the file with the caller's token.
    """

    kind: ClassVar[str] = "gateway"
    tls: bool
    host: str
    port: int
    path: str
    credential: str
    token_path: str
    ca_path: str


@unique
class SessionReuse(StrEnum):
    """Who logs in: every iteration, every user once, or a pool whose sessions all iterations share.

    A pool logs in from the start order to the middle of the warm-up, which counts as warm-up and in no iteration's
    time. Where the target is a gateway, this says who opens an HTTP connection.
    """

    NONE = "none"
    USER = "user"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an iteration does: `steps`, or one task of a locustfile's users where `locustfile_path` is not empty.

    `{iteration}` in a path, command or text is replaced by a number that no other iteration of the run has.
    `pool_sessions` is over all workers, 0 without a pool.
    """

    session_reuse: SessionReuse
    pool_sessions: int
    steps: tuple[ScenarioStep, ...]
    locustfile_path: str

    @property
    def slept_s(self) -> float:
        """How long the sleeps of one iteration last together."""
        return sum(step.duration_s for step in self.steps if isinstance(step, SleepStep))


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run, as the master and each worker read it from `--config`.

    `run_id` ties a summary to its run. `token_path` is the file with the run's token. `via` are the jump hosts, in the
    order in which they are passed. `percentiles` are those to be published (50.0, 99.9). `stats_url` is the managed
    target's `/stats`, empty for an external one, and `in_path` are those of what the run has in the path to it.
    `workers` counts processes, of which each pod runs
    `processes_per_pod`. With `capacity` the run is a search, `load` its first and least trial, and `thresholds` are
    what a trial has to keep; the warm-up and the drain are each trial's. Else there is one load, and nothing is judged
    before its end. `drain_s` bounds the wait for iterations in flight at the end of the load. `start_lead_s` is the
    time between the start order and the agreed start instant.

    With `log_in_first` each worker logs in once to every server of the way before the load, and a login that fails ends
    the run. What a locustfile does is its own, so a run of one has no such login.

    `allow_list` is checked before a worker connects to any server but a managed target, and before a server is asked
    for the connection of a `forward` step. It is None where the user runs the workers on a machine of his
    own (`sshload run`): what that machine may reach, he may.
    """

    version: int
    run_id: str
    token_path: str
    namespace: str
    test: str
    target: Endpoint | GatewayEndpoint
    via: tuple[Endpoint, ...]
    allow_list: AllowList | None
    stats_url: str
    client: Client
    scenario: Scenario
    load: Load
    capacity: Capacity | None
    thresholds: tuple[Threshold, ...]
    warm_up_s: float
    workers: int
    processes_per_pod: int
    workers_timeout_s: float
    start_lead_s: float
    drain_s: float
    percentiles: tuple[float, ...]
    log_in_first: bool
    in_path: Mapping[InPath, str] = field(default_factory=dict)

    @property
    def is_managed(self) -> bool:
        """Whether the target is the run's own."""
        return bool(self.stats_url)
