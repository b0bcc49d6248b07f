"""Of a command's output only so much is kept as expectStdout is looked for in."""

import pytest
from sshload_worker.scenario.steps.command import Stdout

LIMIT_BYTES = 1_048_576


@pytest.mark.parametrize("piece_bytes", [1_000, 262_144, 3_000_000])
def test_output_without_end_takes_no_more_memory_than_the_limit(piece_bytes: int) -> None:
    moved: list[int] = []
    stdout = Stdout(moved.append, keep=True)
    stdout.update(b"begin")
    for _ in range(3_000_000 // piece_bytes + 1):
        stdout.update(b"x" * piece_bytes)
    assert stdout.text() == "begin" + "x" * (LIMIT_BYTES - 5)
    assert moved == [5, *[piece_bytes] * (3_000_000 // piece_bytes + 1)], "each piece is counted, kept or not"


def test_what_nobody_looks_at_is_not_kept() -> None:
    stdout = Stdout(lambda _: None, keep=False)
    stdout.update(b"x" * 1_000)
    assert stdout.text() == ""


def test_bytes_that_are_no_text_are_kept_as_far_as_they_are() -> None:
    stdout = Stdout(lambda _: None, keep=True)
    stdout.update(b"caf\xc3")
    stdout.update(b"\xa9 \xff")
    assert stdout.text() == "café \ufffd"
