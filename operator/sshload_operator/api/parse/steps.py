"""The steps of a scenario, each kind under the name that it has in the run's configuration."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from sshload_contract.run_config import (
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

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.expression import read_expression
from sshload_operator.api.parse.external import read_host
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import Reader, choice, duration, items, shown, size, text, whole

_NAME = text(
    longest=STEP_NAME_LIMIT_CHARACTERS,
    pattern=STEP_NAME_PATTERN,
    wanted="a name that begins with a small letter, such as uptime",
)
_COMMAND = text(shortest=1, longest=4096, pattern=r"[^\x00]+", wanted="a command")
_TEXT = text(shortest=1, longest=4096, pattern=r"[^\x00]+", wanted="a text")
_PATH = text(shortest=1, longest=1024, pattern=r"[^\x00-\x1f\x7f]+", wanted="a path without control characters")
_SHA256 = text(longest=64, pattern=r"[0-9a-f]{64}", wanted="64 hexadecimal digits, as sha256sum prints them")
_SIZE = size("0", "100Gi")
_SLEEP = duration("1ms", "24h")


def read_steps(value: Any, path: str) -> tuple[ScenarioStep, ...]:
    """Read the steps; where several are measured, each must have a name of its own."""
    steps = items(_read_step, most=15)(value, path)
    names = [step.name for step in steps if not isinstance(step, SleepStep)]
    if len(names) > 1 and not all(names):
        raise SpecError(path, "each step but sleep must have a name where there are several")
    for name in names:
        if names.count(name) > 1:
            raise SpecError(path, f"the names of steps must differ, and {shown(name)} stands there twice")
    return steps


def _read_step(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    kind = fields.one_of(*_READERS)
    step = fields.required(kind, _READERS[kind])
    fields.end()
    return step


def _name(fields: Fields) -> str:
    return fields.optional("name", _NAME) or ""


def _read_exec(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = ExecStep(
        name=_name(fields),
        command=fields.required("command", _COMMAND),
        expect_exit_code=fields.defaulted("expectExitCode", whole(0, 255), 0),
        expect_stdout=fields.optional("expectStdout", read_expression) or "",
    )
    fields.end()
    return step


def _read_download(kind: type[SftpReadStep | ScpReadStep], value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = kind(
        name=_name(fields),
        path=fields.required("path", _PATH),
        expect_bytes=fields.optional("expectSize", _SIZE),
        expect_sha256=fields.optional("expectSha256", _SHA256) or "",
    )
    fields.end()
    return step


def _read_upload(kind: type[SftpWriteStep | ScpWriteStep], value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = kind(
        name=_name(fields),
        path=fields.required("path", _PATH),
        size_bytes=fields.required("size", _SIZE),
        verify=Verify(fields.defaulted("verify", choice(*Verify), Verify.NONE.value)),
    )
    fields.end()
    return step


def _read_sftp_list(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = SftpListStep(
        name=_name(fields),
        path=fields.required("path", _PATH),
        expect_entries=fields.optional("expectEntries", whole(0, 10_000_000)),
    )
    fields.end()
    return step


def _read_one_path(
    kind: type[SftpStatStep | SftpMkdirStep | SftpRmdirStep | SftpRemoveStep], value: Any, path: str
) -> ScenarioStep:
    fields = Fields(value, path)
    step = kind(name=_name(fields), path=fields.required("path", _PATH))
    fields.end()
    return step


def _read_sftp_rename(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = SftpRenameStep(name=_name(fields), path=fields.required("path", _PATH), to=fields.required("to", _PATH))
    fields.end()
    return step


def _read_shell(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = ShellStep(
        name=_name(fields),
        command=fields.optional("command", _COMMAND) or "",
        ready=fields.optional("ready", _TEXT) or "",
        send=fields.required("send", _TEXT),
        expect=fields.required("expect", _TEXT),
        repeat=fields.defaulted("repeat", whole(1, 10_000), 1),
    )
    fields.end()
    return step


def _read_forward(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = ForwardStep(
        name=_name(fields),
        host=fields.required("host", read_host),
        port=fields.required("port", whole(1, 65_535)),
        send=fields.optional("send", _TEXT) or "",
        expect=fields.optional("expect", _TEXT) or "",
    )
    fields.end()
    return step


def _read_git_upload_pack(value: Any, path: str) -> ScenarioStep:
    fields = Fields(value, path)
    step = GitUploadPackStep(name=_name(fields), repository=fields.required("repository", _PATH))
    fields.end()
    return step


def _read_sleep(value: Any, path: str) -> ScenarioStep:
    return SleepStep(duration_s=_SLEEP(value, path))


_READERS: Mapping[str, Reader[ScenarioStep]] = {
    ExecStep.kind: _read_exec,
    SftpReadStep.kind: partial(_read_download, SftpReadStep),
    SftpWriteStep.kind: partial(_read_upload, SftpWriteStep),
    SftpListStep.kind: _read_sftp_list,
    SftpStatStep.kind: partial(_read_one_path, SftpStatStep),
    SftpMkdirStep.kind: partial(_read_one_path, SftpMkdirStep),
    SftpRmdirStep.kind: partial(_read_one_path, SftpRmdirStep),
    SftpRenameStep.kind: _read_sftp_rename,
    SftpRemoveStep.kind: partial(_read_one_path, SftpRemoveStep),
    ScpReadStep.kind: partial(_read_download, ScpReadStep),
    ScpWriteStep.kind: partial(_read_upload, ScpWriteStep),
    ShellStep.kind: _read_shell,
    ForwardStep.kind: _read_forward,
    GitUploadPackStep.kind: _read_git_upload_pack,
    SleepStep.kind: _read_sleep,
}
