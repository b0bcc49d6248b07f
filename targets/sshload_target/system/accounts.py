"""The accounts of a population, written into a private /etc.

passwd(5), shadow(5) and group(5) are written directly: useradd(8) and newusers(8) take 24 ms for each account. As with
Debian's useradd each user has a group of their own. The password is hashed once, by the distribution's own chpasswd(8).
"""

import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sshload_contract.population import Population, user_home

from sshload_target.errors import ConfigRefusedError
from sshload_target.system.private_etc import ETC, refuse_unless_private

SHELL: Final = "/bin/bash"
_FIRST_ID: Final = 100_001
"""Above what distributions give to people and services."""
_FIRST_ID_IN_NAMESPACE: Final = 2_001
"""Where a user namespace maps too few ids for the other."""
_NOT_FOR_PEOPLE: Final = range(60_000, 65_536)
"""Dynamic users of systemd, nobody, and what chown(2) takes for none: Debian's policy, section 9.2.2."""
_ID_MAP: Final = Path("/proc/self/uid_map")
_DAY_S: Final = 86_400
_HASH_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Account:
    """A user: the name, the id of the user and of their group, and the home."""

    name: str
    number: int

    @property
    def home(self) -> Path:
        """Where the user's files are."""
        return Path(user_home(self.name))


def number_accounts(population: Population) -> tuple[Account, ...]:
    """Return the accounts of a population with ids that nobody in /etc/passwd has; raises ConfigRefusedError."""
    passwd = ETC / "passwd"
    known = [line.split(":") for line in passwd.read_text(encoding="utf-8").splitlines()]
    of_accounts = {int(fields[2]) for fields in known if len(fields) > 2}  # noqa: PLR2004 - uid
    numbers = _free_ids(of_accounts, delegated_ids(ETC), population.users)
    accounts = tuple(map(Account, population.names, numbers))
    if taken := {fields[0] for fields in known}.intersection(population.names):
        raise ConfigRefusedError(f"the account {min(taken)} exists on this machine, and the run would make it")
    return accounts


def write_accounts(accounts: Sequence[Account], password: str) -> None:
    """Add accounts with one password to the files of a private /etc; raises ConfigRefusedError."""
    refuse_unless_private()
    _append("group", (f"{one.name}:x:{one.number}:\n" for one in accounts))
    _append("passwd", (f"{one.name}:x:{one.number}:{one.number}::{one.home}:{SHELL}\n" for one in accounts))
    first, *others = accounts
    _append("shadow", (_shadow_line(first.name, "*"),))
    hashed = _hashed(first.name, password)
    _append("shadow", (_shadow_line(one.name, hashed) for one in others))


def delegated_ids(etc: Path) -> tuple[range, ...]:
    """Return the ids that users have for containers of their own (subuid(5), subgid(5)), with files on this machine."""
    lines = [
        line.split(":")
        for file in (etc / "subuid", etc / "subgid")
        if file.is_file()
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
    ]
    return tuple(
        range(int(first), int(first) + int(count))
        for _, first, count in (line for line in lines if len(line) == len(("name", "first", "count")))
        if first.isdecimal() and count.isdecimal()
    )


def _free_ids(taken: set[int], delegated: Sequence[range], count: int) -> Iterator[int]:
    """Return ids that nobody has; raises ConfigRefusedError if this user namespace maps too few."""
    mapped = sum(int(line.split()[2]) for line in _ID_MAP.read_text(encoding="ascii").splitlines())
    beyond = max([_FIRST_ID, *(ids.stop for ids in delegated)])
    first = beyond if mapped > beyond + count + len(taken) else _FIRST_ID_IN_NAMESPACE
    free = (number for number in range(first, mapped) if number not in taken and number not in _NOT_FOR_PEOPLE)
    found = [number for number, _ in zip(free, range(count), strict=False)]
    if len(found) < count:
        raise ConfigRefusedError(
            f"there are {len(found)} free user ids here, for {count} users: lower spec.target.managed.system.users"
        )
    return iter(found)


def _append(name: str, lines: Iterator[str] | tuple[str, ...]) -> None:
    with (ETC / name).open("a", encoding="utf-8") as file:
        file.writelines(lines)


def _shadow_line(name: str, password: str) -> str:
    """Return a line of shadow(5) for a password that was changed today and does not expire."""
    return f"{name}:{password}:{int(time.time() // _DAY_S)}:0:99999:7:::\n"


def _hashed(name: str, password: str) -> str:
    """Let chpasswd(8) hash the password of an account, and return what it wrote; raises ConfigRefusedError."""
    try:
        done = subprocess.run(
            ["/usr/sbin/chpasswd"],
            input=f"{name}:{password}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_HASH_TIMEOUT_S,
        )
    except OSError as error:
        raise ConfigRefusedError(f"chpasswd cannot hash the password of the accounts: {error}") from error
    lines = (line.split(":") for line in (ETC / "shadow").read_text(encoding="utf-8").splitlines())
    written = next(fields[1] for fields in lines if fields[0] == name)
    if done.returncode != 0 or written == "*":
        raise ConfigRefusedError(f"chpasswd cannot hash the password of the accounts: {done.stderr.strip()}")
    return written
