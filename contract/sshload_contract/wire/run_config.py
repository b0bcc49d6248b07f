"""RunConfig: everything that a master and its workers know about a run. Totals are over all workers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from itertools import accumulate
from random import Random
from typing import ClassVar, TypeAlias

from sshload_contract.allow_list import AllowList
from sshload_contract.bounds import WIRE_VERSION
from sshload_contract.client import Auth, Client
from sshload_contract.load import Load, Search
from sshload_contract.steps import Alternative, ScenarioStep
from sshload_contract.thresholds import Threshold
from sshload_contract.users import USER_MARK, Pick, UsersInTurn
from sshload_contract.vocabulary import InPath, measured_step, owner_and_timing


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An SSH server, the user who logs in, and the files for that. Paths that `auth` does not use are empty.

    An empty `passphrase_path` means that the private key is not encrypted, an empty `known_hosts_path` that any host
    key is accepted. If there are `users`, they log in, and the files are for those without credentials of their own:
    such paths may be empty too. With `user_ca_path`, the workers sign certificates by that key, as client.certificates
    has it. The run has revoked the keys of a `revoked_share` of the users (target.is_revoked).
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
    users: UsersInTurn | None = None
    keytab_path: str = ""
    ticket_cache_path: str = ""
    user_ca_path: str = ""
    user_ca_passphrase_path: str = ""
    totp_path: str = ""
    revoked_share: float = 0.0


@dataclass(frozen=True, slots=True)
class GatewayEndpoint:
    """The address of a gateway: an HTTP API that runs commands over SSH with one of the caller's `credential`s.

    With `tls` the certificate must be for `host`, and issued by an authority in the file at `ca_path`, or by a public
    one if that is empty. `path` is the prefix of the API's path ("" or "/ssh"). `token_path` is the file with the
    caller's token.
    """

    kind: ClassVar[str] = "gateway"
    tls: bool
    host: str
    port: int
    path: str
    credential: str
    token_path: str
    ca_path: str


TargetEndpoint: TypeAlias = Endpoint | GatewayEndpoint


@unique
class SessionReuse(StrEnum):
    """Who logs in: every iteration, every user once, or a pool whose sessions all iterations share.

    A pool logs in from the start order to the middle of the warm-up. Its logins count as warm-up, and not in the time
    of an iteration. If the target is a gateway, this says who opens an HTTP connection.
    """

    NONE = "none"
    USER = "user"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class Scenario:
    """What an iteration does: `steps`, or one task of a locustfile's users if `locustfile_path` is not empty.

    `{iteration}` in a path, command or text is replaced by a number that is unique in the run, and `{user}` by the name
    of the user who has logged in. `pool_sessions` is the total over all workers, 0 without a pool.
    """

    session_reuse: SessionReuse
    pool_sessions: int
    steps: tuple[ScenarioStep, ...]
    locustfile_path: str
    alternatives: tuple[Alternative, ...] = ()

    @property
    def mixes(self) -> tuple[tuple[ScenarioStep, ...], ...]:
        """The steps of an iteration, in their order, for each alternative; all of them if there are none."""
        listed = {name for alternative in self.alternatives for name in alternative.steps}
        return tuple(
            tuple(step for step in self.steps if step.name not in listed or step.name in alternative.steps)
            for alternative in self.alternatives
        ) or (self.steps,)

    def choices(self, worker: int) -> Iterator[tuple[ScenarioStep, ...]]:
        """Yield the steps of each of a worker's iterations, chosen by the weights: the same ones in every run."""
        random = Random(worker)  # noqa: S311 - a choice, no secret
        mixes, weights = self.mixes, list(accumulate(alternative.weight for alternative in self.alternatives))
        while True:
            yield mixes[0] if len(mixes) == 1 else random.choices(mixes, cum_weights=weights)[0]

    @property
    def names_users(self) -> bool:
        """Whether a step has the user's name in a command, path or text."""
        return any(USER_MARK in repr(step) for step in self.steps)

    @property
    def slept_s(self) -> float:
        """The total duration of the sleeps of one iteration."""
        return sum(step.slept_s for step in self.steps)

    def samples_of(self, measured: str) -> int:
        """Return how many samples of a timing one iteration has."""
        taken = ((step, timing) for step in self.steps for timing in step.timings)
        return next((step.samples_of(part) for step, part in taken if measured_step(step.name, part) == measured), 1)

    def share_of(self, measured: str) -> float:
        """Return the share of the iterations that do the step of a timing, by the weights; 1 for other timings."""
        step = owner_and_timing(measured)[0] or measured
        if all(step not in alternative.steps for alternative in self.alternatives):
            return 1.0
        chosen = sum(alternative.weight for alternative in self.alternatives if step in alternative.steps)
        return chosen / sum(alternative.weight for alternative in self.alternatives)

    @property
    def only_logs_in(self) -> bool:
        """Whether an iteration logs in anew, and the server does nothing else for it."""
        is_known = not self.locustfile_path and not any(step.timings for step in self.steps)
        return is_known and self.session_reuse is SessionReuse.NONE


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run, as the master and each worker read it from `--config`.

    `run_id` assigns a summary to its run. `token_path` is the file with the run's token. `via` are the jump hosts, in
    the order of the connections. `percentiles` are those to be published (50.0, 99.9). `stats_url` is the URL of the
    managed target's `/stats`, empty for an external one. `in_path` has the URLs of the programs that the run deploys in
    the path to the target. `workers` counts processes, of which each pod runs `processes_per_pod`.

    A trial of a search must meet the `thresholds`, and has a warm-up and a drain of its own. Any other load is one
    trial, and nothing is judged before its end. `drain_s` limits the wait for iterations in flight at the end of the
    load. `start_lead_s` is the time between the start order and the agreed start.

    `pause_after_s` is when, after the start of each load, the target is asked to let its directory pause; None: never.

    With `log_in_first` each worker logs in once to every server of the path before the load, and a login that fails
    ends the run. A run of a locustfile has no such login, because it is not known what the locustfile does.

    `allow_list` is checked before a worker connects to any server but a managed target, and before a server is asked
    for the connection of a `forward` step. It is None if users run the workers on a machine of their own
    (`sshload run`), because they may connect to whatever that machine can reach.
    """

    version: int = field(default=WIRE_VERSION, kw_only=True)
    run_id: str
    token_path: str
    namespace: str
    test: str
    target: TargetEndpoint
    via: tuple[Endpoint, ...]
    allow_list: AllowList | None
    stats_url: str
    client: Client
    scenario: Scenario
    load: Load | Search
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
    pause_after_s: float | None = None

    @property
    def trial_load(self) -> Load:
        """The load of the trial that this config is of; of a whole search, its smallest."""
        return self.load.least

    @property
    def ends_with_users(self) -> bool:
        """Whether the load ends when each user has logged in once."""
        users = self.target.users if isinstance(self.target, Endpoint) else None
        return users is not None and users.pick is Pick.ONCE_PER_USER

    @property
    def is_managed(self) -> bool:
        """Whether the target is the run's own."""
        return bool(self.stats_url)
