"""Judge a threshold on the completed iterations per second, and how the generator's own delay may have changed them."""

from dataclasses import replace

from sshload_contract.digits import to_digits
from sshload_contract.judgement.error_rate import unsure_failures
from sshload_contract.judgement.figures import shortfall
from sshload_contract.judgement.own_delay import ADDED_DELAYS, HIDDEN_DELAYS, MAY_DIFFER, SOUND_BELOW_US, own_delay
from sshload_contract.load import Load
from sshload_contract.thresholds import Judged, ThresholdResult, ThroughputThreshold
from sshload_contract.wire.run_summary import Trial

CROWD_SHARE_OF_RATE = 0.5
"""The share of a throughput that is certain if many users arrive at the same instant, or in turn.

If delays have separated users who would arrive together, they use the server in turn: in simulations that raises the
throughput by up to a half.
"""
_SHORTEST_WINDOW_S = 0.001
_US_PER_S = 1_000_000


def judge_throughput(threshold: ThroughputThreshold, load: Load, trial: Trial) -> Judged:
    """Judge whether more iterations per second were completed than the threshold asks for.

    In an open model delays only move iterations across the borders of the window. In a closed one they also lower the
    load, and one iteration of each user may end later.
    """
    terms, rate, delay = threshold.terms, trial.load.completed_rate, own_delay(trial)
    observed = f"{rate:.2f}/s"
    result = ThresholdResult(terms, observed, None, rate)
    moved = trial.load.offered_rate * _share_of_window(delay.largest_us, trial)
    if delay.is_small_beside_any_limit:
        lost = unsure_failures(trial) / _duration_s(trial)
        lost += moved * (ADDED_DELAYS if trial.load.dropped else 1)
        if rate > threshold.above or rate + lost <= threshold.above:
            return Judged(replace(result, met=rate > threshold.above))
        cost = f"pauses of the generator may have cost {to_digits(lost, 2)}/s"
        doubt = f"{terms.words} cannot be judged: it was {observed}, and {cost}"
        as_measured = False if delay.largest_us <= SOUND_BELOW_US else None
        return Judged(result, doubt=doubt, as_measured=as_measured)
    at_end = load.most_users / _duration_s(trial)
    sure = CROWD_SHARE_OF_RATE * rate if load.begins_together else rate
    if sure - HIDDEN_DELAYS * moved - at_end > threshold.above:
        return Judged(replace(result, met=True))
    lost = shortfall(load, trial)
    if lost < 1 and (rate + ADDED_DELAYS * moved + at_end) / (1 - lost) <= threshold.above:
        return Judged(replace(result, met=False))
    doubt = f"{terms.words} cannot be judged: it was {observed}, and {MAY_DIFFER}"
    return Judged(result, doubt=doubt)


def _share_of_window(delay_us: int, trial: Trial) -> float:
    return delay_us / _US_PER_S / _duration_s(trial)


def _duration_s(trial: Trial) -> float:
    return max(trial.load.duration_s, _SHORTEST_WINDOW_S)
