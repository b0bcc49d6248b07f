"""What makes a load run again: the generator's own delay, and nothing else that a test of a comparison lacks."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from generator_reruns import MOST_RERUNS, RERUNS_FILE, lagged_comparison, lagged_figures, rerun_while_lagging

MEASURED = {"test": "c-1-a", "verdict": "Passed", "figures": {"total.p50Ms": 40.0}}
LAGGED = {"test": "c-1-b", "verdict": "Passed", "problem": "its figures may include 30 ms", "uid": "u", "repeats": 2}
BROKEN = {"test": "c-1-b", "verdict": "Error", "problem": "Error: the target was lost"}


def runs_of(status: Mapping[str, Any], lagged: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> int:
    """Return how often is run what ends so."""
    runs = []
    rerun_while_lagging(lambda: runs.append(status), lambda _: lagged(status))
    return len(runs)


@pytest.mark.parametrize(
    ("tests", "runs"),
    [
        pytest.param([MEASURED, LAGGED], 1 + MOST_RERUNS, id="a test that lagged to the last"),
        pytest.param([MEASURED, MEASURED], 1, id="all were measured"),
        pytest.param([MEASURED, BROKEN], 1, id="a test that ended otherwise"),
        pytest.param([], 1, id="none was made"),
    ],
)
def test_a_comparison_runs_again_where_one_of_its_tests_lagged(
    monkeypatch: pytest.MonkeyPatch, tests: list[dict[str, object]], runs: int
) -> None:
    monkeypatch.delenv(RERUNS_FILE, raising=False)  # these count for nothing
    assert runs_of({"tests": tests}, lagged_comparison) == runs


@pytest.mark.parametrize(
    ("generator", "runs"),
    [
        pytest.param({"latenciesMayIncludeMs": 30.5}, 1 + MOST_RERUNS, id="figures that lagged to the last"),
        pytest.param({}, 1, id="figures that hold"),
    ],
)
def test_a_run_whose_figures_are_needed_runs_again_where_the_generator_spoilt_them(
    monkeypatch: pytest.MonkeyPatch, generator: dict[str, object], runs: int
) -> None:
    monkeypatch.delenv(RERUNS_FILE, raising=False)
    assert runs_of({"verdict": "Passed", "reason": "Some", "results": {"generator": generator}}, lagged_figures) == runs
