"""How long to pause before something is tried again that has failed."""

import random
from typing import Final

_FIRST_S: Final = 0.1
LONGEST_PAUSE_S: Final = 2.0


def pause_s(failures_in_a_row: int) -> float:
    """Return a pause in seconds that is random, so that those who wait do not all return together, and grows."""
    longest_s = min(LONGEST_PAUSE_S, _FIRST_S * 2 ** min(failures_in_a_row, 10))
    return random.uniform(longest_s / 2, longest_s)  # noqa: S311 - spreads attempts, guards nothing
