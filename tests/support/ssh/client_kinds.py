"""Every client that a run can ask for, as parameters of tests."""

from dataclasses import dataclass, replace

import pytest
from run_configs import client
from sshload_contract.client import Auth, Client, Library
from sshload_contract.steps import ForwardStep, ScenarioStep, ScpReadStep, ShellStep


@dataclass(frozen=True)
class Kind:
    """One client library, and how it is used."""

    library: Library
    control_master: bool = False

    def __str__(self) -> str:
        """Return its name."""
        return f"{self.library}{'-shared' * self.control_master}"

    @property
    def times_parts(self) -> bool:
        """Whether the parts of an operation are told apart."""
        return not self.library.traits.runs_programs

    @property
    def has_jump_hosts(self) -> bool:
        """Whether it goes through jump hosts."""
        return self.library.traits.has_jump_hosts

    def takes(self, step: type[ScenarioStep]) -> bool:
        """Return whether it has such a step."""
        return not (step.by_channel and self.library.traits.commands_only)

    def logs_in_by(self, auth: Auth) -> bool:
        """Return whether it logs in this way."""
        return auth in self.library.traits.logins

    def asks_for_new_keys(self) -> bool:
        """Return whether it has a limit after which it asks for new keys."""
        return "rekeyLimit" not in self.library.traits.lacks

    def part_or(self, part: str, whole: str) -> str:
        """Return the name of a part, or that of the whole step where parts are not told apart."""
        return part if self.times_parts else whole

    def client(self, **timeouts_s: float) -> Client:
        """Return the client, whose timeouts are long but for those given."""
        return replace(client(**timeouts_s), library=self.library, control_master=self.control_master)


SSH2_PYTHON = Kind(Library.SSH2_PYTHON)
PARAMIKO = Kind(Library.PARAMIKO)
ASYNCSSH = Kind(Library.ASYNCSSH)
OPENSSH = Kind(Library.OPENSSH)
OPENSSH_SHARED = Kind(Library.OPENSSH, control_master=True)
MINA_SSHD = Kind(Library.MINA_SSHD)
KINDS = (SSH2_PYTHON, PARAMIKO, ASYNCSSH, OPENSSH, OPENSSH_SHARED, MINA_SSHD)


def _each(kinds: tuple[Kind, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", kinds, ids=str)


def every_kind_usually(*usual: Kind) -> pytest.MarkDecorator:
    """Return the mark of a test for every kind, of which `make test` takes these."""
    rows = [pytest.param(kind, marks=() if kind in usual else pytest.mark.full) for kind in KINDS]
    return pytest.mark.parametrize("kind", rows, ids=str)


def those_that_log_in_by(auth: Auth) -> tuple[Kind, ...]:
    """Return the kinds that log in this way."""
    return tuple(kind for kind in KINDS if kind.logs_in_by(auth))


def each_by(*auths: Auth, usually_once: bool = False) -> pytest.MarkDecorator:
    """Return the mark of a test for each kind by each of these ways to log in that it has.

    Where that is usually once, `make test` takes one way for each kind, and each way for some kind.
    """
    rows = []
    for turn, kind in enumerate(KINDS):
        ways = [auth for auth in auths if kind.logs_in_by(auth)]
        for auth in ways:
            is_usual = not usually_once or auth is ways[turn % len(ways)]
            rows.append(pytest.param(kind, auth, id=f"{kind}-{auth}", marks=() if is_usual else pytest.mark.full))
    return pytest.mark.parametrize(("kind", "auth"), rows)


KINDS_WITH_SCP = tuple(kind for kind in KINDS if kind.takes(ScpReadStep))
KINDS_IN_THE_PROCESS = tuple(kind for kind in KINDS if kind.times_parts)

every_kind = _each(KINDS)
every_kind_with_scp = _each(KINDS_WITH_SCP)
every_kind_with_shells = _each(tuple(kind for kind in KINDS if kind.takes(ShellStep)))
every_kind_with_rekeys = _each(tuple(kind for kind in KINDS if kind.asks_for_new_keys()))
every_kind_with_forwards = _each(tuple(kind for kind in KINDS if kind.takes(ForwardStep)))
every_kind_with_jump_hosts = _each(tuple(kind for kind in KINDS if kind.has_jump_hosts))
every_kind_in_the_process = _each(KINDS_IN_THE_PROCESS)
