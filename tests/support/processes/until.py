"""Wait in an event loop for a condition."""

import asyncio
import time
from collections.abc import Callable

_WITHIN_S = 300.0
_LOOK_EVERY_S = 0.01


async def until(is_so: Callable[[], bool]) -> None:
    """Return once something is so; it fails where that takes longer than any machine does."""
    give_up_s = time.monotonic() + _WITHIN_S
    while not is_so():
        assert time.monotonic() < give_up_s
        await asyncio.sleep(_LOOK_EVERY_S)
