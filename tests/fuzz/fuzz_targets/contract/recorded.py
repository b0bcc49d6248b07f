"""Traces of arrivals, which people bring in a ConfigMap, as `read_trace` reads them.

Input: the text. Oracle: only ContractError is raised. What is read is in order, ends before its end, and comes back
from its text.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import isclose

from sshload_contract.bounds import ContractError
from sshload_contract.load.replay import read_trace, write_trace


def seeds() -> Iterator[bytes]:
    """Yield traces with and without comments, and some that are none."""
    yield b"# sshload trace\n# lasts: 60\n0\n0.25\n1e1\n59.999999\n"
    yield b"0.5\n0.5\n\n  7  \n"
    yield b"# lasts: 1\n2\n"
    yield b"2\n1\n-0.0\nnan\n1_0\n"


def check(data: bytes) -> None:
    """Read the trace, and what is written of it."""
    try:
        trace = read_trace(data.decode("utf-8", "replace").splitlines())
    except ContractError:
        return
    assert all(before <= after for before, after in pairwise(trace.offsets))
    assert 0 <= trace.offsets[0] <= trace.offsets[-1] <= trace.lasts_s
    again = read_trace(write_trace(trace).splitlines())
    assert len(again.offsets) == len(trace.offsets)
    assert all(isclose(one, other, abs_tol=1e-6) for one, other in zip(again.offsets, trace.offsets, strict=True))
    assert 1 <= trace.busiest(1.0)[0] <= len(trace.offsets)
