"""A folder for the temporary files of a run, in which a test searches."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like /tmp, which everybody may read, for the processes of the run: with a short path for sockets."""
    with tempfile.TemporaryDirectory(prefix="sl-", dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)
