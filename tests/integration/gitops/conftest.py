"""What Flux and Argo CD think, beside the operator as a process."""

from collections.abc import Iterator

import pytest
from flux_and_argo import Reader
from flux_and_argo import reader as running_reader
from operator_process import operator, pods, proxy

__all__ = ["operator", "pods", "proxy", "reader"]


@pytest.fixture(scope="session")
def reader() -> Iterator[Reader]:
    """Run the program that reads objects as Flux and Argo CD do."""
    with running_reader() as reader:
        yield reader
