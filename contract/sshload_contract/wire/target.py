"""A managed target: TargetConfig, which its PID 1 reads, and TargetStats, its answer at `/stats`."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from math import floor
from typing import Annotated, TypeAlias

from sshload_contract.bounds import WIRE_VERSION, Amount, Count
from sshload_contract.declared import Default, Percentage, Size, Text, Whole
from sshload_contract.steal import MachineCpu
from sshload_contract.wire.ldap import LdapAccounts, LdapFacts

_FixturePath: TypeAlias = Annotated[
    str,
    Text(
        longest=100,
        pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*",
        wanted="a path from the home, whose names begin with a letter, digit or underscore",
    ),
    "Its path below the home directory. Names begin with a letter, digit or underscore.",
]

_SHORTEST_S = 0.001
_ROUNDING = 1e-9

SSHD_REFUSES = "sshd refuses its configuration"
"""How a target's last words begin if it was sshd that refused, and not something that the target needs."""

NO_USER_NAMESPACE_EXIT = 69
"""The exit code of the proof that a pod has a user namespace, where it has none (EX_UNAVAILABLE of sysexits.h)."""

COUNTERS = (
    "accepted",
    "auth_failed",
    "dropped_max_startups",
    "dropped_penalty",
    "cpu_s",
    "cpu_throttled_s",
    "oom_kills",
    "refused_forks",
    "listen_overflows",
)
"""The fields of TargetStats that never decrease: if one has, the target was restarted."""


@dataclass(frozen=True, slots=True)
class FileFixture:
    """One file."""

    path: _FixturePath
    size_bytes: Annotated[int, Size("0", "100Gi"), "Its size in bytes, such as 26Ki or 11Mi. At most 100Gi."]


@dataclass(frozen=True, slots=True)
class DirectoryFixture:
    """One directory with empty files in it."""

    path: _FixturePath
    files: Annotated[int, Whole(0, 100_000), "How many files it holds."]


@dataclass(frozen=True, slots=True)
class RepositoryFixture:
    """One bare git repository with a single branch."""

    path: _FixturePath
    commits: Annotated[int, Whole(1, 10_000), "How many commits the branch has."]
    size_bytes: Annotated[
        int, Size("1", "10Gi", example="1Mi"), "The content of all commits together, such as 1Mi. At most 10Gi."
    ]


@dataclass(frozen=True, slots=True)
class PamSwitches:
    """Parts of the PAM stack of sshd: each as the distribution has it, unless it is switched on or off here.

    The first word of a description is the module, as its man page is named.
    """

    motd: Annotated[
        bool | None, "pam_motd(8): the message of the day, whose parts are programs that run at each login."
    ]
    lastlog: Annotated[bool | None, "pam_lastlog(8), or pam_lastlog2(8), and sshd's own record of the last login."]
    limits: Annotated[bool | None, "pam_limits(8): the limits of /etc/security/limits.conf."]
    env: Annotated[bool | None, "pam_env(8): the variables of /etc/environment and of the locale."]
    mail: Annotated[bool | None, "pam_mail(8): whether there is new mail."]
    nologin: Annotated[bool | None, "pam_nologin(8): whether /etc/nologin keeps users out."]
    loginuid: Annotated[bool | None, "pam_loginuid(8): the user id that the kernel's audit knows."]
    keyinit: Annotated[bool | None, "pam_keyinit(8): a keyring of the kernel for each session."]
    systemd: Annotated[bool | None, "pam_systemd(8): a session of systemd-logind, which does not run here."]
    selinux: Annotated[bool | None, "pam_selinux(8): the context of SELinux."]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKerberos:
    """A realm of the target's own. Its users are those of the population, with their password.

    Tickets are good for `ticket_s`. The places of its TargetConfig have `host` and `kdc_port`.
    """

    ticket_s: float


@unique
class SecondFactor(StrEnum):
    """What a target asks for after the key: a code of time (RFC 6238), by pam_oath."""

    TOTP = "totp"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSystem:
    """A target whose sshd runs as root, with PAM and the accounts of a population.

    `keys_dir` of its TargetConfig contains the secret of the population too. `user` and `home` are those of its first
    user, whom the key `id_ed25519.pub` lets in too. `max_logins` is maxlogins of limits.conf(5) for each user.
    With `ldap` the accounts and their keys are in a directory, and in no file. With a `second_factor`, PAM asks for
    that, and for nothing else.
    """

    users: int
    pam: PamSwitches
    max_logins: int | None
    ldap: LdapAccounts | None = None
    kerberos: TargetKerberos | None = None
    second_factor: SecondFactor | None = None


def is_revoked(share: float, number: int) -> bool:
    """Return whether the keys of a user are revoked, where those of a share are. Users are numbered from 1."""
    return floor(number * share + _ROUNDING) > floor((number - 1) * share + _ROUNDING)


@dataclass(frozen=True, slots=True)
class RevokedKeys:
    """A list of revoked keys (RevokedKeys of sshd_config(5)), which sshd reads whole at each login by a key.

    Logins by a revoked key, or by a certificate for it, are refused: sshd tells a client no reason (authRejected).
    """

    users: Annotated[
        float,
        Percentage("0%", "100%"),
        Default("0%"),
        "The share of the users who log in whose keys are revoked, spread evenly over them.",
    ]
    others: Annotated[
        int,
        Whole(0, 1_000_000),
        Default(0),
        "How many keys that nobody has are in the list too: what a long list costs.",
    ]

    def of(self, users: int) -> Iterator[int]:
        """Yield the numbers of those of so many users, from 1, whose keys are revoked."""
        return (number for number in range(1, users + 1) if is_revoked(self.users, number))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPlaces:
    """Where a managed target runs: the user who may log in and their home, the keys' folder, and its ports.

    `host` is the name that clients know the server by. A target without a KDC has no port for it.
    """

    user: str
    home: str
    keys_dir: str
    sshd_port: int
    stats_port: int
    kdc_port: int = 0
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConfig(TargetPlaces):
    """A managed target, as it is read from `--config`.

    `keys_dir` contains `ssh_host_ed25519_key`, `ssh_host_ecdsa_key`, `id_ed25519.pub` (the key that may log in) and
    `user_ca.pub` (the authority whose certificates may log in), and `ssh_host_*_key-cert.pub` if the host keys have
    certificates. `home` is the user's home, which is created if it does not exist. `sshd_config` is the text of the
    rendered file without the lines HostKey, HostCertificate, AuthorizedKeysFile, TrustedUserCAKeys, RevokedKeys, Port
    and PidFile. The target adds these, because only it knows their values. Without `system`, sshd logs in only the user
    whose uid it has.
    """

    version: int = WIRE_VERSION
    sshd_config: str
    files: tuple[FileFixture, ...]
    directories: tuple[DirectoryFixture, ...]
    repositories: tuple[RepositoryFixture, ...]
    system: TargetSystem | None = None
    revoked_keys: RevokedKeys | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a container uses: CPU time and throttled time since its start, memory and processes now.

    `memory_bytes` is the working set, including the kernel's memory for it: what is charged, less page cache that the
    kernel can drop at once; where `memory_is_upper_bound`, what processes share counts for each of them.
    `memory_peak_bytes` is 0 if the source keeps no peak. `oom_kills` are the processes that were killed for lack of
    memory, `refused_forks` those that could not be started for a limit of their number, both since the container's
    start, as far as the source tells.
    """

    cpu_s: Amount
    cpu_throttled_s: Amount
    memory_bytes: Count
    memory_is_upper_bound: bool
    memory_peak_bytes: Count
    processes: Count
    oom_kills: Count
    refused_forks: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetStats(Usage):
    """Counts from sshd's log and the container's resources, at `at_unix_s`.

    The time is set from the machine's clock when the target starts. Later steps of that clock do not change it.

    sshd does not log every drop (log_ratelimit_init in sshd.c since 10.0, LogLevel INFO before), so the `dropped_*`
    counts may be lower bounds; `dropped_is_lower_bound` says whether they are. Drops by PerSourceMaxStartups count as
    `dropped_max_startups`, as in sshd's log. `auth_failed` counts connections that had named a user and ended without a
    login. `own_cpu_s` of the CPU time is that of the observing process itself, so the rest is of sshd and of all that
    its sessions run. `machine_cpu` is that of the whole machine, None if its kernel does not report it. `sessions` is
    the present number of logged-in connections. `listen_overflows` are those of sshd's own sockets, None if the kernel
    does not report them. `refused_forks` has those that sshd's log tells too.

    The limits are those of the container, None if it has none or the kernel does not report it. The limit of processes
    counts their threads too.

    `as_root` and `pam` say whether sshd runs as root, and uses PAM, None before it is started. `accounts` is the
    service of nsswitch.conf(5) that answers for the user who logs in (`files`, `sss`), `distribution` the name in
    os-release(5); each is empty if it is not known.
    """

    version: int = WIRE_VERSION
    at_unix_s: Amount
    sshd_version: str
    accepted: Count
    auth_failed: Count
    dropped_max_startups: Count
    dropped_penalty: Count
    dropped_is_lower_bound: bool
    sessions: Count
    cpu_limit_cores: Amount | None
    machine_cpu: MachineCpu | None
    memory_limit_bytes: Count | None
    processes_limit: Count | None
    listen_overflows: Count | None
    own_cpu_s: Amount = 0.0
    as_root: bool | None = None
    pam: bool | None = None
    accounts: str = ""
    distribution: str = ""
    ldap: LdapFacts | None = None

    @property
    def sshd_cpu_s(self) -> float:
        """The CPU time of sshd and of all that its sessions run, without that of a directory."""
        return max(self.cpu_s - self.own_cpu_s - (0.0 if self.ldap is None else self.ldap.cpu_s), 0.0)

    def cores_since(self, before: "TargetStats") -> float | None:
        """Return how many cores these kept busy since an earlier reading, None if that was hardly any time ago."""
        lasted_s = self.at_unix_s - before.at_unix_s
        return None if lasted_s < _SHORTEST_S else max(self.sshd_cpu_s - before.sshd_cpu_s, 0.0) / lasted_s
