"""Of a command's output only so much is kept as expectStdout is looked for in."""

import pytest
from sshload_worker.expression import Expression
from sshload_worker.scenario.steps.command import Stdout

LIMIT_BYTES = 1_048_576


@pytest.mark.parametrize("piece_bytes", [1_000, 262_144, 3_000_000])
def test_output_without_end_takes_no_more_memory_than_the_limit(piece_bytes: int) -> None:
    moved: list[int] = []
    stdout = Stdout(moved.append, LIMIT_BYTES)
    stdout.update(b"begin")
    for _ in range(3_000_000 // piece_bytes + 1):
        stdout.update(b"x" * piece_bytes)
    assert stdout.kept == b"begin" + b"x" * (LIMIT_BYTES - 5)
    assert moved == [5, *[piece_bytes] * (3_000_000 // piece_bytes + 1)], "each piece is counted, kept or not"


def test_what_nobody_looks_at_is_not_kept() -> None:
    stdout = Stdout(lambda _: None, 0)
    stdout.update(b"x" * 1_000)
    assert stdout.kept == b""


def test_a_mismatch_beyond_what_is_searched_says_how_much_was() -> None:
    expected = Expression("end")
    stdout = Stdout(lambda _: None, expected.limit_bytes)
    stdout.update(b"x" * expected.limit_bytes + b"end")
    assert stdout.mismatch(expected) == (
        f"expectStdout was not found in the first {expected.limit_bytes} bytes, of {expected.limit_bytes + 3} in all"
    )


def test_the_last_bytes_are_kept_whatever_came_before() -> None:
    stdout = Stdout(lambda _: None, 0)
    for piece in (b"the message of the day\n" * 20, b"There were too many", b" logins for 'ann'.\n"):
        stdout.update(piece)
    assert stdout.last.endswith(b"\nThere were too many logins for 'ann'.\n")
    assert len(stdout.last) == 200
