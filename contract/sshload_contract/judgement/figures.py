"""Figures of a trial that more than one rule uses: steps, logins, and how much of the load was generated."""

from sshload_contract.load import Load
from sshload_contract.vocabulary import Timing, Window
from sshload_contract.wire.run_summary import StepStats, Trial

TOLERATED_SHORTFALL = 0.1
_US_PER_S = 1_000_000


def client_logins(trial: Trial) -> int:
    """Return how many logins the workers count over the whole run: of iterations, of reused and of held sessions.

    Each login, in either window and for any purpose, is reported once, with what it negotiated.
    """
    return sum(one.count for one in trial.negotiated)


def accepted_logins(trial: Trial) -> int | None:
    """Return how many logins the managed target counts over the whole run, None if its counts are not known."""
    if trial.target_before is None or trial.target_after is None:
        return None
    return trial.target_after.accepted - trial.target_before.accepted


def total_step(trial: Trial, window: Window) -> StepStats | None:
    """Return the figures of whole iterations in a window."""
    return find_step(trial, Timing.TOTAL, window)


def find_step(trial: Trial, name: str, window: Window) -> StepStats | None:
    """Return the figures of a step in a window, None if it was never begun there."""
    return next((step for step in trial.steps if step.step == name and step.window is window), None)


def shortfall(load: Load, trial: Trial) -> float:
    """Return the share by which the generator's delays may have lowered the load, 0 in an open model.

    In each iteration a user waits for the event loop about as often as an iteration has timings. Each wait prolongs the
    iteration by the mean lag of the event loop.
    """
    total = total_step(trial, Window.MEASURED)
    if load.mean_pause_s is None:
        return 0.0
    if total is None or total.mean_us is None:
        return 1.0
    timings = sum(step.count for step in trial.steps if step.window is Window.MEASURED)
    starts = find_step(trial, Timing.START_DELAY, Window.MEASURED)
    late_start_us = starts.mean_us if starts is not None and starts.mean_us is not None else 0.0
    own_us = late_start_us + trial.generator.loop_lag_mean_us * timings / total.count
    round_us = total.mean_us + load.mean_pause_s * _US_PER_S
    return min(own_us / round_us, 1.0) if round_us else 1.0
