"""What is said to git-upload-pack, and what of its answers is taken for what."""

import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_contract.vocabulary import Outcome
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.steps.git_upload_pack import (
    FLUSH,
    Advertisement,
    PackCheck,
    PktLineReader,
    fetch_request,
    pkt_line,
    read_advertisement,
    upload_pack_command,
)

HEAD = b"1" * 40
OTHER = b"2" * 40
CAPABILITIES = b"multi_ack side-band-64k ofs-delta symref=HEAD:refs/heads/main object-format=sha1 agent=git/2.47.3"


def advertised(*lines: bytes) -> Advertisement:
    content = b"".join(pkt_line(line + b"\n") for line in lines) + FLUSH
    pieces = iter([content])
    return read_advertisement(PktLineReader(lambda: next(pieces, b"")))


def test_head_and_capabilities_are_read() -> None:
    read = advertised(HEAD + b" HEAD\0" + CAPABILITIES, OTHER + b" refs/heads/other", HEAD + b" refs/heads/main")
    assert read == Advertisement(HEAD, tuple(CAPABILITIES.split()), "sha1")


def test_a_head_that_comes_later_is_found() -> None:
    assert advertised(OTHER + b" refs/heads/a\0ofs-delta", HEAD + b" HEAD").head == HEAD


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        pytest.param((), "is empty", id="no refs at all"),
        pytest.param((b"0" * 40 + b" capabilities^{}\0" + CAPABILITIES,), "is empty", id="capabilities alone"),
        pytest.param(
            (OTHER + b" refs/heads/a\0" + CAPABILITIES, OTHER + b" refs/heads/b"),
            "names none of the 2 branches",
            id="a HEAD that leads nowhere",
        ),
    ],
)
def test_a_repository_without_head_is_a_mismatch(lines: tuple[bytes, ...], why: str) -> None:
    with pytest.raises(StepFailure, match="no HEAD") as failed:
        advertised(*lines)
    assert failed.value.outcome is Outcome.OUTPUT_MISMATCH
    assert why in failed.value.message


def test_everything_is_asked_for_at_once() -> None:
    read = advertised(HEAD + b" HEAD\0ofs-delta thin-pack object-format=sha1")
    want = b"want " + HEAD + b" ofs-delta object-format=sha1\n"
    assert fetch_request(read) == b"%04x" % (len(want) + 4) + want + b"0000" + b"0009done\n"


def test_a_server_is_asked_for_nothing_that_it_cannot() -> None:
    assert b"ofs-delta" not in fetch_request(advertised(HEAD + b" HEAD\0thin-pack"))


@pytest.mark.parametrize(
    ("repository", "command"),
    [
        ("repo.git", "git-upload-pack 'repo.git'"),
        ("/srv/two words.git", "git-upload-pack '/srv/two words.git'"),
        ("it's", "git-upload-pack 'it'\\''s'"),
        ("$(reboot)`reboot`;#", "git-upload-pack '$(reboot)`reboot`;#'"),
        ("wow!", "git-upload-pack 'wow'\\!''"),
    ],
)
def test_a_path_is_quoted_as_git_quotes_it(repository: str, command: str) -> None:
    assert upload_pack_command(repository) == command


def whole_pack(digest: Callable[[bytes], bytes], objects: bytes = b"objects" * 100) -> bytes:
    content = b"PACK\0\0\0\2\0\0\0\1" + objects
    return content + digest(content)


def sha1(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).digest()


def mismatch(pack: bytes, piece_bytes: int = 7, object_format: str = "sha1") -> str:
    check = PackCheck(object_format)
    for at in range(0, len(pack), piece_bytes):
        check.update(pack[at : at + piece_bytes])
    return check.mismatch()


@given(st.binary(max_size=200), st.integers(1, 300))
def test_a_whole_pack_is_one_in_whatever_pieces(objects: bytes, piece_bytes: int) -> None:
    assert mismatch(whole_pack(sha1, objects), piece_bytes) == ""


def test_a_pack_of_the_newer_object_format_is_one() -> None:
    assert mismatch(whole_pack(lambda content: hashlib.sha256(content).digest()), object_format="sha256") == ""


@given(st.integers(0, 600), st.integers(1, 300))
def test_a_pack_that_is_cut_off_is_none(length: int, piece_bytes: int) -> None:
    assert mismatch(whole_pack(sha1)[:length], piece_bytes) != ""


@given(st.integers(0, len(whole_pack(sha1)) - 1))
def test_a_pack_with_another_byte_is_none(at: int) -> None:
    changed = bytearray(whole_pack(sha1))
    changed[at] ^= 1
    assert mismatch(bytes(changed)) != ""


def test_both_digests_are_told() -> None:
    pack = whole_pack(sha1)
    assert mismatch(pack[:-20] + b"\0" * 20) == f"the pack ends with {'00' * 20}, its digest is {pack[-20:].hex()}"


def test_an_unknown_object_format_is_a_mismatch() -> None:
    with pytest.raises(StepFailure, match="sha512"):
        PackCheck("sha512")
