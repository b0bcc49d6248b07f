"""A pause: for a time slapd runs no instruction and answers nothing, and its connections stay, as on a hung server."""

import os
import signal
import threading
import time
from contextlib import suppress

from sshload_contract.wire.ldap import DirectoryPause


class Pause:
    """Stops a process for `lasts_s` each time that it is asked to, but for once at a time. From any thread.

    It is continued by a thread of this process, whatever becomes of who asked.
    """

    def __init__(self, pid: int, lasts_s: float) -> None:
        self._pid = pid
        self._lasts_s = lasts_s
        self._lock = threading.Lock()
        self._began_s: float | None = None
        self._ended_s: float | None = None

    def begin(self) -> None:
        """Stop the process now, unless it is stopped; a process that is gone stays so."""
        with self._lock:
            if self._began_s is not None and self._ended_s is None:
                return
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGSTOP)
            self._began_s, self._ended_s = time.monotonic(), None
        ending = threading.Timer(self._lasts_s, self.end)
        ending.daemon = True
        ending.start()

    def end(self) -> None:
        """Let the process go on."""
        with self._lock:
            if self._began_s is None or self._ended_s is not None:
                return
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)
            self._ended_s = time.monotonic()

    @property
    def last(self) -> DirectoryPause | None:
        """The last one, by how long ago it began and ended; None if there was none."""
        with self._lock:
            now_s = time.monotonic()
            if self._began_s is None:
                return None
            ended_s = now_s if self._ended_s is None else self._ended_s
            return DirectoryPause(began_ago_s=now_s - self._began_s, ended_ago_s=max(now_s - ended_s, 0.0))
