"""The making of a system: its accounts with their homes, its PAM stack, and the records of logins."""

from pathlib import Path

from sshload_contract.bounds import ContractError
from sshload_contract.population import POPULATION_FILE, Population, read_population
from sshload_contract.wire.target import TargetSystem

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.accounts import make_accounts
from sshload_target.system.homes import make_homes
from sshload_target.system.login_records import make_login_records
from sshload_target.system.pam import switch


def make_system(system: TargetSystem, keys_dir: Path) -> None:
    """Make it in a private /etc, by the population's secret in `keys_dir`; raises ConfigRefusedError."""
    population = _read_population(keys_dir / POPULATION_FILE, system.users)
    switch(system.pam, system.max_logins)
    accounts = make_accounts(population)
    try:
        make_login_records()
        make_homes(accounts, population, (keys_dir / "id_ed25519.pub").read_text(encoding="ascii"))
    except OSError as error:
        raise ConfigRefusedError(f"accounts cannot be made ready: {error}") from error


def _read_population(file: Path, users: int) -> Population:
    try:
        return read_population(file.read_text(encoding="ascii"), users)
    except (OSError, ContractError) as error:
        raise ConfigRefusedError(f"{file}: {error}") from error
