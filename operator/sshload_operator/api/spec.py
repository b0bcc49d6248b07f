"""The spec of an SSHLoadTest: as it is written (`WrittenSpec`), and as values (`LoadTestSpec`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args

from sshload_contract.client import (
    BY_KEY_IN_CEL,
    WITHOUT_TICKETS,
    Auth,
    Certificates,
    Client,
    Library,
    having,
    in_cel,
    listed,
)
from sshload_contract.declared import (
    Absent,
    Check,
    Default,
    Duration,
    Entries,
    Items,
    Named,
    Permission,
    Rule,
    Text,
    TrueOnly,
    Whole,
    WrittenAs,
    exactly_one,
)
from sshload_contract.load import Load, Search
from sshload_contract.names import ConfigMapFile, ConfigMapKey, ConfigMapName
from sshload_contract.steps import Alternative, ScenarioStep
from sshload_contract.thresholds import CapacityThreshold, Threshold
from sshload_contract.wire.run_config import Scenario, SessionReuse

from sshload_operator.api.names import NAME_CHARACTERS, NAME_PATTERN
from sshload_operator.api.pods import Pods
from sshload_operator.api.search import WrittenSearch, search_budget_s
from sshload_operator.api.shapes.errors import naming
from sshload_operator.api.shapes.reading import permissions_of, permissions_taken, stated
from sshload_operator.api.targets import JumpHost, ManagedTarget, Server, Target, UserCa
from sshload_operator.api.targets.ldap import LdapPause
from sshload_operator.api.thresholds import RelativeThreshold, WrittenThreshold
from sshload_operator.api.users import Users

LOCUSTFILE: Final = "locustfile.py"
TRACE: Final = "trace.txt"
"""What the workers call the files that ConfigMaps hold for them."""

_SESSIONS_MOST: Final = 100_000
_KINDS: Final = [step.kind for step in ScenarioStep.__args__ if step.timings]
_FIRST_KIND, *_OTHER_KINDS = _KINDS
_NAME_IN_CEL: Final = f"s.?{_FIRST_KIND}.?name{''.join(f'.or(s.?{kind}.?name)' for kind in _OTHER_KINDS)}.orValue('')"
_LOADS: Final = ", ".join(load.kind for load in get_args(Load))
_TTL = Duration("0s", "87600h")


@dataclass(frozen=True, slots=True)
class LocustfileRef:
    """A Locust file whose users are built on sshload's SSHUser, in place of steps."""

    config_map: Annotated[ConfigMapName, Named("configMapRef"), "The ConfigMap of this namespace that holds the file."]
    key: Annotated[ConfigMapKey, Default("locustfile.py"), "Its key in the ConfigMap."]


def _repeated(steps: tuple[ScenarioStep, ...]) -> list[str]:
    names = [step.name for step in steps if step.timings]
    return [name for name in names if name and names.count(name) > 1]


def _nowhere(scenario: "WrittenScenario") -> list[str]:
    """Return the names in alternatives that no step has."""
    names = {step.name for step in scenario.steps or () if step.timings}
    return [name for alternative in scenario.alternatives for name in alternative.steps if name not in names]


_Steps: TypeAlias = Annotated[
    tuple[Annotated[ScenarioStep, "One step: exactly one of the kinds below."], ...],
    Items(most=15),
    Rule(
        f"[self.filter(s, !has(s.sleep)).map(s, {_NAME_IN_CEL})].all(names, names.all(n,"
        " (n != '' || names.size() < 2) && names.indexOf(n) == names.lastIndexOf(n)))",
        "each step but sleep must have a name if there are several, and the names must differ",
        explain=lambda steps: naming("the names of steps must differ, and {} is repeated", _repeated(steps)),
    ),
]


@dataclass(frozen=True, slots=True)
class WrittenScenario:
    """What each iteration does: exactly one of steps and locustfile."""

    rules: ClassVar[tuple[Rule | Check, ...]] = (
        exactly_one("steps", "locustfile"),
        Rule(
            "(has(self.sessionReuse) && self.sessionReuse == 'pool') == has(self.poolSize)",
            "is required with sessionReuse pool, and only then",
            at=".poolSize",
        ),
        Rule(
            "!has(self.alternatives) || has(self.steps)"
            f" && [self.steps.filter(s, !has(s.sleep)).map(s, {_NAME_IN_CEL})]"
            ".all(names, self.alternatives.all(a, a.steps.all(n, n in names)))",
            "no step of spec.scenario.steps has one of the names",
            at=".alternatives",
            explain=lambda scenario: naming("no step of spec.scenario.steps has the name {}", _nowhere(scenario)),
        ),
    )
    session_reuse: Annotated[
        SessionReuse,
        Default("none"),
        "When logins happen. none: at each iteration; user: once for each user of load.users; pool: all iterations"
        " share poolSize sessions, each iteration with its own channels.",
    ]
    pool_size: Annotated[
        int | None,
        Whole(1, _SESSIONS_MOST, read_by_rule=True),
        "Sessions in the pool, over all workers. At least one for each worker process.",
    ]
    locustfile: Annotated[LocustfileRef | None, Permission("locustfiles", by_default=True)]
    steps: Annotated[
        _Steps | None,
        "What is done after the login, in order. Each step is measured by itself. Empty for the login alone."
        " `{iteration}` in a path, command or text is replaced by a number that no other iteration of the run has, and"
        " `{user}` by the name of the user who has logged in.",
    ]

    alternatives: Annotated[
        tuple[Alternative, ...],
        Items(most=10, least=2),
        Absent(()),
        "Each iteration does one of them, chosen at random by weight, in every run the same. Steps that are in none are"
        " done in each.",
    ]

    def value(self) -> Scenario:
        """Return the scenario, without the place of a locustfile in a worker."""
        return Scenario(self.session_reuse, self.pool_size or 0, self.steps or (), "", self.alternatives)


@dataclass(frozen=True, slots=True)
class _TestName:
    """A finished test of this namespace."""

    name: Annotated[
        str, Text(longest=NAME_CHARACTERS, pattern=NAME_PATTERN, wanted="the name of a test"), "The test's name."
    ]

    def value(self) -> str:
        """Return the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Baseline:
    """The test that thresholds with within compare with: exactly one of testRef and lastPassed."""

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("testRef", "lastPassed"),)
    test_ref: Annotated[str | None, WrittenAs(_TestName)]
    last_passed: Annotated[
        bool | None,
        TrueOnly("must be true: without a baseline, leave spec.baseline out"),
        "True: the last test of the same schedule that passed before this one.",
    ]

    @property
    def test(self) -> str:
        """The name of the test; empty for the last one of the same schedule that passed."""
        return self.test_ref or ""


@dataclass(frozen=True, slots=True)
class Workers(Pods):
    """The pods that make the load, each with one worker process per whole CPU that it requests, or as many as set."""

    replicas: Annotated[
        int,
        Whole(1, 200, read_by_rule=True),
        Default(1),
        "How many pods. Each has its own address, and so its own source ports.",
    ]
    processes_per_pod: Annotated[
        int | None,
        Whole(1, 64, read_by_rule=True),
        "Worker processes in each pod. Without it, one for each whole CPU that the pod asks for.",
    ]


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """How long the finished test is kept before it is deleted with its results. Without it, for ever."""

    passed_s: Annotated[float | None, _TTL, "After the verdict Passed."]
    failed_s: Annotated[float | None, _TTL, "After any other verdict."]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCertificates(Certificates):
    """Certificates that the workers sign for those who log in, ahead of their logins, and renew before they end.

    For a managed target, the authority is made for the run.
    """

    ca: UserCa | None

    def without_ca(self) -> Certificates:
        """Return the settings of the certificates."""
        return Certificates(**{one.name: getattr(self, one.name) for one in fields(Certificates)})


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenClient(Client):
    """How the workers speak SSH."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *Client.rules,
        Rule(
            f"!has(self.certificates) || self.auth == '{Auth.CERTIFICATE}'",
            "is for auth certificate only",
            at=".certificates",
        ),
        Rule(
            f"!has(self.extraKeys) || self.auth in {BY_KEY_IN_CEL}",
            "is for publickey, certificate and agent only",
            at=".extraKeys",
        ),
        Rule(
            f"!has(self.extraKeys) || self.library != '{Library.OPENSSH}' || self.auth != '{Auth.CERTIFICATE}'",
            "the library openssh offers a certificate before all other keys",
            at=".extraKeys",
        ),
        *(
            Rule(
                f"self.library != '{library}' || self.auth in {in_cel(library.traits.logins)}",
                f"the library {library} supports {listed(library.traits.logins)} only",
                at=".auth",
            )
            for library in Library
            if library.traits.logins not in (tuple(Auth), WITHOUT_TICKETS)
        ),
        Rule(
            f"self.auth != '{Auth.GSSAPI}' || self.library in {in_cel(having(Auth.GSSAPI))}",
            f"gssapi needs the library {listed(having(Auth.GSSAPI), 'or')}",
            at=".auth",
        ),
    )
    auth: Annotated[
        Auth,
        Default("publickey"),
        "How the workers log in. certificate is OpenSSH's; agent is a key in an ssh-agent that each worker starts for"
        " itself; gssapi is Kerberos. A managed target accepts publickey, certificate and agent, with keys that are"
        " made for the run.",
    ]

    users: Users | None
    certificates: WrittenCertificates | None

    @property
    def user_ca(self) -> UserCa | None:
        """The author's own authority for users' certificates."""
        return None if self.certificates is None else self.certificates.ca

    def without_credentials(self) -> Client:
        """Return the client's settings."""
        settings = {one.name: getattr(self, one.name) for one in fields(Client)}
        signed = None if self.certificates is None else self.certificates.without_ca()
        return Client(**{**settings, "certificates": signed})


@dataclass(frozen=True, slots=True)
class LoadTestSpec:
    """A whole SSHLoadTest spec. Of fields that change nothing of what is measured, `triggers` alone make a new run.

    `stated` is what the spec states, by its own names (shapes.stated); `permissions` are those that it takes, each with
    the field that takes it.
    """

    target: Target
    via: tuple[JumpHost, ...]
    auth: Auth
    client: Client
    scenario: Scenario
    locustfile: LocustfileRef | None
    load: Load | Search
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
    users: Users | None = None
    stated: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    permissions: tuple[tuple[str, Permission], ...] = field(default=(), compare=False, repr=False)

    @property
    def managed(self) -> ManagedTarget | None:
        """The target, if the run makes it."""
        return self.target.managed

    @property
    def pause(self) -> LdapPause | None:
        """When the directory of the target's accounts pauses, if it does."""
        system = None if self.managed is None else self.managed.system
        return None if system is None or system.ldap is None else system.ldap.pause

    @property
    def servers(self) -> Mapping[str, Server]:
        """The servers that exist, by their paths in the spec: the target, unless the run makes it, and jump hosts."""
        via = {f"spec.via[{hop}]": host for hop, host in enumerate(self.via)}
        return via if self.target.managed is not None else {f"spec.target.{self.target.kind}": self.target, **via}

    @property
    def files(self) -> Mapping[str, ConfigMapFile]:
        """The files that ConfigMaps hold for the workers, by what the workers call them."""
        files: dict[str, ConfigMapFile | None] = {LOCUSTFILE: self.locustfile, TRACE: self.load.recorded}
        return {name: file for name, file in files.items() if file is not None}


@dataclass(frozen=True, slots=True)
class WrittenSpec:
    """What is measured."""

    target: Annotated[Target, "The server under test: exactly one of managed, external and gateway."]
    via: Annotated[
        tuple[JumpHost, ...],
        Items(most=5),
        Absent(()),
        "Jump hosts on the path to the target, in order. Each connection to the target uses its own connections to"
        " the jump hosts, which have their own timings. The rules of target.external apply to each jump host,"
        " including the list of allowed servers.",
    ]
    client: Annotated[WrittenClient, Default({"library": "ssh2-python", "controlMaster": False, "auth": "publickey"})]
    scenario: WrittenScenario
    load: Annotated[
        Load | WrittenSearch,
        f"How many iterations start, and when: exactly one of {_LOADS} and capacity.",
    ]
    login_before_load: Annotated[
        bool,
        Default(True),
        "Whether each worker logs in once, to every jump host and to the target, before the load. A failed login"
        " ends the run in Error, after retries if they can help. A refusal because of too many connections does not"
        " end the run. These logins are in no figure. Set it to false to measure logins that a server refuses. Tasks"
        " of a"
        " locustfile log in by themselves, so a run with one has no such login.",
    ]
    warm_up_s: Annotated[
        float,
        Duration("0s", "1h", example="10s"),
        Default("5s"),
        "How long the load runs before the measured window. It is measured and reported separately. In a search, the"
        " warm-up of each trial.",
    ]
    thresholds: Annotated[
        tuple[WrittenThreshold, ...],
        Items(most=20),
        Absent(()),
        "The conditions that the result must meet. Without any, a run passes if it completes with less than 10 %"
        " failed attempts.",
    ]
    baseline: Baseline | None
    workers: Annotated[Workers, Default({})]
    deadline_s: Annotated[
        float,
        Duration("10s", "168h", example="30m"),
        Default("30m"),
        "How long a run may take in all. A longer run ends in the verdict Error.",
    ]
    start_timeout_s: Annotated[
        float,
        Duration("1s", "24h", example="2m"),
        Default("2m"),
        "How long the target and the workers may take to become ready.",
    ]
    ttl_after_finished: TimeToLive | None
    triggers: Annotated[
        Mapping[str, Annotated[str, Text(longest=253), "Any text."]],
        Entries(20),
        Absent({}),
        "Names and texts of your choice. They are not part of the measurement, but a change of them starts a new run."
        " Examples are the version of an external server, or the time at which somebody asked for another run.",
    ]
    abort: Annotated[bool, Default(False), "True ends the run with the verdict Aborted."]
    suspend: Annotated[
        bool,
        Default(False),
        "True suspends the test: no run starts, and a current run ends without a verdict. It starts again when"
        " suspend is false. A test that has ended keeps its verdict.",
    ]

    def value(self) -> LoadTestSpec:
        """Return the spec as values."""
        thresholds = [one.value() for one in self.thresholds]
        budget_s = search_budget_s(self.deadline_s, self.start_timeout_s)
        return LoadTestSpec(
            target=self.target.logging_in_by(
                self.client.auth, self.client.users, self.client.user_ca, self.client.prompts
            ),
            via=self.via,
            auth=self.client.auth,
            client=self.client.without_credentials(),
            scenario=self.scenario.value(),
            locustfile=self.scenario.locustfile,
            load=load.search(budget_s) if isinstance(load := self.load, WrittenSearch) else load,
            warm_up_s=self.warm_up_s,
            thresholds=tuple(one for one in thresholds if isinstance(one, Threshold)),
            capacity_thresholds=tuple(one for one in thresholds if isinstance(one, CapacityThreshold)),
            relative_thresholds=tuple(one for one in thresholds if isinstance(one, RelativeThreshold)),
            baseline=self.baseline,
            workers=self.workers,
            deadline_s=self.deadline_s,
            start_timeout_s=self.start_timeout_s,
            time_to_live=self.ttl_after_finished or TimeToLive(None, None),
            triggers=self.triggers,
            abort=self.abort,
            suspend=self.suspend,
            login_before_load=self.login_before_load,
            users=self.client.users,
            stated=stated(self),
            permissions=tuple(permissions_taken(self, "spec")),
        )


PERMISSIONS: Final = permissions_of(WrittenSpec)
"""Every permission that a test may take."""
