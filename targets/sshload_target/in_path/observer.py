"""ProgramObserver: what a program in the path has used, as ProgramStats."""

import threading

from sshload_contract.wire.program import ProgramStats

from sshload_target.sshd.network import is_listening
from sshload_target.usage.process_tree import read_program_usage
from sshload_target.usage.resources import choose_reader


class ProgramObserver:
    """The program under this process, which listens on `port`. From any thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._was_ready = False
        self._cpu_s = 0.0
        self._memory_peak_bytes: int | None = None
        self._container = choose_reader()

    @property
    def ready(self) -> bool:
        """Whether it listens, or has: no connection is made to see that, which would reach the server."""
        self._was_ready = self._was_ready or is_listening(self._port)
        return self._was_ready

    def stats(self) -> ProgramStats:
        """Return what it has used by now. No total falls when a process of it ends."""
        with self._lock:
            usage = read_program_usage()
            self._cpu_s = max(self._cpu_s, usage.cpu_s)
            if usage.memory_peak_bytes is not None:
                self._memory_peak_bytes = max(self._memory_peak_bytes or 0, usage.memory_peak_bytes)
            return ProgramStats(
                cpu_s=self._cpu_s,
                cpu_throttled_s=self._container.read().cpu_throttled_s,
                memory_peak_bytes=self._memory_peak_bytes,
            )
