"""How much of the load that was asked for the generator has made."""

from sshload_contract.judgement.figures import find_step, total_step
from sshload_contract.load import Load, UsersLoad
from sshload_contract.run_summary import RunSummary
from sshload_contract.vocabulary import Step, Window

TOLERATED_SHORTFALL = 0.1
_US_PER_S = 1_000_000


def shortfall(load: Load, summary: RunSummary) -> float:
    """Return by which share the generator's delays may have lowered the load, 0 in an open model.

    A user who iterates waits for the event loop about as often as an iteration has timings. Each wait is as late as the
    event loop is on average, and so much longer the user's round becomes.
    """
    total = total_step(summary, Window.MEASURED)
    if not isinstance(load, UsersLoad):
        return 0.0
    if total is None or total.mean_us is None:
        return 1.0
    timings = sum(step.count for step in summary.steps if step.window is Window.MEASURED)
    starts = find_step(summary, Step.START_DELAY, Window.MEASURED)
    late_start_us = starts.mean_us if starts is not None and starts.mean_us is not None else 0.0
    own_us = late_start_us + summary.generator.loop_lag_mean_us * timings / total.count
    round_us = total.mean_us + (load.think_time.min_s + load.think_time.max_s) / 2 * _US_PER_S
    return min(own_us / round_us, 1.0) if round_us else 1.0
