"""Promises judged by a lagging generator, beside the truth: the same draw of chance without the lag.

Each promise is tried at the worst limits that there are: the true value itself, which just misses it, and the next one
above, which just keeps it. So a verdict is wrong where the lag moved the value to the other side by any amount at all
and the rule did not see it. SSHLOAD_DRAWS sets how many loads of each kind are drawn; in
40 a fault that shows in 7 % of the loads is found with probability 0.95.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from lagging_generator import PERCENTILES, Draw, Seen, drawn, measured
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.threshold import judge_threshold
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Threshold, ThroughputThreshold
from sshload_contract.wire.run_summary import RunSummary

pytestmark = pytest.mark.xdist_group("own-delay")  # the loads are drawn once for all tests
DRAWS = int(os.environ.get("SSHLOAD_DRAWS", "40"))
OPEN = ("constant", "poisson")
ARRIVALS = (*OPEN, "burst", "users")
SPANS = ("total", "login", "command")
_US_PER_S = 1_000_000
_HIDDEN_SHARE = 0.02
_WIDE_S, _PROMPT_S, _LAG_US = 2.0, 0.5, 250_000


@dataclass(frozen=True, slots=True)
class Case:
    """One promise on one draw. `kept` is the truth, `passed` the judgement, None where there is none."""

    seed: int
    threshold: Threshold
    kept: bool
    passed: bool | None
    small_delay: bool

    @property
    def is_wrong(self) -> bool:
        """Whether the judgement is not the truth."""
        return self.passed is not None and self.passed is not self.kept


@cache
def loads(arrivals: str, *, limited: bool = False) -> tuple[tuple[int, Draw, Seen, Seen, RunSummary], ...]:
    """Return drawn loads with what is true of them and what was measured."""
    draws = [drawn(seed, arrivals, limited=limited) for seed in range(DRAWS)]
    return tuple((seed, draw, *measured(draw)) for seed, draw in enumerate(draws))


def latencies(arrivals: str, within: int = 0, without: int = 0, exact_us: int = 0) -> Iterator[Case]:
    """Yield a promise on each percentile of each span, at limits on both sides of the truth.

    They lie `within` so many of the largest delays below it and `without` so many above, and `exact_us` besides.
    """
    for seed, draw, truth, _, found in loads(arrivals):
        delay = own_delay(found.trial)
        for span in SPANS:
            for percentile in PERCENTILES:
                true_us = round(truth.percentile_s(span, percentile) * _US_PER_S)
                below_us = true_us - round(within * delay.largest_us) - exact_us
                above_us = true_us + round(without * delay.largest_us) + exact_us + 1
                for limit_us in (below_us, above_us):
                    if limit_us <= 0:
                        continue
                    threshold = LatencyThreshold(span, percentile, limit_us / _US_PER_S)
                    passed = judge_threshold(threshold, draw.load, found.trial).result.met
                    small = delay.is_small(percentile, limit_us)
                    yield Case(seed, threshold, true_us < limit_us, passed, small)


@pytest.mark.slow
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_a_generator_that_lags_calls_no_latency_met_or_broken_that_is_not(arrivals: str) -> None:
    cases = [case for case in latencies(arrivals) if not case.small_delay]
    assert [case for case in cases if case.is_wrong] == []
    assert len(cases) > DRAWS


@pytest.mark.parametrize("arrivals", OPEN)
def test_a_sound_generator_errs_by_no_more_than_two_of_its_largest_delays_or_ten(arrivals: str) -> None:
    cases = [case for case in latencies(arrivals, within=2, without=10, exact_us=1_000) if case.small_delay]
    assert [case for case in cases if case.is_wrong] == []
    assert len(cases) > DRAWS


@pytest.mark.slow
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_a_generator_that_lags_calls_no_error_rate_broken_that_is_not_or_met_that_is_not_by_two_percent(
    arrivals: str,
) -> None:
    """A delay can set connections apart that would have come together by chance, and hide a refusal or two."""
    cases = []
    for seed, draw, truth, _, found in loads(arrivals, limited=True):
        if own_delay(found.trial).is_small_beside_any_limit:
            continue
        for limit in (truth.error_rate - _HIDDEN_SHARE, truth.error_rate + 1e-9):
            if limit <= 0:
                continue
            threshold = ErrorRateThreshold(limit)
            passed = judge_threshold(threshold, draw.load, found.trial).result.met
            cases.append(Case(seed, threshold, truth.error_rate < limit, passed, small_delay=False))
    assert [case for case in cases if case.is_wrong] == []
    assert len(cases) > DRAWS / 2


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_a_generator_that_lags_calls_no_throughput_met_or_broken_that_is_not(arrivals: str) -> None:
    cases = []
    for seed, draw, truth, _, found in loads(arrivals):
        if own_delay(found.trial).is_small_beside_any_limit:
            continue
        true_rate = truth.inside / draw.until_s
        for above in (true_rate, true_rate * (1 - 1e-9)):
            threshold = ThroughputThreshold(above)
            passed = judge_threshold(threshold, draw.load, found.trial).result.met
            cases.append(Case(seed, threshold, true_rate > above, passed, small_delay=False))
    assert [case for case in cases if case.is_wrong] == []
    assert len(cases) > DRAWS / 2


@pytest.mark.parametrize("arrivals", OPEN)
def test_a_promise_that_is_kept_with_a_wide_margin_is_met_in_spite_of_the_lag(arrivals: str) -> None:
    judged = 0
    for _, draw, _, seen, found in loads(arrivals):
        delay = own_delay(found.trial)
        if delay.largest_us > _LAG_US or seen.percentile_s("total", 99) > _PROMPT_S:
            continue
        for span in SPANS:
            for percentile in PERCENTILES:
                judged += 1
                assert judge_threshold(LatencyThreshold(span, percentile, _WIDE_S), draw.load, found.trial).result.met
    assert judged > DRAWS
