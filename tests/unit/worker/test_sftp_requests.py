"""What is asked of a server by the steps that are one SFTP request, and under which name it is timed."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from sshload_contract.steps import (
    SftpMkdirStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpSetstatStep,
    SftpSymlinkStep,
)
from sshload_worker.clients.interface import SftpRequest, SftpType
from sshload_worker.scenario.steps.dispatch import run_step

PERMISSIONS = 4


@pytest.mark.parametrize(
    ("step", "asked"),
    [
        (SftpMkdirStep("do", "d-{n}"), (SftpType.MKDIR, "d-7", ("d-7", PERMISSIONS, 0o755), "sftpMkdir")),
        (SftpRmdirStep("do", "d-{n}"), (SftpType.RMDIR, "d-7", ("d-7",), "sftpRmdir")),
        (SftpRenameStep("do", "a-{n}", "b-{n}"), (SftpType.RENAME, "a-7", ("a-7", "b-7"), "sftpRename")),
        (SftpRemoveStep("do", "a-{n}"), (SftpType.REMOVE, "a-7", ("a-7",), "sftpRemove")),
        # OpenSSH's order, which is not that of the draft: what it leads to, and then the link.
        (SftpSymlinkStep("do", "a-{n}", "to-{n}"), (SftpType.SYMLINK, "a-7", ("to-7", "a-7"), "sftpSymlink")),
        (SftpSetstatStep("do", "a-{n}", "0640"), (SftpType.SETSTAT, "a-7", ("a-7", PERMISSIONS, 0o640), "sftpSetstat")),
    ],
)
def test_a_step_is_one_request_with_the_iterations_number_and_timed_by_its_own_name(
    step: Any, asked: tuple[SftpType, str, tuple[str | int, ...], str]
) -> None:
    timed: list[str] = []
    sent: list[SftpRequest] = []

    def time_it(name: str, call: Callable[[], object]) -> None:
        timed.append(name)
        call()

    run: Any = SimpleNamespace(
        clock=SimpleNamespace(timed=time_it),
        fill_in=lambda text: text.replace("{n}", "7"),
        sftp=lambda _: SimpleNamespace(change=sent.append),
        step_limit=lambda _: nullcontext(),
    )
    run_step(step, run)
    assert sent == [SftpRequest(*asked)]
    assert timed == [f"do.{step.kind}"]
