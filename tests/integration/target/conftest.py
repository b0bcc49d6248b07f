"""Targets of a test's own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from running_target import RunningTarget, TargetFolder, make_target_folder, ready_target

StartTarget = Callable[..., RunningTarget]


@pytest.fixture
def target_folder(tmp_path: Path) -> TargetFolder:
    """Return the files of a target that asks for nothing special."""
    return make_target_folder(tmp_path, "LogLevel INFO\n")


@pytest.fixture
def start_target(tmp_path: Path) -> Iterator[StartTarget]:
    """Return a function that starts a target with a given sshd_config and fixtures, and waits until it is ready."""
    with ExitStack() as targets:

        def start(sshd_config: str = "LogLevel INFO\n", **fixtures: object) -> RunningTarget:
            folder = make_target_folder(tmp_path, sshd_config, **fixtures)  # type: ignore[arg-type] -- passed on as they are
            return targets.enter_context(ready_target(folder))

        yield start
