"""WorkerRegistry: the workers that are connected, ready or lost, over all trials of a run. Instants are given."""

from dataclasses import dataclass

LOST_AFTER_S = 5.0
_LOOKED_AT_EVERY_S = 2.0
"""A master that looks less often than this was itself delayed, and has messages yet to read."""


@dataclass(slots=True)
class _Member:
    client_id: str
    seen_s: float
    ready: bool = False
    logged_in: bool = False
    final: bool = False
    gone: str = ""
    lost: str = ""


class WorkerRegistry:
    """The workers of one run by their index, from their hello to the final report of their last trial."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._members: dict[int, _Member] = {}
        self._started = False
        self._looked_s = 0.0
        self._accepted = 0

    def register(self, index: int, client_id: str, now_s: float) -> None:
        """Register a worker. A newcomer replaces the worker of its index; after the start, that one is lost."""
        known = self._members.get(index)
        if known is not None and self._started:
            known.lost = known.lost or f"worker {index} was replaced during the run"
        elif index in range(self._expected):
            self._members[index] = _Member(client_id=client_id, seen_s=now_s)

    def check_expected(self, index: int) -> None:
        """Raise ValueError for the index of a worker that the run has none of."""
        if index not in range(self._expected):
            raise ValueError(f"it is from worker {index}, and there are {self._expected}")

    def note_ready(self, index: int) -> None:
        """Note that a worker can be started, for the first time or again."""
        if index in self._members:
            self._members[index].ready = True

    def note_login(self, index: int, *, accepted: bool) -> None:
        """Note that a worker's login before the load is over, and whether the servers accepted it."""
        if index in self._members:
            self._members[index].logged_in = True
            self._accepted += accepted

    def note_start(self, now_s: float) -> None:
        """Note that the start of a trial was ordered: from now on silence is a loss."""
        self._started = True
        self._looked_s = now_s
        for member in self._members.values():
            member.seen_s, member.ready = now_s, False

    def expect_next_trial(self) -> None:
        """Note that a trial is to follow: a final report is no excuse any more, and a worker that has gone is lost."""
        for member in self._members.values():
            member.final = False
            member.lost = member.lost or member.gone

    def note_message(self, client_id: str, now_s: float) -> None:
        """Note a message, from a client that is alive."""
        for member in self._members.values():
            if member.client_id == client_id:
                member.seen_s = now_s

    def note_final_report(self, index: int) -> None:
        """Note a worker's final report of the trial under way."""
        if index in self._members:
            self._members[index].final = True

    def note_leave(self, index: int, reason: str) -> None:
        """Note that a worker went by itself, which after its final report is no loss, unless another trial follows."""
        member = self._members.get(index)
        if member is not None and not self._started:
            del self._members[index]
        elif member is not None:
            member.gone = f"worker {index} left: {reason}"
            member.lost = member.lost or ("" if member.final else member.gone)

    def note_silence(self, now_s: float) -> None:
        """Count as lost each worker that was silent for too long and has not sent its final report.

        To be called each second or so: a time in which nobody looked is no silence.
        """
        unheard_s = max(now_s - self._looked_s - _LOOKED_AT_EVERY_S, 0.0)
        self._looked_s = now_s
        for index, member in self._members.items():
            member.seen_s = min(member.seen_s + unheard_s, now_s)
            silent_s = now_s - member.seen_s
            if self._started and not member.final and not member.lost and silent_s > LOST_AFTER_S:
                member.lost = f"worker {index} was silent for {silent_s:.1f} s"

    @property
    def connected(self) -> int:
        """How many workers are there, or have been there when the start was ordered."""
        return len(self._members)

    @property
    def all_connected(self) -> bool:
        """Whether every worker has come."""
        return len(self._members) == self._expected

    @property
    def all_ready(self) -> bool:
        """Whether every worker has come and can be started."""
        return self.all_connected and all(member.ready for member in self._members.values())

    @property
    def all_logged_in(self) -> bool:
        """Whether every worker has come, and its login before the load is over."""
        return self.all_connected and all(member.logged_in for member in self._members.values())

    @property
    def accepted(self) -> int:
        """How many logins before the load were accepted, those of workers that have been replaced since included."""
        return self._accepted

    @property
    def all_done(self) -> bool:
        """Whether no final report can still be waited for."""
        return all(member.final or member.lost for member in self._members.values())

    @property
    def losses(self) -> tuple[str, ...]:
        """Why each lost worker is lost."""
        return tuple(member.lost for _, member in sorted(self._members.items()) if member.lost)

    @property
    def absent(self) -> tuple[int, ...]:
        """The indexes that have not come."""
        return tuple(index for index in range(self._expected) if index not in self._members)
