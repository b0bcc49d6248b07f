"""A file that is read is held against its size and its digest, each where one is given."""

import hashlib

import pytest
from sshload_worker.scenario.steps.transfer import Expectation

CONTENT = b"what is in the file" * 1_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def mismatch(expect_bytes: int | None, expect_sha256: str, content: bytes = CONTENT) -> str:
    expectation = Expectation(expect_bytes, expect_sha256)
    for at in range(0, len(content), 1_000):
        expectation.update(content[at : at + 1_000])
    return expectation.mismatch()


@pytest.mark.parametrize("expect_bytes", [None, len(CONTENT)])
@pytest.mark.parametrize("expect_sha256", ["", DIGEST, DIGEST.upper()])
def test_a_file_as_expected_is_not_objected_to(expect_bytes: int | None, expect_sha256: str) -> None:
    assert mismatch(expect_bytes, expect_sha256) == ""


def test_another_size_is_told_by_both_numbers() -> None:
    assert mismatch(7, DIGEST) == f"{len(CONTENT)} bytes, expected 7"


def test_another_content_is_told_by_both_digests() -> None:
    other = CONTENT[:-1] + b"!"
    assert mismatch(len(other), DIGEST, other) == f"SHA-256 {hashlib.sha256(other).hexdigest()}, expected {DIGEST}"


def test_an_empty_file_may_be_expected() -> None:
    assert mismatch(0, hashlib.sha256(b"").hexdigest(), b"") == ""
    assert mismatch(0, "") == f"{len(CONTENT)} bytes, expected 0"
