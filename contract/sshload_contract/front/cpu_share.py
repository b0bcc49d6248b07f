"""How often what costs CPU may be done for whoever asks: for at most a tenth of a CPU's time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SHARE: Final = 10


class CpuShare:
    """The share of one piece of work. `free_at_s` is the monotonic time from which it may be done again."""

    def __init__(self) -> None:
        self.free_at_s = 0.0

    @contextmanager
    def used(self) -> Iterator[None]:
        """Count the CPU time that this thread takes within. Work may be done in pieces, each of which counts."""
        begun_s = time.thread_time()
        try:
            yield
        finally:
            rest_s = (_SHARE - 1) * (time.thread_time() - begun_s)
            self.free_at_s = max(self.free_at_s, time.monotonic()) + rest_s
