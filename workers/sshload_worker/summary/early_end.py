"""Whether to end the load early: a threshold is broken, and the rest of the load cannot change that.

Such a threshold is judged twice, as at the end of a run: by what was measured so far, and by the best possible rest, in
which all iterations that may still come succeed faster than any before. To judge it by the present state alone would be
wrong, because sooner or later any threshold is broken for a moment.
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil, inf

from sshload_contract.judgement.binomial import is_not_below
from sshload_contract.judgement.threshold import judge_threshold
from sshload_contract.load import Load
from sshload_contract.thresholds import AskedPercentile, Threshold
from sshload_contract.vocabulary import Window
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import Trial

from sshload_worker.summary.totals import Totals

_US_PER_S = 1_000_000
_FASTEST_ITERATION_S = 0.0001
"""No iteration takes less time, whatever the server is."""


def unrecoverable_threshold(
    config: RunConfig, totals: Totals, unreported_s: float, so_far: Callable[[], Trial]
) -> Threshold | None:
    """Return the first threshold with `abort_on_fail` that is broken and will stay broken, None if there is none.

    `unreported_s` is the time until the end of the load, plus the past time that is not reported yet. `so_far` makes
    the trial of what was measured so far.
    """
    asked = [one for one in config.thresholds if one.abort_on_fail]
    if not asked:
        return None
    to_come = _most_to_come(config.trial_load, totals, unreported_s)
    suspected = [one for one in asked if _may_stay_broken(one, config, totals, to_come)]
    if not suspected:
        return None
    trial = so_far()
    return next((one for one in suspected if _stays_broken(one, config, totals, to_come, trial)), None)


def _may_stay_broken(threshold: Threshold, config: RunConfig, totals: Totals, to_come: float) -> bool:
    """Return, at little cost, whether a full judgement is worth it."""
    if threshold.allowed_failures is not None:
        counts = totals.window(Window.MEASURED)
        tried = counts.succeeded + counts.failed + to_come
        return tried < inf and is_not_below(counts.failed, ceil(tried), threshold.allowed_failures)
    asked, limit_s = threshold.asked_percentile, threshold.promised_s
    best_us = None if asked is None else _best_percentile_us(asked, config, totals, to_come)
    return best_us is not None and limit_s is not None and best_us >= limit_s * _US_PER_S


def _stays_broken(threshold: Threshold, config: RunConfig, totals: Totals, to_come: float, trial: Trial) -> bool:
    best = _best(threshold, config, totals, to_come, trial)
    return all(judge_threshold(threshold, config.trial_load, one).result.met is False for one in (trial, best))


def _best(threshold: Threshold, config: RunConfig, totals: Totals, to_come: float, trial: Trial) -> Trial:
    """Return the trial for this threshold if all iterations that may still come succeeded, faster than any before."""
    load = replace(trial.load, succeeded=trial.load.succeeded + ceil(to_come))
    asked = threshold.asked_percentile
    if asked is None:
        return replace(trial, load=load)
    best_us = _best_percentile_us(asked, config, totals, to_come)
    steps = tuple(
        replace(step, min_us=0, percentiles_us={**step.percentiles_us, asked.key: best_us})
        if (step.step, step.window) == (asked.step, Window.MEASURED)
        else step
        for step in trial.steps
    )
    return replace(trial, load=load, steps=steps)


def _best_percentile_us(asked: AskedPercentile, config: RunConfig, totals: Totals, to_come: float) -> int | None:
    """Return the percentile if all samples to come were below all present ones, None if it would be one to come."""
    if to_come == inf:
        return None
    latencies = totals.successes(asked.step, Window.MEASURED)
    more = ceil(to_come) * config.scenario.samples_of(asked.step)
    return latencies.percentile_below_more_us(asked.percentile, more)


def _most_to_come(load: Load, totals: Totals, unreported_s: float) -> float:
    """Return the largest number of iterations that may still end in the measured window, including running ones."""
    counts = totals.window(Window.MEASURED)
    ended = counts.succeeded + counts.failed
    if load.least_pause_s is not None:
        return counts.started - ended + _most_rounds(load.most_users, load.least_pause_s, unreported_s)
    return max(load.most_due - ended, 0.0)


def _most_rounds(users: int, least_pause_s: float, unreported_s: float) -> float:
    """Return the largest number of iterations that users may still begin. Slow iterations may become fast."""
    return users * (unreported_s / (_FASTEST_ITERATION_S + least_pause_s) + 1)
