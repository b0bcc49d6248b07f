"""How long a load lasts, and a search for the capacity, at most and at least."""

from typing import Final

from sshload_contract.load import BurstLoad, HoldLoad, Load

ENDING_RESERVE_S: Final = 90.0
"""What is kept of the deadline for what follows the last trial: its drain (a minute at most), reports and results."""

_MILLISECONDS: Final = 1_000
_MICROSECONDS: Final = 1_000_000


def load_duration_s(load: Load) -> float:
    """Return the seconds of the measured part of a load, with a burst's last interval and the ramp of held sessions."""
    if isinstance(load, BurstLoad):
        return load.repeat * load.interval_s
    if isinstance(load, HoldLoad):
        return load.ramp_up_s + load.duration_s
    return sum(stage.duration_s for stage in load.stages)


def search_budget_s(deadline_s: float, start_timeout_s: float) -> float:
    """Return how long all trials together may take, though the start takes as long as it may; never below 0."""
    return max(0.0, deadline_s - start_timeout_s - ENDING_RESERVE_S)


def least_trials(confirm: int) -> int:
    """Return how many trials a search that finds both bounds takes at least: each of them, and what confirms it."""
    return 2 * (confirm + 1)


def least_trial_ms(load: Load, warm_up_s: float) -> int:
    """Return how many milliseconds the least trial takes, `load`, without its drain, counted as the CRD counts them."""
    if isinstance(load, HoldLoad):
        ramp_up_ms = int(load.ramp_up_s * _MILLISECONDS)
        return whole_milliseconds(warm_up_s) + ramp_up_ms + whole_milliseconds(load.duration_s)
    return whole_milliseconds(warm_up_s) + whole_milliseconds(load_duration_s(load))


def whole_milliseconds(seconds: float) -> int:
    """Return the milliseconds of a duration as it is written, without fractions."""
    return round(seconds * _MICROSECONDS) // 1_000
