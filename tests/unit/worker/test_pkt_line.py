"""git's lines are read from pieces of any length, and what is none ends as an outcome, with bounded memory."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.vocabulary import Outcome
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.git_upload_pack import FLUSH, PktLineReader, TruncatedError, pkt_line

LONGEST = 65_520


def source(content: bytes, piece_bytes: int = 3) -> Callable[[], bytes]:
    left = iter([content[at : at + piece_bytes] for at in range(0, len(content), piece_bytes)])
    return lambda: next(left, b"")


@given(
    st.lists(st.binary(max_size=50).filter(lambda data: not data.startswith(b"ERR ")), max_size=5), st.integers(1, 9)
)
def test_lines_come_out_as_they_went_in(lines: list[bytes], piece_bytes: int) -> None:
    reader = PktLineReader(source(b"".join(pkt_line(line + b"\n") for line in lines) + FLUSH + b"PACK", piece_bytes))
    assert [reader.read_line() for _ in lines] == lines
    assert reader.read_line() is None
    rest = b""
    while piece := reader.read_rest():
        rest += piece
    assert rest == b"PACK"


def test_a_line_without_newline_and_an_empty_one_are_lines() -> None:
    reader = PktLineReader(source(b"0006a\n0005b0004"))
    assert [reader.read_line() for _ in range(3)] == [b"a", b"b", b""]


def test_the_longest_line_is_read() -> None:
    data = b"x" * (LONGEST - 4)
    assert PktLineReader(source(pkt_line(data), 262_144)).read_line() == data


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"Hello, this is a shell that greets", id="a greeting"),
        pytest.param(b"0001", id="the delimiter of version 2"),
        pytest.param(b"0003", id="a length shorter than itself"),
        pytest.param(b"fff1", id="longer than git allows"),
        pytest.param(b"ffff", id="the longest that can be written"),
        pytest.param(b"-001", id="a sign"),
        pytest.param(b"0x1f", id="a prefix"),
        pytest.param(b" 12 ", id="blanks"),
        pytest.param(b"1_00", id="an underscore"),
        pytest.param(b"\xff\xfe\0\0", id="no text"),
    ],
)
def test_a_length_that_is_none_is_a_mismatch(start: bytes) -> None:
    with pytest.raises(StepFailure, match="not git's protocol") as failed:
        PktLineReader(source(start + b"x" * 100)).read_line()
    assert failed.value.outcome is Outcome.OUTPUT_MISMATCH


def test_an_error_line_is_a_mismatch_in_gits_words() -> None:
    with pytest.raises(StepFailure, match=r"^git: access denied$") as failed:
        PktLineReader(source(pkt_line(b"ERR access denied\n"))).read_line()
    assert failed.value.outcome is Outcome.OUTPUT_MISMATCH


@pytest.mark.parametrize("content", [b"", b"00", b"0010half a"])
def test_an_end_within_a_line_is_told(content: bytes) -> None:
    with pytest.raises(TruncatedError):
        PktLineReader(source(content)).read_line()


def test_no_more_is_read_than_a_line_needs() -> None:
    asked = 0

    def endless() -> bytes:
        nonlocal asked
        asked += 1
        return b"0009hello"

    reader = PktLineReader(endless)
    assert reader.read_line() == b"hello"
    assert asked == 1
