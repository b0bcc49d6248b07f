"""What a run can put in the path to its managed target: a field of `target.managed`, by the name that InPath has."""

from collections.abc import Iterator
from typing import ClassVar

from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets.access import SSH, Access


class ProgramInPath:
    """A program between the workers, or the last jump host, and the server."""

    __slots__ = ()
    access: ClassVar[Access] = SSH
    """How the workers use the target through it."""
    words: ClassVar[str]
    """In words what may be short of something that sshload does not see."""

    def cautions(self, most: float, sshd: Sshd) -> Iterator[str]:
        """Yield what its author should know, if there are at most so many iterations at once."""
        del most, sshd
        return iter(())
