"""The live view of a run on a terminal: time left, rates, latencies as a curve, failures by kind, a search's trials."""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sshload_operator.api.inert_text import printable
from sshload_operator.api.status.capacity import SearchStatus
from sshload_operator.api.status.load_test import Progress, TestHead
from sshload_operator.cli.view.progress import search_words
from sshload_operator.cli.view.text import amount_text, bar, in_encoding, mark, milliseconds, sparkline
from sshload_operator.state import Phase

if TYPE_CHECKING:
    from datetime import datetime

_REFRESHES_PER_S: Final = 4
_CURVE_POINTS: Final = 32
_BAR: Final = 30
_TRIALS_SHOWN: Final = 8


@dataclass(slots=True)
class _Trial:
    amount: float
    passed: bool | None = None


class LiveView:
    """Draws on a terminal, and redraws in place. What is said stays above it."""

    shows_target = True

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self._live = Live(console=self._console, refresh_per_second=_REFRESHES_PER_S, transient=True)
        self._curve: deque[float | None] = deque(maxlen=_CURVE_POINTS)
        self._trials: dict[int, _Trial] = {}
        self._last: Progress | None = None
        self._started: datetime | None = None

    def stand(self, status: TestHead, target_cores: float | None = None) -> None:
        """Show the progress of a test, except its end, which the result states."""
        progress, phase = status.progress, status.phase or Phase.PENDING
        if phase is Phase.FINISHED or status.start_time != self._started:
            self._forget()
            self._started = status.start_time
        if phase is Phase.FINISHED:
            return
        if progress is None:
            self.show(f"{phase}: {status.message}" if status.message else phase)
            return
        if progress != self._last:
            self._last = progress
            self._curve.append(progress.recent_p50_ms)
            self._note_trial(progress.search)
        self._draw(self._picture(phase, progress, target_cores))

    def show(self, text: str) -> None:
        """Show a line of progress."""
        self._draw(Text(self._writable(text), overflow="fold"))

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(Text(self._writable(text)))

    def close(self) -> None:
        """Take the view away."""
        self._live.stop()

    def _forget(self) -> None:
        """Clear the figures of the last run before those of the next one are shown."""
        self._curve.clear()
        self._trials.clear()
        self._last = None

    def _writable(self, text: str) -> str:
        return in_encoding(printable(text), self._console.encoding)

    def _draw(self, picture: RenderableType) -> None:
        self._live.update(picture)
        if not self._live.is_started:
            self._live.start(refresh=True)

    def _picture(self, phase: Phase, progress: Progress, target_cores: float | None) -> RenderableType:
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(style="bold", no_wrap=True)
        rows.add_column(overflow="fold")
        for label, text in (
            ("rate", _rates(progress)),
            ("latency", _latency(progress)),
            ("curve", sparkline(tuple(self._curve))),  # in a row of its own, because a line may be wrapped at its gaps
            ("failed", _failures(progress)),
            *((("server", f"{target_cores:.2f} cores used"),) if target_cores is not None else ()),
            *((("search", search_words(progress.search)),) if progress.search is not None else ()),
        ):
            rows.add_row(label, Text(self._writable(text)))
        trials = (self._trials_grid(),) if self._trials else ()
        return Group(_time(phase, progress), rows, *trials)

    def _trials_grid(self) -> Table:
        trials = list(self._trials.values())
        most = max(trial.amount for trial in trials)
        table = Table.grid(padding=(0, 2, 0, 0))
        for trial in trials[-_TRIALS_SHOWN:]:
            sign = "…" if trial is trials[-1] else mark(trial.passed)
            cells = (sign, bar(trial.amount, most, _BAR), amount_text(trial.amount))
            table.add_row(*(Text(self._writable(cell)) for cell in cells))
        return table

    def _note_trial(self, search: SearchStatus | None) -> None:
        """Remember the trial under way, and whether earlier ones passed or failed, as far as the bounds tell."""
        if search is None:
            return
        self._trials.setdefault(search.trial, _Trial(search.amount))
        for number, trial in self._trials.items():
            if number == search.trial:
                continue
            if search.lower_bound is not None and trial.amount <= search.lower_bound:
                trial.passed = True
            elif search.upper_bound is not None and trial.amount >= search.upper_bound:
                trial.passed = False


def _time(phase: Phase, progress: Progress) -> Table:
    whole_s = progress.elapsed_seconds + progress.remaining_seconds
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_row(
        Text(f"{phase} {progress.stage or ''}".strip(), "bold"),
        ProgressBar(total=max(whole_s, 1.0), completed=progress.elapsed_seconds, width=_BAR),
        Text(f"{progress.elapsed_seconds:.0f} of {whole_s:.0f} s, {progress.remaining_seconds:.0f} s left"),
    )
    return line


def _rates(progress: Progress) -> str:
    rates = f"{progress.offered_rate:,.1f}/s offered, {progress.completed_rate:,.1f}/s completed"
    held = f", {progress.held:,} held" if progress.held else ""
    return f"{rates}, {progress.in_flight:,} in flight{held}"


def _latency(progress: Progress) -> str:
    now = "" if progress.recent_p50_ms is None else f", now p50 {milliseconds(progress.recent_p50_ms)} ms"
    return f"p50 {milliseconds(progress.p50_ms)} ms, p99 {milliseconds(progress.p99_ms)} ms{now}"


def _failures(progress: Progress) -> str:
    share = "" if progress.error_percent is None else f" ({progress.error_percent:.2f} %)"
    kinds = ", ".join(f"{kind.outcome} {kind.count:,}" for kind in progress.failure_kinds)
    return f"{progress.failures:,} of {progress.iterations:,}{share}{f': {kinds}' if kinds else ''}"
