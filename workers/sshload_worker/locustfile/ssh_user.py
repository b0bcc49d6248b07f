"""SSHUser: a Locust user whose methods run the steps of a scenario, measured like those of a spec."""

import re
from typing import TYPE_CHECKING, Any

from locust import User
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    SleepStep,
    Verify,
)
from sshload_contract.vocabulary import STEP_NAME_LIMIT_CHARACTERS, STEP_NAME_PATTERN

from sshload_worker.locustfile.plain_locust import PlainSession
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.dispatch import run_step
from sshload_worker.scenario.steps.step_run import StepRun

if TYPE_CHECKING:
    from sshload_contract.vocabulary import Outcome

_NAME = re.compile(STEP_NAME_PATTERN)


class NoIterationError(Exception):
    """A step was called where none can run: outside of `on_start` and the tasks."""


class SSHUser(User):
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

    def execute(self, command: str, *, name: str = "", expect_exit_code: int = 0, expect_stdout: str = "") -> None:
        """Run a command. `expect_stdout` is a regular expression, empty for any output."""
        self._run(ExecStep(name, command, expect_exit_code, expect_stdout))

    def sftp_read(self, path: str, *, name: str = "", expect_bytes: int | None = None, expect_sha256: str = "") -> None:
        """Read a file over SFTP, and check its size and its SHA-256 (hexadecimal) if they are given."""
        self._run(SftpReadStep(name, path, expect_bytes, expect_sha256))

    def sftp_write(self, path: str, size_bytes: int, *, name: str = "", verify: str = "none") -> None:
        """Write a file over SFTP, and check it as `verify` says: "none", "size" or "content"."""
        self._run(SftpWriteStep(name, path, size_bytes, Verify(verify)))

    def sftp_list(self, path: str, *, name: str = "", expect_entries: int | None = None) -> None:
        """List a directory over SFTP. `expect_entries` does not count `.` and `..`."""
        self._run(SftpListStep(name, path, expect_entries))

    def sftp_stat(self, path: str, *, name: str = "") -> None:
        """Request a file's attributes over SFTP."""
        self._run(SftpStatStep(name, path))

    def sftp_mkdir(self, path: str, *, name: str = "") -> None:
        """Make a directory over SFTP."""
        self._run(SftpMkdirStep(name, path))

    def sftp_rmdir(self, path: str, *, name: str = "") -> None:
        """Remove an empty directory over SFTP."""
        self._run(SftpRmdirStep(name, path))

    def sftp_rename(self, path: str, to: str, *, name: str = "") -> None:
        """Rename a file over SFTP."""
        self._run(SftpRenameStep(name, path, to))

    def sftp_remove(self, path: str, *, name: str = "") -> None:
        """Remove a file over SFTP."""
        self._run(SftpRemoveStep(name, path))

    def scp_read(self, path: str, *, name: str = "", expect_bytes: int | None = None, expect_sha256: str = "") -> None:
        """Read a file by scp, and check its size and its SHA-256 (hexadecimal) if they are given."""
        self._run(ScpReadStep(name, path, expect_bytes, expect_sha256))

    def scp_write(self, path: str, size_bytes: int, *, name: str = "", verify: str = "none") -> None:
        """Write a file by scp, and check it as `verify` says: "none", "size" or "content"."""
        self._run(ScpWriteStep(name, path, size_bytes, Verify(verify)))

    def shell(  # noqa: PLR0913 - the fields of the step
        self, send: str, expect: str, *, name: str = "", command: str = "", ready: str = "", repeat: int = 1
    ) -> None:
        """Work in an interactive shell: `repeat` times, send `send` and wait until `expect` comes back."""
        self._run(ShellStep(name, command, ready, send, expect, repeat))

    def forward(self, host: str, port: int, *, name: str = "", send: str = "", expect: str = "") -> None:
        """Have the server connect to `host` and `port`, send, and wait for the answer."""
        self._run(ForwardStep(name, host, port, send, expect))

    def git_upload_pack(self, repository: str, *, name: str = "") -> None:
        """Fetch everything that HEAD of a repository reaches, as `git clone` would."""
        self._run(GitUploadPackStep(name, repository))

    def sleep(self, duration_s: float) -> None:
        """Keep the session open and idle."""
        self._run(SleepStep(duration_s))

    def _run(self, step: ScenarioStep) -> None:
        if not isinstance(step, SleepStep) and step.name:
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
