"""Generator: starts iterations when they are due, and ends with the load, the drain, or a stop."""

from bisect import bisect_right
from itertools import accumulate
from random import Random
from time import monotonic_ns
from typing import TYPE_CHECKING

import gevent
from gevent.event import Event
from gevent.pool import Group
from sshload_contract.load import Load
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.pacing.share import Share
from sshload_worker.recording.recorder import LATE_AFTER_NS
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.step_clock import TURNS_TO_SERVE, Due, StepClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sshload_contract.load.replay import Trace

_NS_PER_S = 1_000_000_000
_STARTS_PER_TURN = 16
"""How many overdue iterations begin before those in progress get their turn of the loop."""

_KEEP_ALIVES_PER_TURN = 4
"""How many keep-alive requests are sent before replies are read: each further one makes replies seem later."""

_SHORTEST_S = 1e-6
"""How long a greenlet sleeps to let the loop check sockets: after a sleep of 0 s, gevent does not check them."""


class Generator:
    """Generates one worker's share of one run's load, from `start_ns` on. `trace` is the trace of a replay.

    After `most_turns` of all workers the users of a population are used up: the load ends, and `on_users_used_up` is
    called with its duration in seconds. None: they never are.
    """

    def __init__(
        self,
        config: RunConfig,
        share: Share,
        iteration: Iteration,
        held: HeldSessions,
        start_ns: int,
    ) -> None:
        self._config = config
        self._share = share
        self._iteration = iteration
        self._held = held
        self._recorder = iteration.recorder
        self._start_ns = start_ns
        self.trace: Trace | None = None
        self.on_users_used_up: Callable[[float], object] = lambda after_s: None  # noqa: ARG005 - nobody wants to know
        self.most_turns: int | None = None
        self._turns = share.turns(1)
        self._end_ns = start_ns + int((config.warm_up_s + config.trial_load.lasts_s) * _NS_PER_S)
        durations_s = config.trial_load.stage_durations_s
        self._stage_ends_s = list(accumulate(durations_s, initial=config.warm_up_s))[1:]
        self._running = Group()
        self._beside = Group()
        self._leaving: dict[int, Event] = {}
        self._schedule: gevent.Greenlet[[], None] | None = None

    def take_turns(self, users: int, most_turns: int | None) -> None:
        """Let iterations be those of so many users in turn."""
        self._turns = self._share.turns(users)
        self.most_turns = most_turns

    def run(self) -> None:
        """Generate the whole load, then wait for the last iterations. The end of the drain cuts them off."""
        self._beside.spawn(self._prepare_sessions)
        self._schedule = gevent.spawn(self._follow_schedule)
        self._schedule.join()
        self._running.join(timeout=self._left_s())
        self.stop()

    def finish(self) -> float:
        """Begin nothing more, as at the end of the load; `run` then waits for the last iterations.

        Return how long the load lasted, in seconds.
        """
        self._end_ns = min(self._end_ns, monotonic_ns())
        self._recorder.rated.end_at(self._end_ns)
        if self._schedule is not None and self._schedule is not gevent.getcurrent():
            self._schedule.kill()
        for leaving in self._leaving.values():
            leaving.set()
        gevent.spawn_later(self._left_s(), self._cut_off)  # `run` may already wait for a later end
        return max(self._end_ns - self._start_ns, 0) / _NS_PER_S

    def elapsed_s(self) -> float:
        """Return the time since the start of the load, 0 before it."""
        return max(monotonic_ns() - self._start_ns, 0) / _NS_PER_S

    def stop(self) -> None:
        """Begin nothing more, end running iterations as unfinished, and close all sessions."""
        if self._schedule is not None:
            self._schedule.kill()
        self._beside.kill()
        _serve_arrived()
        self._held.stop_waiting()
        self._running.kill()
        self._held.close(Outcome.UNFINISHED)
        self._iteration.sessions.close()

    def _cut_off(self) -> None:
        """End running iterations as unfinished."""
        _serve_arrived()
        self._running.kill()

    def _left_s(self) -> float:
        """Return the time until the end of the drain. The last interval of a burst load is for its iterations."""
        return max((self._end_ns - monotonic_ns()) / _NS_PER_S + self._config.drain_s, 0.0)

    def _prepare_sessions(self) -> None:
        """Log in the sessions that iterations need, until the middle of the warm-up, and count them in the warm-up."""
        now_ns = monotonic_ns()
        due = Due(at_ns=now_ns, window=Window.WARM_UP)
        within_s = max(self._start_ns - now_ns, 0) / _NS_PER_S + self._config.warm_up_s / 2
        self._iteration.sessions.prepare(StepClock(self._recorder, due), within_s)

    def _follow_schedule(self) -> None:
        load = self._config.trial_load
        if load.held_sessions:
            self._beside.spawn(self._hold, load)
            self._beside.spawn(self._keep_alive, load)
            self._beside.spawn(self._held.watch)
        if load.most_users:
            self._follow_users(load)
        else:
            self._follow_arrivals(load)
        if not load.bursts:  # the last interval is for the iterations of the last burst
            _wait_until(self._end_ns)
        if load.held_sessions:
            self._held.await_replies(self._left_s())
            _serve_arrived()
            self._held.close(Outcome.OK)

    def _hold(self, load: Load) -> None:
        for number, offset_s in self._share.take(enumerate(load.logins(self._config.warm_up_s))):
            due = self._due(offset_s, number)
            _wait_until(due.at_ns)
            self._running.add(gevent.spawn(self._held.begin, number, due))

    def _keep_alive(self, load: Load) -> None:
        sent_in_turn = 0
        for at_s, number in load.keep_alives(self._config.warm_up_s):
            if not self._share.owns(number):
                continue
            at_ns = self._start_ns + int(at_s * _NS_PER_S)
            if _wait_until(at_ns):
                sent_in_turn = 0
            elif sent_in_turn >= _KEEP_ALIVES_PER_TURN:
                gevent.sleep(_SHORTEST_S)
                sent_in_turn = 0
            sent_in_turn += 1
            self._held.keep_alive(number)

    def _follow_arrivals(self, load: Load) -> None:
        room = self._share.part(load.most_connections) if load.drops_arrivals else None
        begun_in_turn = 0
        for turn, offset_s in self._own_arrivals(load):
            due = self._due(offset_s, turn)
            if self._is_used_up(due.turn):
                _wait_until(due.at_ns)
                self._end_of_users()
                return
            if _wait_until(due.at_ns):
                begun_in_turn = 0
            elif begun_in_turn >= _STARTS_PER_TURN:
                gevent.sleep(0)
                begun_in_turn = 0
            begun_in_turn += 1
            if room is not None and len(self._running) >= room and monotonic_ns() - due.at_ns > LATE_AFTER_NS:
                _serve_arrived()
            if room is not None and len(self._running) >= room:
                self._recorder.dropped(due.window, due.stage)
            else:
                self._running.add(gevent.spawn(self._iteration.run, due))

    def _own_arrivals(self, load: Load) -> "Iterator[tuple[int, float]]":
        """Yield the turn and the offset of each arrival of this worker, and of the first for which no user is left."""
        arrivals = enumerate(load.replayed(self.trace, self._config.warm_up_s), load.held_sessions)
        if self.most_turns is None:
            return self._share.take(arrivals)
        return (one for one in arrivals if self._share.owns(one[0]) or self._is_used_up(one[0]))

    def _follow_users(self, load: Load) -> None:
        for change in load.changes(self._config.warm_up_s):
            if not self._share.owns(change.user):
                continue
            at_ns = self._start_ns + int(change.at_s * _NS_PER_S)
            _wait_until(at_ns)
            leaving = self._leaving.get(change.user)
            if not change.begins:
                if leaving is not None:
                    leaving.set()
            elif leaving is not None:
                leaving.clear()  # the user is still in its last iteration, and continues after it
            else:
                leaving = self._leaving[change.user] = Event()
                self._running.add(gevent.spawn(self._run_user, change.user, at_ns, leaving, load))

    def _run_user(self, user: int, at_ns: int, leaving: Event, load: Load) -> None:
        random = Random(f"{self._config.run_id}/{user}")  # noqa: S311 - think times, not secrets
        due_ns = at_ns
        loop = gevent.get_hub().loop
        self._recorder.users += 1
        try:
            while due_ns < self._end_ns and not leaving.is_set():
                loop_turn = loop.iteration
                due = self._due((due_ns - self._start_ns) / _NS_PER_S, load.held_sessions + next(self._turns))
                if self._is_used_up(due.turn):
                    self._end_of_users()
                    break
                if not self._iteration.run(due, user):
                    break
                think_s = load.pause_s(random)
                due_ns = monotonic_ns() + int(think_s * _NS_PER_S)
                if loop.iteration == loop_turn:  # an iteration may fail without any wait; let other greenlets run
                    gevent.sleep(0)
                while not leaving.is_set() and (left_ns := min(due_ns, self._end_ns) - monotonic_ns()) > 0:
                    leaving.wait(left_ns / _NS_PER_S)
        finally:
            del self._leaving[user]
            self._iteration.sessions.leave(user)
            self._recorder.users -= 1

    def _is_used_up(self, turn: int) -> bool:
        return self.most_turns is not None and turn >= self.most_turns

    def _end_of_users(self) -> None:
        """End the load, because each user has had a turn."""
        if monotonic_ns() < self._end_ns:
            self.on_users_used_up(self.finish())

    def _due(self, offset_s: float, turn: int) -> Due:
        window = Window.WARM_UP if offset_s < self._config.warm_up_s else Window.MEASURED
        at_ns = self._start_ns + int(offset_s * _NS_PER_S)
        if window is Window.WARM_UP:
            return Due(at_ns, window, turn=turn)
        return Due(at_ns, window, min(bisect_right(self._stage_ends_s, offset_s) + 1, len(self._stage_ends_s)), turn)


def _serve_arrived() -> None:
    """Let the loop serve what has arrived: after a pause of the process, that comes before any end or drop."""
    for _ in range(TURNS_TO_SERVE):
        gevent.sleep(_SHORTEST_S)


def _wait_until(instant_ns: int) -> bool:
    """Wait, while other greenlets run, until the instant, and return whether it was in the future.

    The loop may wake a little too early, so check again.
    """
    waited = False
    while (remaining_ns := instant_ns - monotonic_ns()) > 0:
        gevent.sleep(remaining_ns / _NS_PER_S)
        waited = True
    return waited
