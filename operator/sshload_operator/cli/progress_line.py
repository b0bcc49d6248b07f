"""The live line of a run, rendered from the status: one line rewritten on a terminal, else a line now and then."""

import os
import time
from collections.abc import Mapping
from typing import Any, TextIO

from sshload_operator.cli.capacity_table import between
from sshload_operator.cli.plain_text import Status, milliseconds, printable

_LINE_EVERY_S = 5.0
_COLUMNS = 79
_CLEAR = "\r\x1b[K"


def progress_text(status: Mapping[str, Any]) -> str:
    """Return where the run stands, in one line."""
    phase = status.get("phase", "Pending")
    progress = status.get("progress")
    if progress is None or phase == "Finished":
        message = status.get("message", "")
        return printable(f"{phase}: {message}" if message else str(phase))
    whole_s = progress["elapsedSeconds"] + progress["remainingSeconds"]
    percent = progress.get("errorPercent")
    held = f"{progress['held']:,} held  " if progress.get("held") else ""
    return (
        f"{phase} {progress.get('stage', '')} {_search(progress)}{progress['elapsedSeconds']:.0f}/{whole_s:.0f} s  "
        f"{progress['offeredRate']:,.1f}/s offered  {progress['completedRate']:,.1f}/s completed  "
        f"{held}{progress['inFlight']:,} in flight  p99 {milliseconds(progress.get('p99Ms'))} ms  "
        f"{progress['failures']:,} of {progress['iterations']:,} failed"
        f"{'' if percent is None else f' ({percent:.2f} %)'}"
    )


def _search(progress: Status) -> str:
    """Return which trial of a search it is; empty where there is no search."""
    search = progress.get("search")
    if search is None:
        return ""
    bounds = between(search.get("lowerBound"), search.get("upperBound"))
    at = f"trial {search['trial']} at {search['amount']:,.6g} {search['unit']}"
    return f"{at}, {bounds}  " if bounds else f"{at}  "


class ProgressLine:
    """Shows the line on `stream`. `close` ends it, so that what follows stands on a line of its own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rewrite = stream.isatty()
        self._shown = ""
        self._shown_at_s = 0.0

    def show(self, status: Mapping[str, Any]) -> None:
        """Show where the run stands, unless that was just said."""
        text = progress_text(status)
        if self._rewrite:
            if text != self._shown:
                self._stream.write(f"{_CLEAR}{text[: self._columns()]}")
        elif self._is_due(text):
            self._stream.write(f"{text}\n")
        else:
            return
        self._stream.flush()
        self._shown, self._shown_at_s = text, time.monotonic()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.close()
        self._stream.write(f"{printable(text)}\n")
        self._stream.flush()
        self._shown = ""

    def close(self) -> None:
        """Take the line away from a terminal."""
        if self._rewrite and self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def _columns(self) -> int:
        """Return how much fits: a line that wraps cannot be rewritten."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns - 1
        except OSError:
            return _COLUMNS

    def _is_due(self, text: str) -> bool:
        """Say a new phase at once, the same one's figures only every few seconds."""
        if text == self._shown:
            return False
        same_phase = text.partition(" ")[0] == self._shown.partition(" ")[0]
        return not same_phase or time.monotonic() - self._shown_at_s >= _LINE_EVERY_S
