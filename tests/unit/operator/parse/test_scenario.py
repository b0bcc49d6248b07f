"""parse: the values of steps of every kind, and of a locustfile."""

from dataclasses import replace
from hashlib import sha256
from typing import get_args

import pytest
from specs.managed import LOCUSTFILE, MANAGED_RSYNC, MANAGED_STEPS
from specs.small import SMALL
from specs.spec import Spec, changed
from sshload_contract.client import Auth, Library
from sshload_contract.steps import (
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    RsyncDownload,
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
from sshload_contract.wire.run_config import Scenario, SessionReuse
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import LocustfileRef

EMPTY_SHA256 = sha256().hexdigest()


def test_every_kind_of_step_reaches_its_value() -> None:
    spec = parse(MANAGED_STEPS)
    assert spec.scenario == Scenario(
        session_reuse=SessionReuse.USER,
        pool_sessions=0,
        locustfile_path="",
        steps=(
            ExecStep("run", "true", 0, ""),
            SftpReadStep("get", "a", expect_bytes=0, expect_sha256=EMPTY_SHA256),
            SftpWriteStep("put", "b-{iteration}", 11 * 1024**2, Verify.CONTENT),
            SftpListStep("ls", ".", expect_entries=3),
            SftpStatStep("stat", "b-{iteration}"),
            SftpMkdirStep("mkdir", "d"),
            SftpRmdirStep("rmdir", "d"),
            SftpRenameStep("mv", "b-{iteration}", "c-{iteration}"),
            SftpRemoveStep("rm", "c-{iteration}"),
            ScpReadStep("scp-get", "a", expect_bytes=1000, expect_sha256=EMPTY_SHA256),
            ScpWriteStep("scp-put", "e", 1, Verify.SIZE),
            ShellStep("type", "cat", ready="$ ", send="é\n", expect="é", repeat=10),
            ForwardStep("tunnel", "localhost", 7, send="x", expect="x"),
            GitUploadPackStep("clone", "sub/project.git"),
            SleepStep(1),
        ),
    )
    assert {RsyncStep, SftpSetstatStep, SftpSymlinkStep, *map(type, spec.scenario.steps)} == set(get_args(ScenarioStep))
    assert spec.auth is Auth.CERTIFICATE
    assert spec.client == replace(
        parse(SMALL).client,
        library=Library.PARAMIKO,
        rekey_bytes=1024**3,
        window_bytes=2 * 1024**2,
        packet_bytes=32 * 1024,
    )


def test_both_directions_of_rsync_reach_their_values() -> None:
    assert parse(MANAGED_RSYNC).scenario.steps == (
        RsyncStep("push", RsyncUpload("a-{iteration}", 100, 26 * 1024, delete=True), compress=False),
        RsyncStep("pull", RsyncDownload("b", 3, 1024**2), compress=True),
        RsyncStep("again", RsyncDownload("b", None, None), compress=False),
    )


@pytest.mark.parametrize(
    ("kind", "written", "step"),
    [
        ("sftpRead", {"path": "a"}, SftpReadStep("", "a", None, "")),
        ("sftpWrite", {"path": "a", "size": 1}, SftpWriteStep("", "a", 1, Verify.NONE)),
        ("sftpList", {"path": "a"}, SftpListStep("", "a", None)),
        ("sftpSetstat", {"path": "a", "mode": "0640"}, SftpSetstatStep("", "a", "0640")),
        ("sftpSymlink", {"path": "a", "to": "b"}, SftpSymlinkStep("", "a", "b")),
        ("shell", {"send": "a", "expect": "b"}, ShellStep("", "", "", "a", "b", 1)),
        ("forward", {"host": "::1", "port": 1}, ForwardStep("", "::1", 1, "", "")),
    ],
)
def test_a_step_has_its_defaults(kind: str, written: Spec, step: ScenarioStep) -> None:
    assert parse(changed(SMALL, "scenario.steps.0", {kind: written})).scenario.steps == (step,)


def test_a_locustfile_stands_in_for_steps() -> None:
    spec = parse(LOCUSTFILE)
    assert spec.locustfile == LocustfileRef(config_map="mixed", key="mixed.py")
    assert spec.scenario == Scenario(SessionReuse.NONE, pool_sessions=0, steps=(), locustfile_path="")
    assert (spec.client.library, spec.client.control_master) == (Library.OPENSSH, True)
