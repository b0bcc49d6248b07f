"""From a locustfile to its user classes: what cannot be run is told before the start, with the line to be changed."""

import inspect
import traceback
from pathlib import Path
from typing import cast

from locust import User
from locust.user.task import TaskSet
from locust.util.load_locustfile import load_locustfile

from sshload_worker.locustfile.ssh_user import SSHUser
from sshload_worker.outcomes import GeneratorFaultError

_MESSAGE_LIMIT_CHARACTERS = 200


def load_users(path: str) -> tuple[type[SSHUser], ...]:
    """Return the user classes of a locustfile; raises GeneratorFaultError, naming the line that is to be changed."""
    name = f"locustfile {Path(path).name}"
    try:
        found, shapes = load_locustfile(path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
        raise GeneratorFaultError(f"{name}{locustfile_line(error, path)}: {describe_error(error)}") from None
    if shapes:
        raise GeneratorFaultError(
            f"{name}: {type(shapes[0]).__name__} is not used: the test's load says how many users"
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


def locustfile_line(error: BaseException, path: str) -> str:
    """Return " line N" of the locustfile where an error came up in it, empty where it did not."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f" line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" line {lines[-1]}" if lines else ""


def describe_error(error: BaseException) -> str:
    """Return an error's type and message, within bounds."""
    return f"{type(error).__name__}: {error}".rstrip(": ")[:_MESSAGE_LIMIT_CHARACTERS]


def _problem(user_class: type[User]) -> str:
    if not issubclass(user_class, SSHUser):
        return "is no SSHUser, and nothing that it does would be measured"
    if not user_class.tasks:
        return "has no task: mark a method with @task"
    if any(inspect.isclass(task) and issubclass(task, TaskSet) for task in user_class.tasks):
        return "has a TaskSet for a task: an iteration is one task, so make it a method"
    if user_class.fixed_count:
        return "has a fixed_count: the test's load says how many users there are, weight says which"
    if user_class.weight <= 0:
        return f"has weight {user_class.weight}: it is to be above 0"
    return ""
