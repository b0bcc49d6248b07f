"""SteadyClock: the time by which a run is judged."""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

# CLOCK_BOOTTIME goes on while the machine is suspended, as pods on other machines do; only Linux has it.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """A clock that has the time of day when it was made, plus the time that has passed since.

    A step of the machine's clock (by NTP, or by hand) changes nothing. With the time of day itself, a step of an hour
    would end each run that is under way at its deadline, or take the deadline away.
    """

    def __init__(self) -> None:
        self._began, self._began_s = datetime.now(UTC), time.clock_gettime(_CLOCK)

    def now(self) -> datetime:
        """Return the time, with UTC as its time zone."""
        return self._began + timedelta(seconds=time.clock_gettime(_CLOCK) - self._began_s)
