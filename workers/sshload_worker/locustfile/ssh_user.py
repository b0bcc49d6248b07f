"""SSHUser: a Locust user whose methods run the steps of a scenario, measured like those of a spec."""

import re
from typing import TYPE_CHECKING, Any

from locust import User
from sshload_contract.steps import ScenarioStep, SleepStep
from sshload_contract.vocabulary import STEP_NAME_LIMIT_CHARACTERS, STEP_NAME_PATTERN

from sshload_worker.locustfile.plain_locust import PlainSession
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.channel import ChannelMethods
from sshload_worker.scenario.steps.command import CommandMethods
from sshload_worker.scenario.steps.dispatch import run_step
from sshload_worker.scenario.steps.files import FileMethods
from sshload_worker.scenario.steps.git_upload_pack import GitMethods
from sshload_worker.scenario.steps.step_run import StepRun

if TYPE_CHECKING:
    from sshload_contract.vocabulary import Outcome

_NAME = re.compile(STEP_NAME_PATTERN)


class NoIterationError(Exception):
    """A step was called where none can run: outside of `on_start` and the tasks."""


class SSHUser(CommandMethods, FileMethods, ChannelMethods, GitMethods, User):
    """A user of the target of the test.

    One iteration runs one task; `on_start` runs in a user's first iteration. The session is logged in already, and
    `{iteration}` in a path, command or text is replaced by a number that no other iteration of the run has. Each method
    runs one kind of step, whose timings are published under its `name`, and raises StepFailure if the step does not end
    as expected. Then the iteration has failed, even if the error is caught, and runs no more steps. (For plain Locust,
    see plain_locust.py.)
    """

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._step_run: StepRun | None = None
        self._plain_session: PlainSession | None = None
        self._failed: tuple[Outcome, str] | None = None

    def begin_iteration(self, run: StepRun) -> None:
        """Run steps for this iteration, from now on."""
        self._step_run, self._failed = run, None

    def end_iteration(self) -> StepFailure | None:
        """Run no more steps; return the first failure of a step, None if none failed."""
        self._step_run = None
        return StepFailure(*self._failed) if self._failed is not None else None

    def sleep(self, duration_s: float) -> None:
        """Keep the session open and idle."""
        self._run(SleepStep(duration_s))

    def _run(self, step: ScenarioStep) -> None:
        if step.name:
            _check_name(step.name)
        if self._step_run is None:
            self._run_plainly(step)
            return
        if self._failed is not None:
            raise StepFailure(*self._failed)
        try:
            run_step(step, self._step_run)
        except StepFailure as failure:
            self._failed = failure.outcome, failure.message
            raise

    def _run_plainly(self, step: ScenarioStep) -> None:
        """Run a step of a user that Locust itself runs, in the user's own session."""
        if self._state is None:
            raise NoIterationError("steps can be run in on_start and in tasks only")
        if self._plain_session is None:
            self._plain_session = PlainSession(self.environment, str(self.host))
            self.greenlet.link(lambda _: self._plain_session.close())
        self._plain_session.run(step)


def _check_name(name: str) -> None:
    if len(name) > STEP_NAME_LIMIT_CHARACTERS or _NAME.fullmatch(name) is None:
        raise ValueError(
            f"a step's name has at most {STEP_NAME_LIMIT_CHARACTERS} letters, digits and hyphens,"
            f" first a lower-case letter; got {name!r}"
        )
