"""Of what the figures of a run are, where a server or client of the reader's may differ: one text for all readers."""

from collections.abc import Iterator
from typing import Final

from sshload_contract.client import Library
from sshload_contract.shortened import shortened
from sshload_contract.wire.ldap import LdapFacts
from sshload_contract.wire.report import Negotiated
from sshload_contract.wire.run_summary import Paused
from sshload_contract.wire.target import TargetStats

from sshload_operator.api.server_software import is_openssh, openssh_version
from sshload_operator.api.status.results import ALGORITHM_CHARACTERS, SCOPE_CHARACTERS
from sshload_operator.api.targets.system import System
from sshload_operator.planning.plan import Plan

_BANNER_OF_SSHD_AUTH: Final = (10, 3)
_HYBRID: Final = ("sntrup761", "mlkem768")
_MANAGED: Final = (
    "The target is an sshd without PAM (UsePAM no), for one user with one key: a login of your distribution with PAM"
    " costs more"
)
_SYSTEM: Final = (
    "The target is an sshd as root with PAM (UsePAM yes) and accounts made for the run. No systemd-logind, journal or"
    " name cache takes part in a login"
)
_WITH_LDAP: Final = (
    "The target is an sshd as root with PAM (UsePAM yes). sssd answers for accounts and keys, from slapd on the same"
    " machine. No network, systemd-logind or journal takes part in a login"
)
_WITH_CODES: Final = "After the key, PAM asks for a code (pam_oath)"
_DEFAULT_LIST: Final = "It offers the key exchanges of its version's default list"
_OWN_LIST: Final = "It offers the key exchanges of spec.target.managed.sshd.kexAlgorithms"
_DIRECTORY_CHARACTERS: Final = 32
_BANNER: Final = (
    "From OpenSSH 10.3 on, banner includes the start of sshd-auth: compare login with earlier releases, not banner"
)


def of_pause(plan: Plan, paused: Paused | None) -> str:
    """Return when the directory paused, or that it did not when it was to; empty if neither."""
    if paused is not None:
        return f"slapd was stopped from {paused.from_s:.1f} to {paused.to_s:.1f} s after the start of the load"
    pause = plan.spec.pause
    if pause is None:
        return ""
    due = f"{pause.after_s:g} s after the start of the load"
    return f"slapd was to be stopped {due}, and was not: the master's log says why"


def scope(plan: Plan, negotiated: Negotiated | None, better_kex: str | None) -> Iterator[str]:
    """Yield what to know before the figures are compared with those of another server or client, a sentence each.

    `negotiated` is what most handshakes of the run agreed on, and `better_kex` that of the RunSummary; None if it is
    not known of the server of these handshakes.
    """
    if plan.spec.managed is not None:
        offered = _OWN_LIST if plan.spec.managed.sshd.kex_algorithms else _DEFAULT_LIST
        yield f"{_made_of(plan.spec.managed.system)}. {offered}"
    if negotiated is None:
        return
    yield from _key_exchange(negotiated.kex[:ALGORITHM_CHARACTERS], better_kex, plan.spec.client.library)
    version = openssh_version(negotiated.server_version) if is_openssh((negotiated.server_version,)) else None
    if version is not None and version >= _BANNER_OF_SSHD_AUTH:
        yield _BANNER


def _made_of(system: System | None) -> str:
    if system is None:
        return _MANAGED
    made = _SYSTEM if system.ldap is None else _WITH_LDAP
    return made if system.second_factor is None else f"{made}. {_WITH_CODES}"


def of_server(target: TargetStats | None) -> Iterator[str]:
    """Yield of which kind a managed target is, by its own words."""
    if target is None or target.as_root is None:
        return
    words = (
        "as root" if target.as_root else "without root",
        "with PAM" if target.pam else "without PAM",
        f"accounts from {target.accounts}{_directory(target.ldap)}" if target.accounts else "",
        f"on {target.distribution}" if target.distribution else "",
    )
    yield shortened(
        f"{target.sshd_version[:ALGORITHM_CHARACTERS]} ran {', '.join(filter(None, words))}", SCOPE_CHARACTERS
    )


def _directory(facts: LdapFacts | None) -> str:
    """Return what is behind who answers for accounts, empty if that is only itself."""
    if facts is None:
        return ""
    named = (("sssd", facts.sssd_version), ("slapd", facts.slapd_version))
    versions = (f"{name} {version[:_DIRECTORY_CHARACTERS]}" for name, version in named if version)
    return f" ({', '.join(('LDAP', f'{facts.cache} cache', *versions))})"


def _key_exchange(agreed: str, better: str | None, library: Library) -> Iterator[str]:
    """Yield what to know of a key exchange that is not one of today's clients."""
    if not agreed or agreed.startswith(_HYBRID):
        return
    if better:
        yield shortened(
            f"The key exchange was {agreed}. The server has others that it or OpenSSH's own clients prefer, and that"
            f" {library} did not ask for: {better}",
            SCOPE_CHARACTERS,
        )
    elif better is None:
        yield (
            f"The key exchange was {agreed}: OpenSSH's own clients ask for sntrup761x25519-sha512 since 9.0, and for"
            " mlkem768x25519-sha256 since 10.0"
        )
