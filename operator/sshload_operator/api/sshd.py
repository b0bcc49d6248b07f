"""The settings of a managed target's sshd: each field is declared with the directive of sshd_config(5) that it sets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_args, get_type_hints

from sshload_contract.client import CHECK_HOST_CERTIFICATES, Algorithms, listed
from sshload_contract.declared import (
    Absent,
    Default,
    Duration,
    Entries,
    Named,
    Rule,
    Text,
    Whole,
    WholeOrText,
    Words,
)
from sshload_contract.wire.target import RevokedKeys

from sshload_operator.api.shapes.errors import naming

# The defaults of sshd_config(5): MaxSessions is 10, MaxAuthTries 6, and MaxStartups 10:30:100.
_MAX_SESSIONS: Final = 10
_MAX_AUTH_TRIES: Final = 6
STARTUPS_BEFORE_DROPS: Final = 10
_DIRECTIVE: Final = r"[A-Za-z][A-Za-z0-9]{1,50}"

TARGETS_DIRECTIVES: Final = frozenset(
    {
        "authorizedkeysfile",
        "hostcertificate",
        "hostkey",
        "include",
        "match",
        "pidfile",
        "port",
        "revokedkeys",
        "trustedusercakeys",
    }
)
"""The target writes these itself, because it knows the files and ports; a map cannot order Match and Include."""

_SETTLED_DIRECTIVES: Final = TARGETS_DIRECTIVES | {
    "addressfamily",
    "hostkeyagent",
    "listenaddress",
    "subsystem",
    "syslogfacility",
    "usepam",
}
"""What no extraConfig may set, beside the directives that have a field."""


_PAM: Final = "usepam"
_NO_PAM: Final = "sshd runs as root and with PAM where target.managed.system is set, and without both otherwise"
_NOT_FREE: Final = "use its own field, or leave it to sshload"


@dataclass(frozen=True, slots=True)
class Directive:
    """The directive that a field sets. `prefix` stands before the value. `when_none` is its value for a None."""

    keyword: str
    prefix: str = ""
    when_none: str | None = None


MaxStartups: TypeAlias = Annotated[
    str | None,
    Text(
        longest=20,
        pattern=r"[1-9][0-9]{0,5}:[1-9][0-9]{0,2}:[1-9][0-9]{0,5}",
        wanted="start:rate:full, such as 10:30:100",
    ),
    Rule(
        "int(self.split(':')[1]) <= 100",
        "maxStartups is start:rate:full with a rate from 1 to 100",
        message_cel="'is ' + self + ': the rate, ' + self.split(':')[1] + ', must be from 1 to 100'",
    ),
    Rule(
        "int(self.split(':')[0]) <= int(self.split(':')[2])",
        "maxStartups is start:rate:full with start not above full",
        message_cel="'is ' + self + ': start, ' + self.split(':')[0] + ', must not be above full, '"
        " + self.split(':')[2]",
    ),
]


@dataclass(frozen=True, slots=True)
class Sshd:
    """The settings of sshd_config(5). What is absent is sshd's own default, unless one is given here."""

    rules: ClassVar[tuple[Rule, ...]] = ()  # set below, because they need the directives of the fields

    max_startups: Annotated[
        MaxStartups,
        Directive("MaxStartups"),
        "Connections that may be unauthenticated at once, as start:rate:full. From start on, sshd drops rate percent of"
        " new ones, from full on all.",
    ]
    max_sessions: Annotated[
        int | None,
        Whole(1, 100_000),
        Directive("MaxSessions"),
        "Channels that one connection may have open at once.",
    ]
    per_source_max_startups: Annotated[
        str | None,
        WholeOrText(6, r"none|[1-9][0-9]{0,5}", least=1, most=999_999, wanted="a number from 1 to 999999, or none"),
        Directive("PerSourceMaxStartups"),
        "Connections that may be unauthenticated at once from one address: a number, or none.",
    ]
    per_source_net_block_size: Annotated[
        str | None,
        Text(
            longest=6,
            pattern=r"([0-9]|[12][0-9]|3[0-2])(:([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))?",
            wanted="the bits of an IPv4 address, and of an IPv6 address after a colon, such as 24:64",
        ),
        Directive("PerSourceNetBlockSize"),
        "The bits of an address that count as one source for perSourceMaxStartups and perSourcePenalties: of IPv4, and"
        " after a colon of IPv6, such as 24:64. Quote it.",
    ]
    max_auth_tries: Annotated[
        int | None,
        Whole(1, 1_000),
        Directive("MaxAuthTries"),
        "Login attempts that one connection may make.",
    ]
    unused_connection_timeout_s: Annotated[
        float | None,
        Duration("1s", "24h", whole_seconds=True),
        Directive("UnusedConnectionTimeout"),
        "How long a connection that has logged in may be without a channel before sshd closes it, in whole seconds."
        " Without it, for ever. Held sessions have no channel.",
    ]
    per_source_penalties: Annotated[
        str,
        Text(
            longest=300,
            pattern=r"no|yes|[a-z0-9-]+:[a-z0-9]+( [a-z0-9-]+:[a-z0-9]+)*",
            wanted='"no", "yes", or a list such as "authfail:5s noauth:1s"',
        ),
        Default("no"),
        Directive("PerSourcePenalties"),
        'Penalties for the addresses of misbehaving clients: "no", "yes" (sshd\'s own), or a list such as "authfail:5s'
        ' noauth:1s". Quote it. With penalties, a load whose logins fail soon measures nothing but refusals.',
    ]
    login_grace_time_s: Annotated[
        float | None,
        Duration("0s", "24h", whole_seconds=True),
        Directive("LoginGraceTime"),
        "How long a connection may take to log in, in whole seconds. 0s sets no limit.",
    ]
    use_dns: Annotated[
        bool | None, Named("useDNS"), Directive("UseDNS", when_none="no"), "Whether sshd looks up the client's name."
    ]
    kex_algorithms: Annotated[
        Algorithms, Directive("KexAlgorithms"), "Key exchanges that the server offers, in order of preference."
    ]
    ciphers: Annotated[Algorithms, Directive("Ciphers"), "Ciphers that the server offers, in order of preference."]
    macs: Annotated[
        Algorithms,
        Directive("MACs"),
        "Message authentication codes that the server offers, in order of preference.",
    ]
    host_key_algorithms: Annotated[
        Algorithms, Directive("HostKeyAlgorithms"), "Host key algorithms that the server offers."
    ]
    compression: Annotated[
        str | None,
        Words(("yes", "no", "delayed")),
        Directive("Compression"),
        "Whether the server offers compression. Quote it.",
    ]
    rekey_limit: Annotated[
        str | None,
        Text(
            longest=40,
            pattern=r"(default|none|[1-9][0-9]{0,9}[KMG]?)( (none|[1-9][0-9]{0,7}[smhdw]?))?",
            wanted='an amount and a time such as "1G 1h"',
        ),
        Directive("RekeyLimit"),
        'The amount of data, and the time, after which keys are renewed, such as "1G 1h".',
    ]
    log_level: Annotated[
        str,
        Words(("INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3")),
        Default("INFO"),
        Directive("LogLevel"),
        "How much sshd logs. Less than INFO would hide logins and drops from the counts.",
    ]
    sftp_subsystem: Annotated[
        str,
        Text(longest=200, pattern=r"[A-Za-z0-9/][A-Za-z0-9_./ -]*", wanted="a program"),
        Default("internal-sftp"),
        Directive("Subsystem", prefix="sftp "),
        "The program that serves SFTP.",
    ]
    host_certificates: Annotated[
        bool,
        Default(False),
        "Whether the host keys have certificates, of an authority that is made for the run. known_hosts then has that"
        f" authority only, so only the libraries {listed(CHECK_HOST_CERTIFICATES)} can log in.",
    ]
    revoked_keys: RevokedKeys | None
    extra_config: Annotated[
        Mapping[
            str,
            Annotated[
                str,
                Text(
                    shortest=1,
                    longest=400,
                    pattern=r"[^\x00-\x20\x7f][^\x00-\x1f\x7f]*",
                    wanted="one line that begins with no space",
                ),
                "The directive's value.",
            ],
        ],
        Entries(40),
        Absent({}),
        "Further directives of sshd_config(5) with their values, taken as they are. Not for directives that have a"
        " field here, nor for files and ports, which sshload sets, nor for Match and Include.",
    ]

    @property
    def most_sessions(self) -> int:
        """How many sessions it takes on one connection."""
        return _MAX_SESSIONS if self.max_sessions is None else self.max_sessions

    @property
    def revoked_share(self) -> float:
        """The share of the users whose keys are revoked."""
        return 0.0 if self.revoked_keys is None else self.revoked_keys.users

    @property
    def most_auth_tries(self) -> int:
        """How many failed attempts end a connection."""
        return _MAX_AUTH_TRIES if self.max_auth_tries is None else self.max_auth_tries

    @property
    def startups_before_drops(self) -> int:
        """From how many unauthenticated connections on it may drop some."""
        return STARTUPS_BEFORE_DROPS if self.max_startups is None else int(self.max_startups.split(":")[0])


@cache
def directives() -> Mapping[str, Directive]:
    """Return the directives that have a field, by the field's name in Sshd."""
    found = {}
    for name, hint in get_type_hints(Sshd, include_extras=True).items():
        for note in get_args(hint):
            if isinstance(note, Directive):
                found[name] = note
    return found


def reserved_directives() -> frozenset[str]:
    """Return the directives that extraConfig may not set, in lower case."""
    return _SETTLED_DIRECTIVES | {directive.keyword.lower() for directive in directives().values()}


def settings(sshd: Sshd) -> Iterator[tuple[str, str]]:
    """Each directive that the fields set, with its value. Directives that are left to sshd are not among them."""
    for name, directive in directives().items():
        text = _text(getattr(sshd, name))
        value = directive.when_none if text is None else f"{directive.prefix}{text}"
        if value is not None:
            yield directive.keyword, value


def _text(value: Any) -> str | None:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return str(ceil(value))
        case tuple():
            return ",".join(value) or None
        case _:
            return None if value is None else str(value)


_IS_RESERVED = f"name.lowerAscii() in [{', '.join(repr(keyword) for keyword in sorted(reserved_directives()))}]"

Sshd.rules = (
    Rule(
        f"!has(self.extraConfig) || self.extraConfig.all(name, name.matches('^{_DIRECTIVE}$'))",
        "each name must be a directive of sshd_config(5)",
        at=".extraConfig",
        explain=lambda sshd: naming(
            "{} is not a directive of sshd_config(5)",
            [name for name in sshd.extra_config if re.fullmatch(_DIRECTIVE, name) is None],
        ),
    ),
    Rule(
        f"!has(self.extraConfig) || self.extraConfig.all(name, !({_IS_RESERVED}))",
        "a directive is not for extraConfig: it has a field of its own, or sshload sets it",
        at=".extraConfig",
        message_cel=f"self.extraConfig.filter(name, {_IS_RESERVED})[0] + ' is not for extraConfig: '"
        f" + (self.extraConfig.filter(name, {_IS_RESERVED})[0].lowerAscii() == '{_PAM}' ? '{_NO_PAM}' : '{_NOT_FREE}')",
    ),
)
