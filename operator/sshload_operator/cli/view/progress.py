"""The progress of a run in one line, which is printed now and then if there is no terminal for the live view."""

import os
import sys
import time
from typing import Final, Protocol, TextIO

from sshload_operator.api.inert_text import inert_output, printable
from sshload_operator.api.status.capacity import SearchStatus
from sshload_operator.api.status.load_test import TestHead
from sshload_operator.cli.view.capacity import between
from sshload_operator.cli.view.text import amount_text, milliseconds
from sshload_operator.state import Phase

_LINE_EVERY_S: Final = 5.0
_CANNOT_DRAW: Final = ("dumb", "unknown")
"""The values of TERM for which rich draws nothing."""


class ProgressView(Protocol):
    """Shows the progress of a run. `close` ends it, so that further output begins on a new line."""

    shows_target: bool
    """Whether it shows how many cores the target uses."""

    def stand(self, status: TestHead, target_cores: float | None = None) -> None:
        """Show where a test stands."""

    def show(self, text: str) -> None:
        """Show in one line where something stands."""

    def say(self, text: str) -> None:
        """Print a line that stays."""

    def close(self) -> None:
        """Remove what does not stay."""


def progress_view() -> ProgressView:
    """Return a live view where standard error is a terminal that can be drawn on, else lines."""
    if sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in _CANNOT_DRAW:
        from sshload_operator.cli.view.live import LiveView  # noqa: PLC0415 - only a terminal has a use for it

        return LiveView(sys.stderr)
    return ProgressLines(sys.stderr)


def progress_text(status: TestHead) -> str:
    """Return the progress of a test in one line."""
    phase, progress = status.phase or Phase.PENDING, status.progress
    if progress is None:
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


def search_words(search: SearchStatus) -> str:
    """Return which trial of a search is under way, and the bounds so far."""
    bounds = between(search.lower_bound, search.upper_bound)
    at = f"trial {search.trial} at {amount_text(search.amount)} {search.unit}"
    return f"{at}, {bounds}" if bounds else at


def _search(search: SearchStatus | None) -> str:
    return "" if search is None else f"{search_words(search)}  "


class ProgressLines:
    """Lines on a stream that is not a terminal: a new phase at once, the figures of a phase every few seconds."""

    shows_target = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""
        self._shown_at_s = 0.0

    def stand(self, status: TestHead, target_cores: float | None = None) -> None:
        """Show the progress of a test, except its end, which the result states."""
        del target_cores
        if status.phase is not Phase.FINISHED:
            self.show(progress_text(status))

    def show(self, text: str) -> None:
        """Print where it stands, if that is due."""
        if not self._is_due(text):
            return
        self._print(text)
        self._shown, self._shown_at_s = text, time.monotonic()

    def say(self, text: str) -> None:
        """Print a line."""
        self._print(printable(text))
        self._shown = ""

    def close(self) -> None:
        """Do nothing: all lines stay."""

    def _print(self, text: str) -> None:
        self._stream.write(inert_output(f"{text}\n"))
        self._stream.flush()

    def _is_due(self, text: str) -> bool:
        if text == self._shown:
            return False
        same_phase = text.partition(" ")[0] == self._shown.partition(" ")[0]
        return not same_phase or time.monotonic() - self._shown_at_s >= _LINE_EVERY_S
