"""Whether a promise on the throughput was kept, with what the generator's own delay may have changed in it."""

from sshload_contract.judgement.judged import Judged, in_words
from sshload_contract.judgement.latency import ADDED_DELAYS, HIDDEN_DELAYS
from sshload_contract.judgement.made_load import shortfall
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.load import Load
from sshload_contract.run_summary import RunSummary
from sshload_contract.thresholds import ThresholdResult, ThroughputThreshold

CROWD_SHARE_OF_RATE = 0.5
"""Which share of a throughput is sure where those who come at one instant, or in turn, make the load.

Users who came together, and whom delays have set apart, use the server in turn: in simulations that raises the
throughput by up to a half.
"""

_US_PER_S = 1_000_000
_SHORTEST_WINDOW_S = 0.001


def judge_throughput(threshold: ThroughputThreshold, load: Load, summary: RunSummary) -> Judged:
    """Return whether more iterations than promised were completed per second.

    In an open model delays move iterations across the end of the window only. In a closed one they lower the load, and
    one iteration of each user may end later.
    """
    words, rate, delay = in_words(threshold), summary.load.completed_rate, own_delay(summary)
    observed = f"{rate:.2f}/s"
    if delay.is_small_beside_any_limit:
        return Judged(ThresholdResult(words, observed, passed=rate > threshold.above))
    moved = summary.load.offered_rate * _share_of_window(delay.largest_us, summary)
    at_end = load.most_users / _duration_s(summary)
    sure = CROWD_SHARE_OF_RATE * rate if load.begins_together else rate
    if sure - HIDDEN_DELAYS * moved - at_end > threshold.above:
        return Judged(ThresholdResult(words, observed, passed=True))
    lost = shortfall(load, summary)
    if lost < 1 and (rate + ADDED_DELAYS * moved + at_end) / (1 - lost) <= threshold.above:
        return Judged(ThresholdResult(words, observed, passed=False))
    doubt = f"{words} cannot be judged: it was {observed}, and the generator's own delays may have made the difference"
    return Judged(ThresholdResult(words, observed, None), doubt=doubt)


def _share_of_window(delay_us: int, summary: RunSummary) -> float:
    return delay_us / _US_PER_S / _duration_s(summary)


def _duration_s(summary: RunSummary) -> float:
    return max(summary.load.duration_s, _SHORTEST_WINDOW_S)
