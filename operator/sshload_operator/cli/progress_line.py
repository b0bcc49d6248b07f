"""The live line of a run, rendered from the status: one line rewritten on a terminal, else a line now and then."""

import os
import time
from typing import TextIO

from sshload_operator.api.status.capacity import SearchStatus
from sshload_operator.api.status.load_test import TestHead
from sshload_operator.cli.capacity_table import between
from sshload_operator.cli.plain_text import milliseconds, printable
from sshload_operator.state import Phase

_LINE_EVERY_S = 5.0
_COLUMNS = 79
_CLEAR = "\r\x1b[K"


def progress_text(status: TestHead) -> str:
    """Return where a test stands, in one line."""
    phase, progress = status.phase or Phase.PENDING, status.progress
    if progress is None or phase is Phase.FINISHED:
        return printable(f"{phase}: {status.message}" if status.message else phase)
    whole_s = progress.elapsed_seconds + progress.remaining_seconds
    held = f"{progress.held:,} held  " if progress.held else ""
    return (
        f"{phase} {progress.stage or ''} {_search(progress.search)}{progress.elapsed_seconds:.0f}/{whole_s:.0f} s  "
        f"{progress.offered_rate:,.1f}/s offered  {progress.completed_rate:,.1f}/s completed  "
        f"{held}{progress.in_flight:,} in flight  p99 {milliseconds(progress.p99_ms)} ms  "
        f"{progress.failures:,} of {progress.iterations:,} failed"
        f"{'' if progress.error_percent is None else f' ({progress.error_percent:.2f} %)'}"
    )


def _search(search: SearchStatus | None) -> str:
    """Return which trial of a search it is; empty where there is no search."""
    if search is None:
        return ""
    bounds = between(search.lower_bound, search.upper_bound)
    at = f"trial {search.trial} at {search.amount:,.6g} {search.unit}"
    return f"{at}, {bounds}  " if bounds else f"{at}  "


class ProgressLine:
    """Shows the line on `stream`. `close` ends it, so that what follows stands on a line of its own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rewrite = stream.isatty()
        self._shown = ""
        self._shown_at_s = 0.0

    def show(self, text: str) -> None:
        """Show where the run stands, unless that was just said."""
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
