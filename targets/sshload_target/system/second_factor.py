"""Codes of time after the key, by pam_oath(8): the secrets of the accounts, and what PAM asks for."""

import re
from collections.abc import Sequence
from typing import Final

from sshload_contract.population import Population

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.accounts import Account
from sshload_target.system.pam import SERVICE, STACKS, is_installed
from sshload_target.system.private_etc import ETC, refuse_unless_private

_MODULE: Final = "pam_oath.so"
_USERS: Final = ETC / "users.oath"
_ONLY_OWNER: Final = 0o600
_AUTH: Final = re.compile(r"^(?=\s*(?:@include\s+common-auth\b|-?auth\s))", re.MULTILINE)
_ASKS: Final = f"auth required {_MODULE} usersfile={_USERS} window=1 digits=6\n"


def ask_for_codes(accounts: Sequence[Account], population: Population) -> None:
    """Let PAM ask for a code of each account, in place of all else that it asks for; raises ConfigRefusedError."""
    refuse_unless_private()
    if not is_installed(_MODULE):
        raise ConfigRefusedError(
            f"spec.target.managed.system.secondFactor: {_MODULE} is not installed where the target runs (on Debian the"
            " package libpam-oath)"
        )
    _USERS.touch(_ONLY_OWNER)
    _USERS.write_text(
        "".join(f"HOTP/T30/6 {one.name} - {population.totp_secret(one.name).hex()}\n" for one in accounts),
        encoding="ascii",
    )
    stack = STACKS / SERVICE
    stack.write_text(_ASKS + _AUTH.sub("# ", stack.read_text(encoding="utf-8")), encoding="utf-8")
