"""LocustUsers: the users of a locustfile in one worker. Each iteration runs one task.

A locustfile that cannot be run is refused before the start, with the line to change. Classes are assigned by their
weights. A numbered user of a closed load keeps its class and its instance until it leaves. Iterations of an open load
take an idle instance, or make one. Tasks are picked at random by their weights, with a random number generator that is
seeded with the run, so that a run can be repeated.
"""

import inspect
import logging
import traceback
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

from gevent import GreenletExit
from gevent.timeout import Timeout
from locust import User
from locust.exception import InterruptTaskSet, RescheduleTask, RescheduleTaskImmediately, StopUser
from locust.user.task import TaskSet
from locust.util.load_locustfile import load_locustfile
from sshload_contract.shortened import shortened
from sshload_contract.vocabulary import Outcome

from sshload_worker.clients.interface import Connection
from sshload_worker.locustfile.ssh_user import SSHUser
from sshload_worker.outcomes import GeneratorFaultError, StepFailure
from sshload_worker.scenario.sessions import Sessions
from sshload_worker.scenario.step_clock import StepClock, TimeLimitReached
from sshload_worker.scenario.steps.step_run import StepRun

_MESSAGE_LIMIT_CHARACTERS = 200

log = logging.getLogger(__name__)


def load_users(path: str) -> tuple[type[SSHUser], ...]:
    """Return the user classes of a locustfile; raises GeneratorFaultError, which names the line to change."""
    name = f"locustfile {Path(path).name}"
    try:
        found, shapes = load_locustfile(path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code may raise anything
        raise GeneratorFaultError(f"{name}{_locustfile_line(error, path)}: {_describe_error(error)}") from None
    if shapes:
        raise GeneratorFaultError(
            f"{name}: {type(shapes[0]).__name__} is not used: the test's load sets the number of users"
        )
    if not found:
        raise GeneratorFaultError(f"{name} has no subclass of SSHUser")
    users: list[type[SSHUser]] = []
    for user_class in found.values():
        where = f"{name} line {inspect.getsourcelines(user_class)[1]}: {user_class.__name__}"
        problem = _problem(user_class)
        if problem:
            raise GeneratorFaultError(f"{where} {problem}")
        users.append(cast("type[SSHUser]", user_class))
    return tuple(users)


def _locustfile_line(error: BaseException, path: str) -> str:
    """Return " line N" of the locustfile if an error was raised in it, otherwise an empty text."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f" line {error.lineno}" if error.lineno else ""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" line {lines[-1]}" if lines and lines[-1] else ""


def _describe_error(error: BaseException) -> str:
    """Return an error's type and message, of limited length."""
    return shortened(f"{type(error).__name__}: {error}".rstrip(": "), _MESSAGE_LIMIT_CHARACTERS)


def _problem(user_class: type[User]) -> str:
    if not issubclass(user_class, SSHUser):
        return "is not an SSHUser, so nothing that it does would be measured"
    if not user_class.tasks:
        return "has no task: mark a method with @task"
    if any(inspect.isclass(task) and issubclass(task, TaskSet) for task in user_class.tasks):
        return "has a TaskSet as a task: an iteration is one task, so make it a method"
    if user_class.fixed_count:
        return "has a fixed_count: the test's load sets the number of users, and weight sets their shares"
    if user_class.weight <= 0:
        return f"has weight {user_class.weight}: it must be above 0"
    return ""


@dataclass(slots=True)
class _Member:
    """A user, the generator that picks its tasks, and whether its `on_start` has run."""

    user: SSHUser
    random: Random
    has_started: bool = False


class LocustUsers:
    """The users of the locustfile at `path`. `seed` is unique to the run and this worker."""

    def __init__(self, path: str, classes: tuple[type[SSHUser], ...], environment: Any, seed: str) -> None:
        self._path = path
        self._classes = classes
        self._environment = environment
        self._seed = seed
        self._random = Random(seed)  # noqa: S311 - repeatable choices, not secrets
        self._numbered: dict[int, _Member] = {}
        self._idle: dict[type[SSHUser], list[_Member]] = {user_class: [] for user_class in classes}
        self._dealt: list[type[SSHUser]] = []
        self._credits = dict.fromkeys(classes, 0.0)

    def run_task(self, run: StepRun, number: int | None) -> bool:
        """Run one task of the user `number`, or of any; raises StepFailure if the task or one of its steps fails.

        Return whether the user continues. A user that raised StopUser does not.
        """
        try:
            member = self._member(number)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code may raise anything
            raise self._fault(error) from None
        member.user.begin_iteration(run)
        continues = True
        try:
            continues = self._run_code(member)
        finally:
            failure = member.user.end_iteration()
            if number is None:
                self._put_back(member, continues=continues)
        if failure is not None:  # which the user's code may have caught
            raise failure
        return continues

    def in_sessions(self, sessions: Sessions) -> "LocustUserSessions":
        """Return these sessions, with the users that use them."""
        return LocustUserSessions(sessions, self)

    def leave(self, number: int) -> None:
        """End the user `number`, if there is one."""
        member = self._numbered.pop(number, None)
        if member is not None:
            self._stop(member)

    def close(self) -> None:
        """End all users that are not in an iteration."""
        for members in self._idle.values():
            while members:
                self._stop(members.pop())
        for number in tuple(self._numbered):
            self.leave(number)

    def _put_back(self, member: _Member, *, continues: bool) -> None:
        if continues:
            self._idle[type(member.user)].append(member)
        else:
            self._stop(member)

    def _run_code(self, member: _Member) -> bool:
        try:
            if not member.has_started:
                member.user.on_start()
                member.has_started = True
            task: Any = member.random.choice(member.user.tasks)
            task(member.user)
        except (RescheduleTask, RescheduleTaskImmediately, InterruptTaskSet):
            return True  # Locust's ways to end a task early
        except StopUser:
            return False
        except (StepFailure, TimeLimitReached, GreenletExit):
            raise
        except (Exception, Timeout, SystemExit) as error:  # noqa: BLE001 - a user's code may raise anything
            raise self._fault(error) from None
        return True

    def _member(self, number: int | None) -> _Member:
        if number is None:
            weights = [user_class.weight for user_class in self._classes]
            (user_class,) = self._random.choices(self._classes, weights)
            idle = self._idle[user_class]
            return idle.pop() if idle else _Member(user_class(self._environment), self._random)
        if number not in self._numbered:
            user = self._class_of(number)(self._environment)
            random = Random(f"{self._seed}/{number}")  # noqa: S311 - likewise
            self._numbered[number] = _Member(user, random)
        return self._numbered[number]

    def _class_of(self, number: int) -> type[SSHUser]:
        """Return the class of the user `number`, assigned evenly: any sequence of users has the weights' shares."""
        while number >= len(self._dealt):
            # Smooth weighted round-robin: each class earns its weight, and the richest one pays for the turn.
            for user_class in self._classes:
                self._credits[user_class] += user_class.weight
            chosen = max(self._classes, key=self._credits.__getitem__)
            self._credits[chosen] -= sum(user_class.weight for user_class in self._classes)
            self._dealt.append(chosen)
        return self._dealt[number]

    def _stop(self, member: _Member) -> None:
        if not member.has_started:
            return
        try:
            cast("Any", member.user).on_stop()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's code may raise anything
            log.warning(
                "on_stop of %s%s: %s",
                type(member.user).__name__,
                _locustfile_line(error, self._path),
                _describe_error(error),
            )

    def _fault(self, error: BaseException) -> StepFailure:
        line = _locustfile_line(error, self._path)
        return StepFailure(Outcome.GENERATOR_FAULT, f"locustfile{line}: {_describe_error(error)}")


@dataclass(frozen=True, slots=True)
class LocustUserSessions:
    """The Sessions of a scenario, and the users that use them."""

    sessions: Sessions
    locust_users: LocustUsers

    def prepare(self, clock: StepClock, within_s: float) -> None:
        """Log in the sessions that are needed before the first iteration."""
        self.sessions.prepare(clock, within_s)

    def acquire(self, clock: StepClock, user: int | None) -> Connection:
        """Return a logged-in connection for an iteration."""
        return self.sessions.acquire(clock, user)

    def release(self, connection: Connection, user: int | None, *, usable: bool) -> None:
        """Release the connection of an iteration that has ended."""
        self.sessions.release(connection, user, usable=usable)

    def leave(self, user: int) -> None:
        """End the user and its session."""
        self.locust_users.leave(user)
        self.sessions.leave(user)

    def close(self) -> None:
        """End all users and sessions."""
        self.locust_users.close()
        self.sessions.close()
