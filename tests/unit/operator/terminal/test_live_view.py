"""What a terminal shows of a run: the live view, and results in colour."""

import fcntl
import io
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import pytest
from rich.console import Console
from sshload_operator.cli.view.live import LiveView
from sshload_operator.cli.view.page import Check, Page, show
from sshload_operator.cli.view.progress import progress_view
from sshload_operator.cli.view.text import bar, in_encoding, sparkline
from statuses import read_test_status

COLUMNS = 80
END = "[the end of what was written]"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PROGRESS: dict[str, Any] = {
    "stage": "measuring",
    "elapsedSeconds": 12.0,
    "remainingSeconds": 23.0,
    "workersConnected": 2,
    "users": 0,
    "inFlight": 3,
    "offeredRate": 20.0,
    "completedRate": 19.0,
    "iterations": 240,
    "failures": 6,
    "errorPercent": 2.5,
    "p50Ms": 40.2,
    "recentP50Ms": 41.0,
    "p99Ms": 90.1,
    "failureKinds": [{"outcome": "throttled", "count": 4}, {"outcome": "connectTimeout", "count": 2}],
}
PAGE = Page("one", "Failed (ThresholdBroken)", "1 of 2 thresholds was broken", False,
            checks=(Check("p99", "p99 of total below 2 s: 2.4 s, 20 % above", False),))  # fmt: skip

WIDE_PAGE = Page("one", "Failed (ThresholdBroken)", "and so on " * 200, False)


@contextmanager
def terminal(columns: int = COLUMNS, encoding: str = "utf-8") -> Iterator[tuple[TextIO, int]]:
    """Give a terminal of this width to write to, and where to read what was written."""
    reads, writes = pty.openpty()
    fcntl.ioctl(writes, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(writes, "w", encoding=encoding, errors="backslashreplace") as stream:
        try:
            yield stream, reads
        finally:
            stream.flush()
            os.close(reads)


def written(stream: TextIO, reads: int) -> str:
    """Return all that a terminal was sent, which comes in pieces, and when the kernel has a turn for it."""
    stream.write(END)
    stream.flush()
    found = b""
    while not found.endswith(END.encode()):
        found += os.read(reads, 65_536)
    return found.decode().removesuffix(END)


def picture(*progresses: dict[str, Any], cores: float | None = None) -> list[str]:
    """Return what the live view shows after these progresses, at 80 columns."""
    return picture_of(
        *({"phase": "Running", "progress": {**PROGRESS, **progress}} for progress in progresses), cores=cores
    )


def picture_of(*statuses: dict[str, Any], cores: float | None = None, encoding: str = "utf-8") -> list[str]:
    """Return what the live view shows after these statuses, at 80 columns."""
    with terminal(encoding=encoding) as (stream, _):
        view = LiveView(stream)
        try:
            for status in statuses:
                view.stand(read_test_status(status), cores)
            console = Console(width=COLUMNS, color_system=None)
            with console.capture() as captured:
                console.print(view._live.get_renderable())
        finally:
            view.close()
    return captured.get().splitlines()


def row(shown: list[str], label: str) -> str:
    return next(line for line in shown if line.startswith(f"{label} "))


def test_the_view_says_how_long_how_fast_and_how_well() -> None:
    shown = picture({}, cores=1.424)
    assert shown[0].startswith("Running measuring")
    assert shown[0].endswith("12 of 35 s, 23 s left")
    assert "20.0/s offered, 19.0/s completed, 3 in flight" in row(shown, "rate")
    assert "p50 40.2 ms, p99 90.1 ms, now p50 41.0 ms" in row(shown, "latency")
    assert "6 of 240 (2.50 %): throttled 4, connectTimeout 2" in row(shown, "failed")
    assert "1.42 cores used" in row(shown, "server")
    assert max(map(len, shown)) <= COLUMNS


def test_a_target_that_is_not_asked_has_no_row() -> None:
    assert not [line for line in picture({}) if line.startswith("server")]


def test_latencies_are_a_curve_of_what_came_last() -> None:
    shown = picture(*({"elapsedSeconds": at, "recentP50Ms": ms} for at, ms in ((1, 10), (2, 80), (3, 40))))
    assert row(shown, "curve").split() == ["curve", sparkline((10, 80, 40))]


def test_without_completions_the_curve_has_a_gap_and_no_low_point() -> None:
    medians = (None, *range(1, 30), None, 80)
    shown = picture(*({"elapsedSeconds": at, "recentP50Ms": ms} for at, ms in enumerate(medians)))
    assert row(shown, "curve").rstrip().removeprefix("curve    ") == sparkline(medians)
    assert sparkline((None, 0.0, None)) == " ▁ "


@pytest.mark.parametrize("between", [[{"phase": "Finished", "verdict": "Passed"}], []], ids=["finished", "new-run"])
def test_a_new_run_begins_with_an_empty_picture(between: list[dict[str, Any]]) -> None:
    search = {"trial": 1, "amount": 4321, "unit": "arrivals/s"}
    first = {"startTime": "2026-11-24T10:00:00Z", "progress": {**PROGRESS, "recentP50Ms": 900, "search": search}}
    then = {"startTime": "2026-11-24T10:01:00Z", "progress": {**PROGRESS, "recentP50Ms": 10}}
    shown = picture_of({"phase": "Running", **first}, *between, {"phase": "Running", **then})
    assert "4,321" not in "\n".join(shown)
    assert row(shown, "curve").split() == ["curve", sparkline((10,))]


def test_a_terminal_without_these_signs_has_ascii_ones() -> None:
    search = {"trial": 1, "amount": 10, "unit": "arrivals/s"}
    second = {"trial": 2, "amount": 140, "unit": "arrivals/s", "lowerBound": 10}
    statuses = ({"phase": "Running", "progress": {**PROGRESS, "search": one}} for one in (search, second))
    text = "\n".join(picture_of(*statuses, encoding="ascii"))
    assert "\\u" not in text
    assert re.search(r"^\+ +#+ +10 *$", text, re.MULTILINE)
    with terminal(encoding="ascii") as (stream, reads):
        view = LiveView(stream)
        view.show("PreparingTarget: ✓ " + "long " * 40)
        view.say("✗ a note")
        view.close()
        assert "\\u" not in written(stream, reads)


def test_a_terminal_that_cannot_be_drawn_on_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal() as (stream, reads):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("TERM", "dumb")
        progress_view().stand(read_test_status({"phase": "Running", "progress": PROGRESS}))
        assert "Running measuring 12/35 s" in written(stream, reads)


def test_a_search_is_a_picture_of_its_trials() -> None:
    first = {"trial": 1, "amount": 10, "unit": "arrivals/s"}
    second = {"trial": 2, "amount": 140, "unit": "arrivals/s", "lowerBound": 10}
    third = {"trial": 3, "amount": 70, "unit": "arrivals/s", "lowerBound": 10, "upperBound": 140}
    shown = picture(*({"search": search} for search in (first, second, third)))
    assert "trial 3 at 70 arrivals/s, between 10 and 140" in row(shown, "search")
    trials = [line.split() for line in shown[-3:]]
    assert [(sign, amount) for sign, _, amount in trials] == [("✓", "10"), ("✗", "140"), ("…", "70")]
    assert len(trials[0][1]) < len(trials[2][1]) < len(trials[1][1])


def test_the_end_takes_the_view_away_and_leaves_the_cursor() -> None:
    with terminal() as (stream, reads):
        view = LiveView(stream)
        view.show("PreparingTarget: sshd\x1b]0;title\x07 starts")
        view.say("a note")
        view.close()
        view.close()
        text = written(stream, reads)
    assert "\x1b]0" not in text
    assert "a note" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_colour_is_for_terminals_and_for_those_who_want_it(
    *, no_colour: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_colour)
    with terminal() as (stream, reads):
        show(PAGE, stream)
        text = written(stream, reads)
    assert ("\x1b[1;31m" in text or "\x1b[31m" in text) == coloured
    assert "✗  p99 of total below 2 s" in ESCAPES.sub("", text)


def test_a_page_is_as_wide_as_its_terminal() -> None:
    with terminal(40) as (stream, reads):
        show(PAGE, stream)
        lines = ESCAPES.sub("", written(stream, reads)).splitlines()
    assert 20 < max(map(len, lines)) <= 40


@pytest.mark.parametrize(
    ("columns", "most"),
    [("40", 40), ("", 80), ("-3", 80), ("wide", 80), ("99999", 1000)],
    ids=["narrow", "empty", "negative", "no number", "endless"],
)
def test_a_page_in_a_file_is_as_wide_as_columns_says(columns: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    stream = io.StringIO()
    show(WIDE_PAGE, stream)
    assert most - 20 < max(map(len, stream.getvalue().splitlines())) <= most


def test_what_a_stream_cannot_write_is_written_in_ascii() -> None:
    assert in_encoding("✓ ✗ ? ██ 東", "ascii") == "+ x ? ## ?"
    assert in_encoding("✓ 東", "utf-8") == "✓ 東"


def test_a_bar_of_something_is_never_empty_and_none_of_nothing() -> None:
    assert (bar(0.001, 100, 10), bar(0, 100, 10), bar(100, 100, 10)) == ("█", "", "█" * 10)
