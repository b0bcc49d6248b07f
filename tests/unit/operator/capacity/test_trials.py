"""Which trials a conclusion rests on, and when a trial of the smallest load shows nothing of the server."""

from dataclasses import replace

import pytest
from plans import plan
from runs import load
from searches import ERRORS, P99, failed, found_118, passed, search_plan, searched
from sshload_contract.thresholds import LatencyThreshold, ThresholdResult
from sshload_contract.vocabulary import SearchEnd
from sshload_contract.wire.run_summary import RunSummary, Trial
from sshload_operator.decision.capacity.trials import Searched, capacity_in_words, search_of, unjudged_least

P50 = LatencyThreshold("total", 50, 1.0).terms
ASKED = search_plan(
    thresholds=[
        {"latency": {"step": "total", "percentile": 50, "below": "1s"}},
        {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
        {"errorRate": {"below": "1%"}},
    ]
)
"""p99 needs 299 samples, p50 a few."""


def in_search(found: RunSummary) -> Searched:
    search = search_of(ASKED, found)
    assert search is not None
    return search


def trial(begun: int, **met: bool | None) -> Trial:
    """Return a failed trial of the least with so many iterations, and with what is known of each threshold."""
    terms = {"p50": P50, "p99": P99, "errors": ERRORS}
    results = tuple(ThresholdResult(one, None, met.get(name, True)) for name, one in terms.items())
    return replace(failed(10), thresholds=results, load=load(begun))


def shows_nothing(*trials: Trial) -> bool:
    found = in_search(searched(*trials, end=SearchEnd.LEAST_BROKEN, upper=10))
    return unjudged_least(ASKED, found) is not None


def test_a_run_that_was_asked_for_no_search_has_none_whatever_its_master_says() -> None:
    assert search_of(plan(), found_118()) is None


@pytest.mark.parametrize(
    ("begun", "met", "nothing"),
    [
        pytest.param(298, {"p99": None}, True, id="one less than p99 needs"),
        pytest.param(299, {"p99": None}, False, id="as many as p99 needs"),
        pytest.param(298, {"p99": None, "errors": False}, False, id="another threshold broke"),
        pytest.param(298, {"p99": None, "errors": None}, True, id="errors are not known either"),
        pytest.param(298, {"p50": None}, False, id="only p50 is not known"),
        pytest.param(100, {"p50": None, "p99": None}, True, id="p50 has enough and p99 has not"),
        pytest.param(298, {"errors": None}, False, id="errors alone are not known"),
        pytest.param(0, {}, False, id="it failed by nothing that takes samples"),
    ],
)
def test_a_trial_shows_nothing_if_it_had_too_few_iterations_for_what_is_not_known(
    begun: int, met: dict[str, bool | None], *, nothing: bool
) -> None:
    assert shows_nothing(trial(begun, **met)) is nothing


def test_most_of_the_trials_that_failed_decide() -> None:
    nothing, broken = trial(298, p99=None), trial(298, p99=False)
    assert shows_nothing(nothing, nothing, broken)
    assert not shows_nothing(nothing, broken)


def test_a_bound_above_the_least_that_failed_stands_whatever_its_trials_lacked() -> None:
    found = in_search(searched(passed(118), replace(trial(298, p99=None), amount=121), lower=118, upper=121))
    assert unjudged_least(ASKED, found) is None
    assert capacity_in_words(found) == "118 arrivals/s"
