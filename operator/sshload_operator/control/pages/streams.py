"""Server-sent events of runs that are under way: the state of a run at each change, until its end.

An event has the state at its time. So a slow reader misses states in between, and nothing waits for it.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from sshload_operator.api.kinds import TEST
from sshload_operator.control.pages.index import Index, Key

MOST_STREAMS: Final = 100
MOST_OF_A_USER: Final = 20
LASTS_S: Final = 600.0
_WRITTEN_WITHIN_S: Final = 10.0
_SILENT_S: Final = 15.0


class Streams:
    """The open streams: at most MOST_STREAMS, and MOST_OF_A_USER of one user."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._open: Counter[str] = Counter()
        self._ending = False

    def are_too_many(self, user: str) -> bool:
        """Return whether this user may open no more."""
        return self._open[user] >= MOST_OF_A_USER or self._open.total() >= MOST_STREAMS

    def end(self) -> None:
        """Let each stream end before its next event."""
        self._ending = True

    async def send(self, request: web.Request, answer: web.StreamResponse, key: Key, user: str) -> None:
        """Answer a request of a user with the events of a test until its run is over.

        A stream ends before that if its reader is gone or too slow, or if the stream is old. The browser then connects
        again, and its access is checked again.
        """
        changed = self._index.follow(key)
        self._open[user] += 1
        try:
            async with asyncio.timeout(LASTS_S):
                await answer.prepare(request)
                await self._send_course(answer, key, changed)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]
            self._index.unfollow(key, changed)

    async def _send_course(self, answer: web.StreamResponse, key: Key, changed: asyncio.Event) -> None:
        name = "whole"
        while not self._ending:
            changed.clear()
            line, course = self._index.find(TEST, key), self._index.course(key)
            if line is None or line.is_over:
                await _send(answer, "end", {})
                return
            points = [] if course is None else course.points
            standing = {"phase": line.state, "message": line.message, **({} if course is None else course.standing)}
            told: dict[str, Any] = {"standing": standing}
            told |= {"points": points} if name == "whole" else {"point": points[-1] if points else None}
            await _send(answer, name, told)
            name = "update"
            while not await _is_set(changed):
                await asyncio.wait_for(answer.write(b":\n\n"), _WRITTEN_WITHIN_S)


async def _is_set(changed: asyncio.Event) -> bool:
    """Wait for a change, but no longer than a stream may be silent."""
    try:
        await asyncio.wait_for(changed.wait(), _SILENT_S)
    except TimeoutError:
        return False
    return True


async def _send(answer: web.StreamResponse, name: str, told: Mapping[str, Any]) -> None:
    text = f"event: {name}\ndata: {json.dumps(told, allow_nan=False)}\n\n"
    await asyncio.wait_for(answer.write(text.encode()), _WRITTEN_WITHIN_S)
