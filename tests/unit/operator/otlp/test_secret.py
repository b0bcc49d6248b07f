"""The Secret of a collector: headers as HTTP has them, and no message that shows a part of one."""

import subprocess
from pathlib import Path

import pytest
from sshload_operator.control.otlp.options import OtlpOptions
from sshload_operator.control.otlp.secret import headers_of, read_access
from sshload_operator.control.posting import SecretError

HUSH = "s3cret"


def options(folder: Path | None, scheme: str = "https") -> OtlpOptions:
    return OtlpOptions(f"{scheme}://collector/v1/metrics", 60, folder)


def test_each_line_that_is_not_blank_is_a_header() -> None:
    assert headers_of(
        "Authorization: Bearer a:b\r\n\n X-Scope-OrgID : 7\n".replace(" X-", "X-").replace("ID :", "ID:")
    ) == {
        "Authorization": "Bearer a:b",
        "X-Scope-OrgID": "7",
    }
    assert headers_of("") == {}


@pytest.mark.parametrize(
    "text",
    [
        HUSH,
        "Authorization",
        f"{HUSH}\x00: x",
        f"Name: {HUSH}\x01",
        f"Name: {HUSH}é",
        f"Na me: {HUSH}",
        "Name:",
        f": {HUSH}",
    ],
)
def test_what_is_no_header_is_refused_by_the_number_of_its_line(text: str) -> None:
    with pytest.raises(SecretError, match="line 2 of the headers") as refused:
        headers_of(f"X-One: {HUSH}\n{text}")
    assert HUSH not in str(refused.value)


@pytest.mark.parametrize("name", ["Content-Type", "content-encoding", "HOST", "Content-Length", "Transfer-Encoding"])
def test_a_header_that_the_operator_sets_itself_is_refused(name: str) -> None:
    with pytest.raises(SecretError, match="sets itself"):
        headers_of(f"{name}: {HUSH}")


def test_there_is_a_bound_for_headers_and_for_their_bytes(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="more than 50 headers"):
        headers_of("".join(f"X-{number}: 1\n" for number in range(51)))
    (tmp_path / "headers").write_text("X-One: 1\n" * 2_000)
    with pytest.raises(SecretError, match="more than 16384 bytes"):
        read_access(options(tmp_path))


def test_at_the_bound_headers_and_bytes_are_taken(tmp_path: Path) -> None:
    assert len(headers_of("".join(f"X-{number}: 1\n" for number in range(50)))) == 50
    (tmp_path / "headers").write_text("X-One: 1\n" + "\n" * (16_384 - 9))
    assert read_access(options(tmp_path)).headers == {"X-One": "1"}


def test_every_file_of_the_secret_may_be_missing(tmp_path: Path) -> None:
    assert read_access(options(tmp_path)).headers == {}
    assert read_access(options(None)).tls is not None
    assert read_access(options(None, "http")).tls is None


@pytest.mark.parametrize("file", ["ca.crt", "tls.crt"])
def test_a_file_that_cannot_be_used_is_refused_in_words_without_it(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text(HUSH)
    with pytest.raises(SecretError, match="cannot be read") as refused:
        read_access(options(tmp_path))
    assert HUSH not in str(refused.value)


def test_a_key_that_is_encrypted_is_refused_and_nobody_is_asked_for_its_password(tmp_path: Path) -> None:
    words = [
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-subj",
        "/CN=x",
        "-passout",
        f"pass:{HUSH}",
    ]
    made = ["openssl", "req", *words, "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"]
    subprocess.run(made, check=True, capture_output=True)
    with pytest.raises(SecretError, match=r"tls\.key is encrypted") as refused:
        read_access(options(tmp_path))
    assert HUSH not in str(refused.value)
