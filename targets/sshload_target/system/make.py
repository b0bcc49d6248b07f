"""The making of a system: its accounts with their homes, its PAM stack, and the records of logins."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sshload_contract.bounds import ContractError
from sshload_contract.population import POPULATION_FILE, Population, read_population
from sshload_contract.wire.ldap import LdapAccounts
from sshload_contract.wire.target import TargetSystem

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.accounts import Account, number_accounts, write_accounts
from sshload_target.system.homes import make_homes, public_key
from sshload_target.system.login_records import make_login_records
from sshload_target.system.pam import switch
from sshload_target.system.second_factor import ask_for_codes

_SHARED: Final = {Path("/home"): 0o755, Path("/tmp"): 0o1777}  # noqa: S108 - the mode of one of its own
"""What all accounts share: a volume of a pod lets each of them rename what is another's."""


@dataclass(frozen=True, slots=True)
class MadeSystem:
    """The accounts of a system, and the population that they are of. `key_of_first` lets the first user in too.

    With `ldap` they are in no file, and a directory is to have them.
    """

    accounts: tuple[Account, ...]
    population: Population
    key_of_first: str
    ldap: LdapAccounts | None

    def keys_of(self, account: Account) -> Sequence[str]:
        """Return the public keys of an account, as in authorized_keys."""
        key = public_key(self.population.key_seed(account.name))
        return (key, self.key_of_first) if account is self.accounts[0] else (key,)


def make_system(system: TargetSystem, keys_dir: Path) -> MadeSystem:
    """Make it in a private /etc, by the population's secret in `keys_dir`; raises ConfigRefusedError."""
    population = _read_population(keys_dir / POPULATION_FILE, system.users)
    switch(system.pam, system.max_logins)
    made = MadeSystem(number_accounts(population), population, _key_of_first(keys_dir), system.ldap)
    if system.ldap is None:
        write_accounts(made.accounts, population.password)
    if system.second_factor is not None:
        ask_for_codes(made.accounts, population)
    try:
        for folder, mode in _SHARED.items():
            os.chown(folder, 0, 0)
            folder.chmod(mode)
        make_login_records()
        make_homes(made.accounts, made.keys_of if system.ldap is None else lambda _: ())
    except OSError as error:
        raise ConfigRefusedError(f"accounts cannot be made ready: {error}") from error
    return made


def _key_of_first(keys_dir: Path) -> str:
    file = keys_dir / "id_ed25519.pub"
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ConfigRefusedError(f"{file}: {error}") from error


def _read_population(file: Path, users: int) -> Population:
    try:
        return read_population(file.read_text(encoding="ascii"), users)
    except (OSError, ContractError) as error:
        raise ConfigRefusedError(f"{file}: {error}") from error
