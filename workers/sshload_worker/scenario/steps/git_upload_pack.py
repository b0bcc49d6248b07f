"""The step that fetches a repository as `git clone` would."""

from functools import partial

from sshload_contract.steps import GitUploadPackStep
from sshload_contract.vocabulary import Outcome, Step, measured_step

from sshload_worker.clients.interface import Channel
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.command import check_end
from sshload_worker.scenario.steps.git_protocol import (
    Advertisement,
    PackCheck,
    PktLineReader,
    TruncatedError,
    fetch_request,
    read_advertisement,
    upload_pack_command,
)
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.steps.transfer import raise_mismatch, read_to_end


def run_git_upload_pack(step: GitUploadPackStep, run: StepRun) -> None:
    """Fetch the repository; raises StepFailure where git refuses, or the pack that comes is not whole."""
    measured = measured_step(step.name, Step.GIT_UPLOAD_PACK)
    run.clock.transferred(measured, run.clock.timed(measured, partial(_fetch, step, run)))


def _fetch(step: GitUploadPackStep, run: StepRun) -> int:
    with run.channel_limit():
        channel = run.time_part(step.name, Step.CHANNEL_OPEN, run.connection.open_channel)
    with run.step_limit(Step.GIT_UPLOAD_PACK):
        command = upload_pack_command(run.fill_in(step.repository))
        run.time_part(step.name, Step.EXEC, partial(channel.execute, command))
        git = _UploadPackReader(channel)
        advertised = run.time_part(step.name, Step.ADVERTISE, git.advertisement)
        check = PackCheck(advertised.object_format)
        channel.write(fetch_request(advertised))
        count = run.time_part(step.name, Step.READ, partial(read_to_end, run, step.name, git.read_pack, check.update))
        end = run.time_part(step.name, Step.CLOSE, channel.close)
    check_end(end, 0)
    raise_mismatch(check.mismatch())
    return count


class _UploadPackReader:
    """The answers of git-upload-pack on a channel. Where it ends early, its exit code and stderr are the failure."""

    __slots__ = ("_channel", "_lines", "_pack_comes")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lines = PktLineReader(channel.read)
        self._pack_comes = False

    def advertisement(self) -> Advertisement:
        """Return the server's advertisement of the repository."""
        try:
            return read_advertisement(self._lines)
        except TruncatedError:
            raise self._ended_early() from None

    def read_pack(self) -> bytes:
        """Return the next piece of the pack, empty at its end."""
        if not self._pack_comes:
            try:
                self._lines.read_line()  # NAK: we have nothing in common
            except TruncatedError:
                raise self._ended_early() from None
            self._pack_comes = True
        return self._lines.read_rest()

    def _ended_early(self) -> StepFailure:
        try:
            check_end(self._channel.close(), 0)
        except StepFailure as failure:
            return failure
        return StepFailure(Outcome.OUTPUT_MISMATCH, "git's answer ended too early")
