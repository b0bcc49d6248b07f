"""PortBoard: how many connections all processes of a pod have, for their source ports come from one range.

It is a piece of memory that they share, with one number for each process.
"""

import mmap
import os
from struct import Struct

_NUMBER = Struct("=Q")


def make_board(processes: int) -> int:
    """Return the descriptor of a new board's memory, which child processes may be given."""
    descriptor = os.memfd_create("sshload-ports")
    os.ftruncate(descriptor, processes * _NUMBER.size)
    return descriptor


class PortBoard:
    """The board as one process has it. With a negative descriptor there is no other process."""

    def __init__(self, descriptor: int, process: int) -> None:
        alone = descriptor < 0
        self._offset = 0 if alone else process * _NUMBER.size
        self._memory = mmap.mmap(descriptor, _NUMBER.size if alone else 0)

    def total(self, connections: int) -> int:
        """Put down how many connections this process has, and return how many all have."""
        _NUMBER.pack_into(self._memory, self._offset, connections)
        return sum(number for (number,) in _NUMBER.iter_unpack(self._memory))
