import io
from typing import Any

import pytest
from sshload_operator.cli.view.progress import ProgressLines, progress_text
from statuses import read_test_status

RUNNING: dict[str, Any] = {
    "phase": "Running",
    "progress": {
        "stage": "measuring",
        "elapsedSeconds": 12.3,
        "remainingSeconds": 22.7,
        "workersConnected": 2,
        "users": 0,
        "inFlight": 3,
        "offeredRate": 20.0,
        "completedRate": 19.0,
        "iterations": 240,
        "failures": 6,
        "errorPercent": 2.5,
        "p99Ms": 43.21,
    },
}


def text_of(status: dict[str, Any]) -> str:
    return progress_text(read_test_status(status))


def later(seconds: float) -> dict[str, Any]:
    return {**RUNNING, "progress": {**RUNNING["progress"], "elapsedSeconds": 12.3 + seconds}}


def test_held_sessions_are_counted_while_there_are_any() -> None:
    holding = {**RUNNING, "progress": {**RUNNING["progress"], "held": 5000}}
    assert "19.0/s completed  5,000 held  3 in flight" in text_of(holding)


def test_the_line_says_how_far_how_fast_and_how_well() -> None:
    assert text_of(RUNNING) == (
        "Running measuring 12/35 s  20.0/s offered  19.0/s completed  3 in flight  p99 43.2 ms  "
        "6 of 240 failed (2.50 %)"
    )


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        pytest.param({}, "", id="nothing-known-yet"),
        pytest.param({"lowerBound": 100}, ", above 100", id="nothing-has-failed"),
        pytest.param({"upperBound": 140}, ", below 140", id="nothing-has-passed"),
        pytest.param({"lowerBound": 100, "upperBound": 140.5}, ", between 100 and 140.5", id="both"),
    ],
)
def test_of_a_search_the_line_says_which_trial_it_is_and_how_far_it_came(bounds: dict[str, Any], words: str) -> None:
    search = {"trial": 4, "amount": 120, "unit": "arrivals/s", **bounds}
    text = text_of({**RUNNING, "progress": {**RUNNING["progress"], "search": search}})
    assert text.startswith(f"Running measuring trial 4 at 120 arrivals/s{words}  12/35 s  20.0/s offered")


def test_before_any_figures_the_line_says_what_is_waited_for() -> None:
    assert text_of({"phase": "PreparingTarget", "message": "sshd\nstarts"}) == "PreparingTarget: sshd starts"


def test_without_a_status_the_test_is_pending() -> None:
    assert text_of({}) == "Pending"


def test_elsewhere_a_new_phase_is_a_line_and_figures_of_the_same_second_are_not() -> None:
    stream = io.StringIO()
    line = ProgressLines(stream)
    line.show(text_of({"phase": "PreparingTarget"}))
    line.show(text_of(RUNNING))
    line.show(text_of(later(1)))
    line.close()
    assert stream.getvalue() == f"PreparingTarget\n{text_of(RUNNING)}\n"
