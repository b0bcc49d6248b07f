"""Every client that a run can ask for, as parameters of tests."""

from dataclasses import dataclass, replace

import pytest
from run_configs import client
from sshload_contract.client import Client, Library


@dataclass(frozen=True)
class Kind:
    """One client library, and how it is used."""

    library: Library
    control_master: bool = False

    @property
    def times_parts(self) -> bool:
        """Whether the parts of an operation are told apart."""
        return self.library not in {Library.OPENSSH, Library.MINA_SSHD}

    def part_or(self, part: str, whole: str) -> str:
        """Return the name of a part, or that of the whole step where parts are not told apart."""
        return part if self.times_parts else whole

    def client(self, **timeouts_s: float) -> Client:
        """Return the client, whose timeouts are long but for those given."""
        return replace(client(**timeouts_s), library=self.library, control_master=self.control_master)


SSH2_PYTHON = Kind(Library.SSH2_PYTHON)
MINA = Kind(Library.MINA_SSHD)
KINDS = (
    SSH2_PYTHON,
    Kind(Library.PARAMIKO),
    Kind(Library.ASYNCSSH),
    Kind(Library.OPENSSH),
    Kind(Library.OPENSSH, control_master=True),
)


def _each(kinds: tuple[Kind, ...]) -> pytest.MarkDecorator:
    named = [pytest.param(kind, id=f"{kind.library}{'-shared' * kind.control_master}") for kind in kinds]
    return pytest.mark.parametrize("kind", named)


every_kind = _each(KINDS)
every_kind_and_java = _each((*KINDS, MINA))
every_kind_in_the_process = _each(tuple(kind for kind in KINDS if kind.times_parts))
