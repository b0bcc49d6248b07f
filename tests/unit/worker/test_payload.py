"""What is written is the same in every run, does not shrink, and is known again when it comes back."""

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sshload_worker.scenario.steps.transfer import BLOCK_BYTES, PayloadCheck, block, pieces

SIZES = [0, 1, 26_624, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES + 17]


def payload(size_bytes: int) -> bytes:
    return b"".join(pieces(size_bytes))


def mismatch(written_bytes: int, came_back: bytes, piece_bytes: int) -> str:
    check = PayloadCheck(written_bytes)
    for at in range(0, len(came_back), piece_bytes):
        check.update(came_back[at : at + piece_bytes])
    return check.mismatch()


@pytest.mark.parametrize("size_bytes", SIZES)
def test_a_payload_has_its_size(size_bytes: int) -> None:
    assert len(payload(size_bytes)) == size_bytes


def test_a_huge_payload_needs_no_more_memory_than_its_block() -> None:
    huge = pieces(100 * 2**30)
    assert all(next(huge) is block() for _ in range(1_000))


def test_no_compression_makes_a_payload_smaller() -> None:
    written = payload(2 * BLOCK_BYTES)
    assert len(zlib.compress(written, level=9)) > len(written)


@pytest.mark.parametrize("size_bytes", SIZES)
@pytest.mark.parametrize("piece_bytes", [30_000, 262_144, 2 * BLOCK_BYTES + 5])
def test_a_payload_that_comes_back_is_known_again_in_whatever_pieces(size_bytes: int, piece_bytes: int) -> None:
    assert mismatch(size_bytes, payload(size_bytes), piece_bytes) == ""


@settings(deadline=None)
@given(at=st.integers(0, 2 * BLOCK_BYTES + 99), piece_bytes=st.integers(1_000, 3 * BLOCK_BYTES))
def test_a_single_byte_that_differs_is_named(at: int, piece_bytes: int) -> None:
    changed = bytearray(payload(2 * BLOCK_BYTES + 100))
    changed[at] ^= 1
    assert mismatch(len(changed), bytes(changed), piece_bytes) == f"byte {at} differs from what was written"


def test_the_first_of_many_differing_bytes_is_named() -> None:
    assert mismatch(2_000_000, b"\0" * 2_000_000, 30_000).startswith("byte 0 ")


@pytest.mark.parametrize(("written", "came_back"), [(10, 9), (10, 11), (BLOCK_BYTES, 0)])
def test_more_or_fewer_bytes_are_told_by_both_numbers(written: int, came_back: int) -> None:
    said = mismatch(written, payload(came_back), 4_096)
    assert said == f"{came_back} bytes were read back, {written} were written"
