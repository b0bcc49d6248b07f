"""sssd(8): its configuration, and the places in a private /etc that name it (nsswitch.conf(5), PAM's files)."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sshload_contract.wire.ldap import AccountCache, LdapAccounts

from sshload_target.errors import ConfigRefusedError
from sshload_target.ldap.directory import BASE, GROUPS, PEOPLE
from sshload_target.system.private_etc import ETC, refuse_unless_private

SSSD: Final = Path("/usr/sbin/sssd")
KEYS_COMMAND: Final = Path("/usr/bin/sss_ssh_authorizedkeys")
_BACK_ENDS: Final = ("/usr/lib/*/sssd/libsss_ldap.so", "/usr/lib64/sssd/libsss_ldap.so", "/usr/lib/sssd/libsss_ldap.so")
_DOMAIN: Final = "sshload"
_CONFIG: Final = ETC / "sssd" / "sssd.conf"
_SWITCH: Final = ETC / "nsswitch.conf"
_STACKS: Final = ETC / "pam.d"
_DATABASES: Final = ("passwd", "group")
_LOOKUP_TIMEOUT_S: Final = 30.0
_JUMP: Final = re.compile(r"success=(\d+)")


def check_installed() -> None:
    """Raise ConfigRefusedError unless sssd, its LDAP back end and its program for keys are installed."""
    found = SSSD.exists() and KEYS_COMMAND.exists() and any(any(Path("/").glob(one[1:])) for one in _BACK_ENDS)
    if not found:
        raise ConfigRefusedError(
            "there is no sssd with LDAP where the target runs: `apt-get install sssd-ldap libnss-sss libpam-sss`"
        )


def configure(ldap: LdapAccounts, uri: str, certificate: Path) -> None:
    """Let sssd answer for accounts, keys and logins in a private /etc; raises ConfigRefusedError.

    `certificate` is that of the server at `uri`.
    """
    refuse_unless_private()
    _CONFIG.parent.mkdir(mode=0o700, exist_ok=True)
    _CONFIG.touch(mode=0o600)
    _CONFIG.write_text(config_text(ldap, uri, certificate), encoding="ascii")
    _SWITCH.write_text(switched(_SWITCH.read_text(encoding="utf-8")), encoding="utf-8")
    _join_pam()


def config_text(ldap: LdapAccounts, uri: str, certificate: Path) -> str:
    """Return sssd.conf(5). What is not here is sssd's own default."""
    sections = {
        "sssd": {"services": "nss, pam, ssh", "domains": _DOMAIN, "disable_netlink": "true"},
        "nss": dict(_nss(ldap)),
        "pam": dict(_pam(ldap)),
        f"domain/{_DOMAIN}": dict(_domain(ldap, uri, certificate)),
    }
    return "\n".join(
        f"[{name}]\n" + "".join(f"{option} = {value}\n" for option, value in options.items())
        for name, options in sections.items()
    )


def _nss(ldap: LdapAccounts) -> Iterator[tuple[str, str]]:
    """Yield what keeps a cold cache from answering: its map in memory, and answers while it asks anew."""
    if ldap.cache is AccountCache.COLD:
        yield "memcache_timeout", "0"
        yield "entry_cache_nowait_percentage", "0"


def _pam(ldap: LdapAccounts) -> Iterator[tuple[str, str]]:
    if ldap.pam_initgroups_scheme is not None:
        yield "pam_initgroups_scheme", ldap.pam_initgroups_scheme


def _domain(ldap: LdapAccounts, uri: str, certificate: Path) -> Iterator[tuple[str, str]]:
    yield "id_provider", "ldap"
    yield "auth_provider", "ldap"
    yield "access_provider", "permit"
    for provider in ("chpass", "sudo", "autofs", "subdomains", "hostid"):
        yield f"{provider}_provider", "none"
    yield "ldap_uri", uri
    yield "ldap_tls_cacert", str(certificate)
    yield "ldap_tls_reqcert", "demand"
    yield "ldap_search_base", BASE
    yield "ldap_user_search_base", PEOPLE
    yield "ldap_group_search_base", GROUPS
    yield "ldap_schema", "rfc2307"
    yield "entry_cache_timeout", str(ldap.entry_cache_timeout_s)
    yield "debug_level", "0x0070"  # failures only, sssd.conf(5)
    if ldap.search_timeout_s is not None:
        for option in ("ldap_search_timeout", "ldap_network_timeout", "ldap_opt_timeout"):
            yield option, str(ldap.search_timeout_s)
    if ldap.offline_timeout_s is not None:
        yield "offline_timeout", str(ldap.offline_timeout_s)
        yield "offline_timeout_max", str(ldap.offline_timeout_s)
        yield "offline_timeout_random_offset", "0"


def switched(text: str) -> str:
    """Return nsswitch.conf with sss behind the files, and nothing else, for users and groups."""
    kept = [line for line in text.splitlines() if line.split(":")[0].strip() not in _DATABASES]
    return "\n".join((*kept, *(f"{database}: files sss" for database in _DATABASES))) + "\n"


def _join_pam() -> None:
    """Add pam_sss(8) to Debian's common stacks, as pam-auth-update(8) does, unless the stack has it already."""
    if any("pam_sss.so" in line for line in _lines(_STACKS / "common-account")):
        return
    for name, join in (("auth", joined_auth), ("account", _joined_account), ("session", _joined_session)):
        file = _STACKS / f"common-{name}"
        if not file.exists():
            raise ConfigRefusedError(
                f"there is no {file} where the target runs, and PAM does not ask sssd: `authselect select sssd`"
            )
        file.write_text("\n".join(join(_lines(file))) + "\n", encoding="utf-8")


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def joined_auth(lines: list[str]) -> Iterator[str]:
    """Yield common-auth with pam_sss right before what refuses. Jumps over that are one line longer."""
    last = next((number for number, line in enumerate(lines) if "pam_deny.so" in line), len(lines))
    for number, line in enumerate(lines):
        if number == last:
            yield "auth [success=1 default=ignore] pam_sss.so use_first_pass"
        is_rule = number < last and not line.lstrip().startswith("#")
        yield _JUMP.sub(lambda found: f"success={int(found[1]) + 1}", line) if is_rule else line


def _joined_account(lines: list[str]) -> Iterator[str]:
    yield from lines
    yield "account sufficient pam_localuser.so"
    yield "account [default=bad success=ok user_unknown=ignore] pam_sss.so"


def _joined_session(lines: list[str]) -> Iterator[str]:
    yield from lines
    yield "session optional pam_sss.so"


def answers_for(name: str) -> bool:
    """Return whether accounts are answered for, by a process of its own, which reads nsswitch.conf anew."""
    asked = subprocess.run(  # noqa: S603 - a fixed program, and a name of ours
        ["/usr/bin/getent", "passwd", name],
        capture_output=True,
        check=False,
        timeout=_LOOKUP_TIMEOUT_S,
    )
    return asked.returncode == 0
