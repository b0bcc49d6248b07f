"""`sshload run` on a terminal of 80 columns: the live view, Ctrl-C as it is typed, and the result."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from uuid import uuid4

from local_cli import ENDS_WITHIN_S, SSHLOAD, running, write_test

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CTRL_C = b"\x03"


class Terminal:
    """A command on a terminal of its own, and all that it has shown."""

    def __init__(self, *command: str | Path) -> None:
        self.shown = ""
        self._keys, line = pty.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command],
            stdin=line,
            stdout=line,
            stderr=line,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        os.close(line)

    def read_until(self, words: str) -> None:
        """Read until the command has shown these words."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while words not in self.shown:
            assert time.monotonic() < deadline, f"no {words!r} in {self.shown!r}"
            assert self._read(), f"ended without {words!r}: {self.shown!r}"

    def type(self, keys: bytes) -> None:
        """Type on the terminal."""
        os.write(self._keys, keys)

    def wait(self) -> int:
        """Read to the end, and return the exit code."""
        while self._read():
            pass
        os.close(self._keys)
        return self.process.wait(ENDS_WITHIN_S)

    def _read(self) -> bool:
        if not select.select([self._keys], [], [], ENDS_WITHIN_S)[0]:
            return False
        try:
            self.shown += os.read(self._keys, 65_536).decode(errors="replace")
        except OSError:  # nobody has the terminal open any more
            return False
        return True


def test_ctrl_c_takes_the_live_view_away_and_prints_what_was_measured(tmp_path: Path) -> None:
    said = f"echo {uuid4().hex}"
    steps = [{"exec": {"command": said}}]
    load = {"arrivals": {"rate": 2, "duration": "5m"}}
    terminal = Terminal(SSHLOAD, "run", write_test(tmp_path, scenario={"steps": steps}, load=load))
    terminal.read_until("Running measuring")
    terminal.read_until("cores used")
    terminal.read_until(" %)")  # of failures, which is not there before an iteration has ended
    terminal.type(CTRL_C)
    assert terminal.wait() == 5, terminal.shown
    live, _, result = ESCAPES.sub("", terminal.shown).rpartition("Aborted (AbortRequested)")
    assert "latency" in live
    assert "Traceback" not in terminal.shown
    assert "total" in result
    assert max(map(len, result.splitlines())) <= 80
    assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rindex("\x1b[?25l")
    assert running(said) == []
