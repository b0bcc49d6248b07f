"""Reads a master's log in bounded pieces; parses and judges it in a thread.

A tenant's pod decides what the log is. The largest costs a second of CPU and some tens of MB. So only one is worked on
at a time, and never on the event loop, which all other tests share. Namespaces take turns: one with many runs delays
its own runs, and each of the others by one piece of work.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from sshload_contract.wire.master_log import SUMMARY_LINES_LIMIT, MasterLog, read_master_log

from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.control.turns import Turns
from sshload_operator.state import Role

_TAIL_LINES: Final = 10

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LogReading:
    """One reading of a master's log: its content, and its last lines, which tell whether anything is new.

    `tail` is empty if the log has to be parsed again in any case. `unread_lines` is the number of lines of a summary of
    which the tail has only the end, 0 if there is no such summary. Keep such a reading until `read_whole` has returned.
    """

    tail: str
    log: MasterLog
    unread_lines: int = 0


class Judging:
    """The one thread in which logs are parsed and runs are judged."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judging")
        self._turns = Turns(1)
        self._one_whole_summary = Turns(1)

    async def read(self, cluster: Cluster, namespace: str, pod: str, before: LogReading | None) -> LogReading | None:
        """Read the end of a master's log, after the reading `before`; None if there is no log. Raises ApiError.

        A log with nothing new is not parsed again. If the reading has `unread_lines`, call `read_whole` next.
        """
        if before is not None and before.unread_lines:
            # The read of the whole summary failed. Any number of lines may have followed the summary since.
            return replace(before, unread_lines=SUMMARY_LINES_LIMIT)
        tail = await cluster.read_log(namespace, pod, Role.MASTER, _TAIL_LINES)
        if tail is None or (before is not None and tail == before.tail):
            return before
        log = await self.run(namespace, lambda: read_master_log(tail))
        unread = min(log.summary_lines, SUMMARY_LINES_LIMIT) if log.summary is None else 0
        return LogReading(tail, log if before is None else _still_printed(before.log, log), unread)

    async def read_whole(self, cluster: Cluster, namespace: str, pod: str, end: LogReading) -> LogReading:
        """Read the summary of which `end` has the end. Raises ApiError.

        If the summary is missing, it no longer counts as unread.
        """
        async with self._one_whole_summary.turn(namespace):
            whole = await cluster.read_log(namespace, pod, Role.MASTER, end.unread_lines + _TAIL_LINES)
            log = end.log if whole is None else await self.run(namespace, lambda: read_master_log(whole))
        if log.summary is None and not log.problem:
            return LogReading("", log)  # the answer has no summary: look for its end again
        return LogReading(end.tail, _still_printed(end.log, log))

    async def run(self, namespace: str, work: Callable[[], T]) -> T:
        """Return what `work` for this namespace returns, done in the thread when it is its turn."""
        async with self._turns.turn(namespace):
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def stop(self) -> None:
        """Take no more work, and do not wait for what is under way."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _still_printed(before: MasterLog, now: MasterLog) -> MasterLog:
    """Return the content of a log now. An unusable summary still counts when later lines push it out of the tail."""
    if not before.problem or not before.summary_lines or now.summary_lines:
        return now
    return replace(before, snapshot=now.snapshot or before.snapshot)
