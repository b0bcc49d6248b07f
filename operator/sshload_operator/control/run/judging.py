"""What is made of a master's log: read in bounded pieces, then parsed and judged beside the event loop.

A log is whatever a tenant's pod prints. At its largest it costs a second of CPU and some tens of MB, so no more than
one is worked on at a time, and never on the event loop, which all other tests share.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from sshload_contract.wire.master_log import SUMMARY_LINES_LIMIT, MasterLog, read_master_log

from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.state import Role

_TAIL_LINES: Final = 10

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LogReading:
    """One reading of a master's log: what it says, and its last lines, which tell whether there is anything new.

    `tail` is empty where the log has to be read again in any case. `unread_lines` is how many lines the summary takes
    of which the tail has the end only, 0 where there is none: it is to be kept until `read_whole` has returned.
    """

    tail: str
    log: MasterLog
    unread_lines: int = 0


class Judging:
    """The one thread in which logs are parsed and runs are judged."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judging")
        self._one_whole_summary = asyncio.Semaphore(1)

    async def read(self, cluster: Cluster, namespace: str, pod: str, before: LogReading | None) -> LogReading | None:
        """Read the end of a master's log, of which `before` was read last; None where there is none. Raises ApiError.

        A log that says nothing new is not parsed again. Where a reading has `unread_lines`, `read_whole` is to follow.
        """
        if before is not None and before.unread_lines:
            # The read of the whole has failed: any number of lines may have followed the summary since.
            return replace(before, unread_lines=SUMMARY_LINES_LIMIT)
        tail = await cluster.read_log(namespace, pod, Role.MASTER, _TAIL_LINES)
        if tail is None or (before is not None and tail == before.tail):
            return before
        log = await self.run(lambda: read_master_log(tail))
        unread = min(log.summary_lines, SUMMARY_LINES_LIMIT) if log.summary is None else 0
        return LogReading(tail, log if before is None else _still_printed(before.log, log), unread)

    async def read_whole(self, cluster: Cluster, namespace: str, pod: str, end: LogReading) -> LogReading:
        """Read the summary that `end` has the end of; one that is not there is unread no more. Raises ApiError."""
        async with self._one_whole_summary:
            whole = await cluster.read_log(namespace, pod, Role.MASTER, end.unread_lines + _TAIL_LINES)
            log = end.log if whole is None else await self.run(lambda: read_master_log(whole))
        if log.summary is None and not log.problem:
            return LogReading("", log)  # what was to be read was not given: its end is to be looked for again
        return LogReading(end.tail, _still_printed(end.log, log))

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, done in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def stop(self) -> None:
        """Take no more work, and do not wait for what is under way."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _still_printed(before: MasterLog, now: MasterLog) -> MasterLog:
    """Return what a log says now. A summary that cannot be used stays, though later lines push it out of the tail."""
    if not before.problem or not before.summary_lines or now.summary_lines:
        return now
    return replace(before, snapshot=now.snapshot or before.snapshot)
