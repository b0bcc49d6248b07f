"""A text is found wherever the pieces of output happen to be cut, and never where it is not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.vocabulary import Outcome
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.transfer import AwaitedText, await_text

PIECES = st.lists(st.text("ab", max_size=4), max_size=12)


def source(*pieces: bytes) -> Callable[[], bytes]:
    left = iter(pieces)
    return lambda: next(left, b"")


@given(PIECES, st.text("ab", min_size=1, max_size=5))
def test_a_text_comes_with_the_piece_that_completes_it(pieces: list[str], text: str) -> None:
    awaited = AwaitedText(text)
    came_with = next((at for at, piece in enumerate(pieces) if awaited.found_in(piece.encode())), None)
    until = next((at for at in range(len(pieces)) if text in "".join(pieces[: at + 1])), None)
    assert came_with == until


def test_output_without_end_takes_no_memory() -> None:
    awaited = AwaitedText("never")
    for _ in range(1_000):
        assert not awaited.found_in(b"x" * 10_000)
    assert len(awaited._tail) < len("never")


def test_an_empty_text_is_not_waited_for() -> None:
    def read() -> bytes:
        raise AssertionError("nothing is to be read")

    await_text(read, "", "ready")


def test_what_is_read_ends_with_the_piece_that_has_the_text() -> None:
    read = source(b"user@ho", b"st:~$ ", b"later")
    await_text(read, "$ ", "ready")
    assert read() == b"later"


def test_a_text_of_more_than_ascii_is_found_between_its_bytes() -> None:
    whole = "grüße".encode()
    await_text(source(whole[:3], whole[3:]), "grüße", "expect")


@pytest.mark.parametrize("pieces", [(), (b"some", b"thing else")])
def test_output_that_ends_before_is_a_mismatch_that_names_the_field(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(StepFailure, match="`ready`") as failed:
        await_text(source(*pieces), "$ ", "ready")
    assert failed.value.outcome is Outcome.OUTPUT_MISMATCH
