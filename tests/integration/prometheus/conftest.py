"""Workers have ssh2-python as in their image; the operator is a process that a played master talks to."""

import pytest
from operator_fixtures import operator, proxy
from own_ssh2 import own_ssh2

__all__ = ["operator", "proxy"]


@pytest.fixture(autouse=True)
def _workers_import_own_ssh2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in these tests: others of the same pytest process run workers with the package index's ssh2-python."""
    monkeypatch.setenv("PYTHONPATH", str(own_ssh2()))
