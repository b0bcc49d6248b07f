"""The knobs of sshd."""

import re
from typing import Any

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import refuse_repeated
from sshload_operator.api.parse.readers import choice, duration, entries, flag, items, shown, text, whole
from sshload_operator.api.spec import Sshd

_MAX_STARTUPS = text(
    longest=20, pattern=r"[1-9][0-9]{0,5}:[1-9][0-9]{0,2}:[1-9][0-9]{0,5}", wanted="start:rate:full, such as 10:30:100"
)
_RATE_MOST_PERCENT = 100
_PER_SOURCE_MAX_STARTUPS = re.compile(r"none|[1-9][0-9]{0,5}")
_PER_SOURCE_PENALTIES = text(
    longest=300,
    pattern=r"no|yes|[a-z0-9-]+:[a-z0-9]+( [a-z0-9-]+:[a-z0-9]+)*",
    wanted='"no", "yes", or a list such as "authfail:5s noauth:1s"',
)
_REKEY_LIMIT = text(
    longest=40,
    pattern=r"(default|none|[1-9][0-9]{0,9}[KMG]?)( (none|[1-9][0-9]{0,7}[smhdw]?))?",
    wanted='an amount and a time such as "1G 1h"',
)
_SFTP_SUBSYSTEM = text(longest=200, pattern=r"[A-Za-z0-9/][A-Za-z0-9_./ -]*", wanted="a program")
_DIRECTIVE = re.compile(r"[A-Za-z][A-Za-z0-9]{1,50}")
_DIRECTIVE_VALUE = text(
    shortest=1, longest=400, pattern=r"[^\x00-\x20\x7f][^\x00-\x1f\x7f]*", wanted="one line that begins with no space"
)
_ALGORITHM = text(longest=64, pattern=r"[A-Za-z0-9][A-Za-z0-9@.+-]*", wanted="an algorithm, as ssh -Q names it")

# What has a field of its own, what sshload settles (places, ports), and what a map cannot order (Match, Include).
RESERVED_DIRECTIVES = frozenset(
    {
        "port",
        "listenaddress",
        "addressfamily",
        "hostkey",
        "hostcertificate",
        "hostkeyagent",
        "authorizedkeysfile",
        "trustedusercakeys",
        "pidfile",
        "include",
        "match",
        "subsystem",
        "maxstartups",
        "maxsessions",
        "persourcemaxstartups",
        "persourcepenalties",
        "logingracetime",
        "usedns",
        "usepam",
        "kexalgorithms",
        "ciphers",
        "macs",
        "hostkeyalgorithms",
        "compression",
        "rekeylimit",
        "loglevel",
        "syslogfacility",
    }
)


def read_sshd(value: Any, path: str) -> Sshd:
    """Read the knobs; what is absent is as sshd has it, unless the CRD gives a default."""
    fields = Fields(value, path)
    sshd = Sshd(
        max_startups=fields.optional("maxStartups", _read_max_startups),
        max_sessions=fields.optional("maxSessions", whole(1, 100_000)),
        per_source_max_startups=fields.optional("perSourceMaxStartups", _read_per_source_max_startups),
        per_source_penalties=fields.defaulted("perSourcePenalties", _PER_SOURCE_PENALTIES, "no"),
        login_grace_time_s=fields.optional("loginGraceTime", duration("0s", "24h", whole_seconds=True)),
        use_dns=fields.optional("useDNS", flag),
        kex_algorithms=read_algorithms(fields, "kexAlgorithms"),
        ciphers=read_algorithms(fields, "ciphers"),
        macs=read_algorithms(fields, "macs"),
        host_key_algorithms=read_algorithms(fields, "hostKeyAlgorithms"),
        compression=fields.optional("compression", choice("yes", "no", "delayed")),
        rekey_limit=fields.optional("rekeyLimit", _REKEY_LIMIT),
        log_level=fields.defaulted(
            "logLevel", choice("INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3"), "INFO"
        ),
        sftp_subsystem=fields.defaulted("sftpSubsystem", _SFTP_SUBSYSTEM, "internal-sftp"),
        extra_config=fields.optional("extraConfig", _read_extra_config) or {},
    )
    fields.end()
    return sshd


def read_algorithms(fields: Fields, name: str) -> tuple[str, ...]:
    """Return a list of algorithms, empty where it is absent."""
    algorithms = fields.optional(name, items(_ALGORITHM, most=40)) or ()
    refuse_repeated(algorithms, fields.at(name))
    return algorithms


def _read_max_startups(value: Any, path: str) -> str:
    written = _MAX_STARTUPS(value, path)
    start, rate, full = (int(part) for part in written.split(":"))
    if rate > _RATE_MOST_PERCENT:
        raise SpecError(path, f"is {written}: the rate, {rate}, must be from 1 to 100")
    if start > full:
        raise SpecError(path, f"is {written}: start, {start}, must not be above full, {full}")
    return written


def _read_per_source_max_startups(value: Any, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise SpecError(path, f"is {shown(value)}, but must be a number or none")
    if _PER_SOURCE_MAX_STARTUPS.fullmatch(str(value)) is None:
        raise SpecError(path, "must be a number from 1 to 999999, or none")
    return str(value)


def _read_extra_config(value: Any, path: str) -> dict[str, str]:
    directives = entries(_DIRECTIVE_VALUE, most=40)(value, path)
    for name in directives:
        if _DIRECTIVE.fullmatch(name) is None:
            raise SpecError(path, f"{shown(name)} is no directive of sshd_config(5)")
        if name.lower() in RESERVED_DIRECTIVES:
            raise SpecError(path, f"{name} is not for extraConfig: use its own field, or leave it to sshload")
    return directives
