"""Summaries of generators that lagged."""

from dataclasses import replace

from sshload_contract.percentiles import percentile_key
from sshload_contract.vocabulary import Timing, Window
from sshload_contract.wire.run_summary import RunSummary


def delayed(found: RunSummary, delay_us: int, *, lag_us: int | None = None) -> RunSummary:
    """Return the summary of a generator whose starts were so late from p90 on, and its event loop as well.

    The event loop lagged by `lag_us` where that is given. Half of its wakes were prompt all the same.
    """
    lag = delay_us if lag_us is None else lag_us
    generator = replace(
        found.generator, loop_lag_mean_us=lag // 1_000, loop_lag_p99_us=lag, loop_lag_p999_us=lag, loop_lag_max_us=lag
    )
    steps = tuple(
        replace(step, percentiles_us={**dict.fromkeys(step.percentiles_us, delay_us), "50": 100}, max_us=delay_us)
        if step.step == Timing.START_DELAY
        else step
        for step in found.steps
    )
    return replace(found, generator=generator, steps=steps)


def with_percentile(found: RunSummary, name: str, percentile: float, value_us: int) -> RunSummary:
    """Return the summary with another value at a percentile of a step of the measured window."""
    steps = tuple(
        replace(step, percentiles_us={**step.percentiles_us, percentile_key(percentile): value_us})
        if (step.step, step.window) == (name, Window.MEASURED)
        else step
        for step in found.steps
    )
    return replace(found, steps=steps)
