"""Every kind of step goes well by every client library, and its parts have the same names by all of them."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from one_iteration import one_pass
from run_configs import client
from ssh_server import Keys, ssh_server
from sshload_contract.client import Library
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    RsyncStep,
    RsyncUpload,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpSetstatStep,
    SftpStatStep,
    SftpSymlinkStep,
    SftpWriteStep,
    ShellStep,
    SleepStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome

SIZE_BYTES = 1_500_000
PARTS = {
    "exec": "channelOpen exec firstByte read close command",
    "sftp-write": "open write close verify sftpWrite",
    "scp-write": "open write close verify scpWrite",
    "sftp-read": "open firstByte read close sftpRead",
    "scp-read": "open firstByte read close scpRead",
    "shell": "channelOpen shellStart echo close shell",
    "forward": "channelOpen echo close forward",
    "git": "channelOpen exec advertise firstByte read close gitUploadPack",
    "rsync": "channelOpen exec transfer close rsync",
    "mkdir": "subsystem sftpMkdir",
    "list": "sftpList",
    "stat": "sftpStat",
    "rename": "sftpRename",
    "symlink": "sftpSymlink",
    "setstat": "sftpSetstat",
    "remove-link": "sftpRemove",
    "remove": "sftpRemove",
    "rmdir": "sftpRmdir",
}


def every_kind(folder: Path, repository: Path, port: int) -> tuple[ScenarioStep, ...]:
    made, file = f"{folder}/made", f"{folder}/made/{{iteration}}"
    return (
        ExecStep("exec", "echo done", 0, "done"),
        SftpMkdirStep("mkdir", made),
        SftpWriteStep("sftp-write", file, SIZE_BYTES, Verify.CONTENT),
        SftpReadStep("sftp-read", file, SIZE_BYTES, ""),
        ScpWriteStep("scp-write", file, SIZE_BYTES, Verify.CONTENT),
        ScpReadStep("scp-read", file, SIZE_BYTES, ""),
        SftpStatStep("stat", file),
        SftpRenameStep("rename", file, f"{file}-renamed"),
        SftpListStep("list", made, 1),
        SftpSetstatStep("setstat", f"{file}-renamed", "0600"),
        SftpSymlinkStep("symlink", f"{file}-link", f"{file}-renamed"),
        SftpRemoveStep("remove-link", f"{file}-link"),
        SftpRemoveStep("remove", f"{file}-renamed"),
        SftpRmdirStep("rmdir", made),
        ShellStep("shell", "cat > /dev/null", "", "typed", "typed", 1),
        ForwardStep("forward", "127.0.0.1", port, "", "SSH-2.0-"),
        GitUploadPackStep("git", str(repository)),
        RsyncStep("rsync", RsyncUpload(f"{folder}/rsynced", 3, 100_000, delete=True), compress=False),
        SleepStep(0.01),
    )


@pytest.mark.parametrize("library", [Library.SSH2_PYTHON, Library.PARAMIKO, Library.ASYNCSSH])
def test_every_kind_of_step_goes_well_and_is_timed_in_the_same_parts(
    keys: Keys, tmp_path: Path, library: Library
) -> None:
    repository = tmp_path / "repo.git"
    subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main", repository], check=True)
    commit = b"commit refs/heads/main\ncommitter C <c@localhost> 1700000000 +0000\ndata 0\n"
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], input=commit, check=True)
    with ssh_server(tmp_path, keys, "Subsystem sftp internal-sftp") as server:
        steps = every_kind(tmp_path, repository, server.port)
        done = one_pass(server, *steps, by=replace(client(), library=library))
    assert (done.outcome, done.failed) == (Outcome.OK, {}), done
    assert done.timed == {f"{name}.{part}": 1 for name, parts in PARTS.items() for part in parts.split()}
    assert set(done.moved) == {
        "exec.command",
        "sftp-write.sftpWrite",
        "sftp-read.sftpRead",
        "scp-write.scpWrite",
        "scp-read.scpRead",
        "git.gitUploadPack",
        "rsync.rsync",
    }
