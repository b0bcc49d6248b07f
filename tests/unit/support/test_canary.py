"""The search for a planted credential finds it in every form in which it may get out, and nothing else."""

import base64
from pathlib import Path

import pytest
from canary import KEY_MARKS, Canary, new_key, new_text

WORD = new_text()
CANARY = Canary({"password": WORD.encode()})


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
def test_a_text_is_found_in_base64_wherever_it_began(before: str, after: str) -> None:
    text = f"{before}{WORD}{after}".encode()
    for encoded in (base64.b64encode(text), base64.urlsafe_b64encode(text)):
        assert CANARY.found_in("a log", b"data: " + encoded)
        assert CANARY.found_in("a log", b"\n".join(encoded[at : at + 10] for at in range(0, len(encoded), 10)))


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(WORD, id="as it is"),
        pytest.param(WORD.encode().hex(), id="hexadecimal"),
        pytest.param(WORD.encode().hex().upper(), id="in capitals"),
        pytest.param(f"password={WORD}", id="in a word"),
    ],
)
def test_a_text_is_found_as_it_is_and_in_hexadecimal(form: str) -> None:
    assert CANARY.found_in("a log", f"before {form} behind")[0].startswith("a log has the password as ")


def test_what_is_like_it_and_is_not_it_is_passed_over() -> None:
    other = base64.b64encode(new_text().encode()).decode()
    assert CANARY.found_in("a log", f"{WORD[:-1]}, {other}") == []  # the search takes out white space: hence the comma


def test_a_private_key_is_found_in_its_file_and_by_its_bytes(tmp_path: Path) -> None:
    canary = Canary(new_key(tmp_path / "id"))
    secret = canary.planted["private key"]
    file = (tmp_path / "id").read_bytes()
    for text in (file, base64.b64encode(file), secret, secret.hex(), repr(secret), repr(file)):
        assert canary.found_in("a log", text)
    assert all(mark in file for mark in KEY_MARKS)
    assert canary.found_in("the public half", (tmp_path / "id.pub").read_bytes()) == []


def test_a_file_is_found_where_others_may_read_it_and_pass_through_its_folders(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "closed").mkdir(mode=0o700)
    for path, mode in ((tmp_path / "own", 0o600), (tmp_path / "closed/open", 0o644), (tmp_path / "open", 0o644)):
        path.write_text(WORD)
        path.chmod(mode)
    assert [sentence.split(",")[0] for sentence in CANARY.found_by_others([tmp_path])] == [str(tmp_path / "open")]
