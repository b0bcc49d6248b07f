import base64
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sshload_gateway.store.credentials import NewCredential
from sshload_gateway.store.sealing import Seal, Sealed, SealError, read_seal

ABOUT = ("ada", "one")


def test_a_sealed_text_opens_for_whom_it_was_sealed_only() -> None:
    seal = Seal({"first": os.urandom(32)}, "first")
    sealed = seal.close(b"secret", ABOUT)

    assert b"secret" not in sealed.data
    assert seal.open(sealed, ABOUT) == b"secret"
    for other in (("eve", "one"), ("ada", "two"), ("adao", "ne")):
        with pytest.raises(SealError):
            seal.open(sealed, other)


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "eve"},
        {"name": "two"},
        {"host": "198.51.100.7"},
        {"port": 23},
        {"user": "root"},
        {"host_keys": ("ssh-ed25519 BBBB",)},
        {"public_key": "ssh-ed25519 DDDD"},
    ],
)
def test_a_key_is_sealed_for_all_that_decides_where_it_is_used(other: dict[str, Any]) -> None:
    one = NewCredential("ada", "one", "192.0.2.7", 22, "app", ("ssh-ed25519 AAAA",), "ssh-ed25519 CCCC", b"key")
    assert replace(one, **other).use != one.use
    assert replace(one, private_key=b"another").use == one.use


def test_the_same_text_is_never_sealed_alike() -> None:
    seal = Seal({"first": os.urandom(32)}, "first")

    assert len({seal.close(b"secret", ABOUT).data for _ in range(100)}) == 100


def test_a_changed_byte_anywhere_is_found() -> None:
    seal = Seal({"first": os.urandom(32)}, "first")
    sealed = seal.close(b"secret", ABOUT)
    for at in range(len(sealed.data)):
        changed = bytearray(sealed.data)
        changed[at] ^= 1
        with pytest.raises(SealError):
            seal.open(Sealed("first", bytes(changed)), ABOUT)


@pytest.mark.parametrize("length", range(30))
def test_a_text_that_was_cut_off_does_not_open(length: int) -> None:
    seal = Seal({"first": os.urandom(32)}, "first")
    with pytest.raises(SealError):
        seal.open(Sealed("first", seal.close(b"secret", ABOUT).data[:length]), ABOUT)


def test_an_older_key_opens_and_the_active_one_seals(tmp_path: Path) -> None:
    _write(tmp_path, "first")
    older = read_seal(tmp_path, "first").close(b"secret", ABOUT)
    _write(tmp_path, "second")
    seal = read_seal(tmp_path, "second")

    assert seal.open(older, ABOUT) == b"secret"
    assert seal.close(b"secret", ABOUT).key_id == "second"


def test_a_key_that_is_gone_is_named(tmp_path: Path) -> None:
    _write(tmp_path, "second")
    with pytest.raises(SealError, match="'first'"):
        read_seal(tmp_path, "second").open(Sealed("first", b""), ABOUT)


@pytest.mark.parametrize("content", [b"", b"short", base64.b64encode(b"x" * 31), b"\xff" * 44])
def test_what_is_no_key_is_refused_without_its_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "first").write_bytes(content)
    with pytest.raises(SealError, match="openssl rand -base64 32"):
        read_seal(tmp_path, "first")


def test_an_active_key_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    _write(tmp_path, "first")
    (tmp_path / "..data").symlink_to(tmp_path)
    with pytest.raises(SealError, match=r"'second'.* has: first"):
        read_seal(tmp_path, "second")


def _write(folder: Path, name: str) -> None:
    (folder / name).write_bytes(base64.b64encode(os.urandom(32)) + b"\n")
