"""The files of one log make one trace: rotated, compressed, and none of them left out."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sshload_operator.cli.record.command import command
from sshload_operator.cli.record.log_files import UnreadableLogError, read_logs


def line(minute: int, port: int) -> str:
    return (
        f"2026-11-16T09:{minute:02}:00.500000+00:00 bastion sshd[7]: Connection from 192.0.2.7 port {port} on"
        " 192.0.2.1 port 22\n"
    )


def trace(*files: Path) -> Result:
    return CliRunner().invoke(command, [str(file) for file in files], standalone_mode=False)


@pytest.fixture
def newest(tmp_path: Path) -> Path:
    path = tmp_path / "auth.log"
    path.write_text(line(30, 5030) + line(31, 5031))
    return path


@pytest.mark.parametrize(
    "compress",
    [
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(bz2.compress, id="bzip2"),
        pytest.param(lzma.compress, id="xz"),
    ],
)
def test_a_compressed_log_is_read_with_the_others(
    newest: Path, tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    oldest = tmp_path / "auth.log.2.packed"
    oldest.write_bytes(compress((line(10, 5010) + line(11, 5011)).encode()))
    found = read_logs([newest, oldest])
    assert [arrival.at_s - found.arrivals[0].at_s for arrival in found.arrivals] == [0, 60, 1200, 1260]


def test_a_connection_whose_lines_are_in_two_files_is_one_in_whatever_order_they_are_given(tmp_path: Path) -> None:
    first, second = tmp_path / "auth.log.1", tmp_path / "auth.log"
    first.write_text(line(10, 5010))
    second.write_text(
        "2026-11-16T09:10:01.500000+00:00 bastion sshd[7]: Accepted publickey for me from 192.0.2.7 port 5010 ssh2\n"
    )
    assert [len(read_logs(files).arrivals) for files in ([first, second], [second, first])] == [1, 1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(gzip.compress(line(10, 5010).encode())[:-12], "ended before the end-of-stream", id="cut gzip"),
        pytest.param(b"\x1f\x8b and no more", "nknown compression", id="damaged gzip"),
        pytest.param(b"\x28\xb5\x2f\xfd\x00", "it is in the format of zstd: give it as text", id="zstd"),
        pytest.param(b"PK\x03\x04", "it is in the format of zip: give it as text", id="zip"),
        pytest.param(b"LPKSHHRH\x00", "it is in the format of journald: give it as text", id="a journal"),
        pytest.param(b"hello\n", "none of its lines is from syslog or the journal", id="another text"),
        pytest.param(line(10, 5010).encode("utf-16"), "none of its lines is from syslog", id="UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_no_trace_is_made(
    newest: Path, tmp_path: Path, content: bytes, said: str
) -> None:
    bad = tmp_path / "auth.log.2.gz"
    bad.write_bytes(content)
    with pytest.raises(UnreadableLogError) as raised:
        read_logs([newest, bad])
    assert str(raised.value).startswith(f"{bad}: ")
    assert said in str(raised.value)
    assert trace(newest, bad).return_value != 0


def test_a_file_that_does_not_exist_and_a_directory_are_errors(newest: Path, tmp_path: Path) -> None:
    assert trace(newest, tmp_path / "no.log").return_value != 0
    assert trace(newest, tmp_path).return_value != 0
    assert trace(newest).return_value == 0


def test_an_empty_file_of_a_rotation_is_nothing_to_tell(newest: Path, tmp_path: Path) -> None:
    (tmp_path / "auth.log.1").touch()
    assert len(read_logs([newest, tmp_path / "auth.log.1"]).arrivals) == 2
