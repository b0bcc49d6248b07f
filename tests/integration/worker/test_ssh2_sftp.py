"""SFTP and scp by ssh2-python: whole files, told failures, nothing left behind on a session that is used on."""

import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic_ns

import pytest
from gevent import Timeout
from run_configs import client
from ssh2_connections import logged_in, login_to
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.by_parts import read_by_parts
from sshload_worker.clients.interface import Course, RemoteFile, Sftp, SftpRequest, SftpType
from sshload_worker.clients.ssh2.connection import SSH2Connection
from sshload_worker.outcomes import StepFailure

SFTP = "Subsystem sftp internal-sftp"
FAST = replace(client(), ciphers=("aes128-gcm@openssh.com",))
SIZES_BYTES = (0, 1, 29_999, 262_144, 262_145, 5_000_000)
TRANSFER_BYTES = (1, 30_000, 32_768, 1_048_576)
SFTP_SERVER = Path(__file__).parents[2] / "support/ssh/answering_sftp_server.py"
DIES_WITHIN_A_PACKET, DIES_BETWEEN_PACKETS = 254, 255
MANY_NAMES = 3_000


@pytest.fixture
def connection(start_sshd: Callable[[str], SshServer]) -> Iterator[SSH2Connection]:
    """Log in to a server with SFTP."""
    with logged_in(login_to(start_sshd(SFTP), FAST)) as connection:
        yield connection


def read_all(file: RemoteFile) -> bytes:
    return b"".join(iter(file.read, b""))


@pytest.mark.parametrize("size_bytes", SIZES_BYTES)
def test_a_file_is_written_and_read_as_it_is(connection: SSH2Connection, tmp_path: Path, size_bytes: int) -> None:
    path, data = tmp_path / "file", os.urandom(size_bytes)
    sftp = connection.open_sftp()
    file = sftp.open_to_write(str(path))
    file.write(data)
    file.close()
    assert path.read_bytes() == data
    assert sftp.stat(str(path)) == size_bytes
    file = sftp.open_to_read(str(path))
    assert read_all(file) == data
    file.close()
    sftp.close()


@pytest.mark.parametrize("transfer_bytes", TRANSFER_BYTES)
@pytest.mark.parametrize("piece_bytes", [7_001, 100_000])
def test_a_file_is_whole_whatever_the_sizes_of_its_pieces(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, transfer_bytes: int, piece_bytes: int
) -> None:
    path, data = tmp_path / "file", os.urandom(3_000 if transfer_bytes == 1 else 700_000)
    settings = replace(FAST, sftp_read_bytes=transfer_bytes, sftp_write_bytes=transfer_bytes)
    with logged_in(login_to(start_sshd(SFTP), settings)) as connection:
        sftp = connection.open_sftp()
        file = sftp.open_to_write(str(path))
        for begin in range(0, len(data), piece_bytes):
            file.write(data[begin : begin + piece_bytes])
        file.close()
        assert path.read_bytes() == data
        assert read_all(sftp.open_to_read(str(path))) == data


@pytest.mark.parametrize("transfer_bytes", [None, *TRANSFER_BYTES])
def test_a_file_is_read_by_one_call_as_it_is_part_by_part(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, transfer_bytes: int | None
) -> None:
    path, content = tmp_path / "file", bytearray()
    with logged_in(login_to(start_sshd(SFTP), replace(FAST, sftp_read_bytes=transfer_bytes))) as connection:
        sftp = connection.open_sftp()
        for size_bytes in (0, 1, 3_000) if transfer_bytes == 1 else SIZES_BYTES:
            path.write_bytes(os.urandom(size_bytes))
            for read in (sftp.read_file, partial(_read_by_parts, sftp)):
                content.clear()
                read(str(path), content.extend, Course())
                assert content == path.read_bytes()


def _read_by_parts(sftp: Sftp, path: str, take: Callable[[bytes], object], course: Course) -> None:
    read_by_parts(partial(sftp.open_to_read, path), take, course)


def test_the_parts_of_a_file_by_one_call_end_in_their_order(connection: SSH2Connection, tmp_path: Path) -> None:
    sftp, pieces = connection.open_sftp(), list[int]()
    for content in ("", "content"):
        course, begin_ns = Course(), monotonic_ns()
        (tmp_path / "file").write_text(content)
        sftp.read_file(str(tmp_path / "file"), lambda _: pieces.append(monotonic_ns()), course)
        ends_ns = [begin_ns, course.started_ns, course.output_end_ns, course.closed_ns, monotonic_ns()]
        assert ends_ns == sorted(ends_ns)
        assert [course.first_byte_ns, *pieces, course.output_end_ns] == sorted(
            [course.first_byte_ns, *pieces, course.output_end_ns]
        )
        assert bool(course.first_byte_ns) == bool(content)


def test_a_file_without_end_does_not_keep_time_limits_from_ending_its_reading(connection: SSH2Connection) -> None:
    sftp, course = connection.open_sftp(), Course()
    with pytest.raises(Timeout), Timeout(0.5):
        sftp.read_file("/dev/zero", len, course)
    assert course.first_byte_ns
    assert not course.output_end_ns


def test_a_file_is_written_in_place_of_what_is_there(connection: SSH2Connection, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("much longer than what follows")
    file = connection.open_sftp().open_to_write(str(tmp_path / "file"))
    file.write(b"short")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"short"


def test_all_names_are_counted_and_the_own_are_not(connection: SSH2Connection, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    sftp = connection.open_sftp()
    assert sftp.list_directory(str(folder)) == 0
    for number in range(MANY_NAMES):
        (folder / f"{number}-{'n' * 200}").touch()
    assert sftp.list_directory(str(folder)) == MANY_NAMES


def test_a_full_disk_is_told_at_the_latest_when_the_file_is_closed(connection: SSH2Connection) -> None:
    file = connection.open_sftp().open_to_write("/dev/full")
    with pytest.raises(StepFailure) as failed:  # noqa: PT012 - whichever of them is told first
        file.write(b"x" * 1_000_000)
        file.close()
    assert failed.value.outcome is Outcome.SFTP_FAILURE
    assert failed.value.message == "/dev/full: failure"


def test_a_missing_file_is_told_with_its_path(connection: SSH2Connection) -> None:
    sftp = connection.open_sftp()
    read_file = partial(sftp.read_file, take=len, course=Course())

    def remove(path: str) -> None:
        sftp.change(SftpRequest(SftpType.REMOVE, path, (path,), "sftpRemove"))

    for ask in (sftp.open_to_read, read_file, sftp.list_directory, sftp.stat, remove):
        with pytest.raises(StepFailure) as failed:
            ask("/missing/file")
        assert failed.value.outcome is Outcome.SFTP_NO_SUCH_FILE
        assert failed.value.message == "/missing/file: no such file"


def test_a_directory_that_cannot_be_read_is_not_an_empty_one(connection: SSH2Connection, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StepFailure) as failed:
        connection.open_sftp().list_directory(str(tmp_path / "file"))
    assert failed.value.outcome is Outcome.SFTP_NO_SUCH_FILE


def test_a_server_that_is_no_sftp_server_rejects_it(sshd: SshServer) -> None:
    with logged_in(login_to(sshd)) as connection:
        with pytest.raises(StepFailure) as failed:
            connection.open_sftp()
        assert failed.value.outcome is Outcome.EXEC_REJECTED


def test_no_place_for_a_channel_is_told_of_sftp_too(start_sshd: Callable[[str], SshServer]) -> None:
    with (
        logged_in(login_to(start_sshd(f"{SFTP}\nMaxSessions 0"))) as connection,
        pytest.raises(StepFailure) as failed,
    ):
        connection.open_sftp()
    assert failed.value.outcome is Outcome.CHANNEL_REFUSED


def test_an_sftp_server_that_talks_nonsense_is_told(start_sshd: Callable[[str], SshServer]) -> None:
    with (
        logged_in(login_to(start_sshd("Subsystem sftp /bin/echo this is no SFTP server"))) as connection,
        pytest.raises(StepFailure) as failed,
    ):
        connection.open_sftp()
    assert failed.value.outcome is Outcome.SFTP_BAD_MESSAGE


@pytest.mark.parametrize(
    "how",
    [pytest.param(DIES_WITHIN_A_PACKET, id="within a packet"), pytest.param(DIES_BETWEEN_PACKETS, id="between two")],
)
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda sftp: sftp.stat("anything"), id="status"),
        pytest.param(lambda sftp: sftp.read_file("anything", len, Course()), id="reading"),
    ],
)
def test_an_sftp_server_that_dies_is_told(
    start_sshd: Callable[[str], SshServer], how: int, ask: Callable[[Sftp], object]
) -> None:
    server = start_sshd(f"Subsystem sftp {sys.executable} {SFTP_SERVER} {how}")
    with logged_in(login_to(server)) as connection:
        sftp = connection.open_sftp()
        with pytest.raises(StepFailure) as failed:
            ask(sftp)
        assert failed.value.outcome is Outcome.SFTP_CONNECTION_LOST
        channel = connection.open_channel()
        channel.execute("true")
        assert channel.close().exit_code == 0


def test_sftp_again_and_again_leaves_nothing_behind(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    """A file that is not closed costs 4 kB and a place with the server, a subsystem that is not ended a channel."""
    path = str(tmp_path / "file")
    shutil.copy("/bin/true", path)
    with logged_in(login_to(start_sshd(f"{SFTP}\nMaxSessions 2"))) as connection:
        for _ in range(20):
            sftp = connection.open_sftp()
            read_all(sftp.open_to_read(path))
            sftp.close()
        sftp = connection.open_sftp()
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(1_000):
            sftp.open_to_read(path).close()
            sftp.read_file(path, len, Course())
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 3_000
        sftp.close()


def test_many_files_of_one_subsystem_are_read_at_the_same_time(connection: SSH2Connection, tmp_path: Path) -> None:
    sftp = connection.open_sftp()
    files = []
    for number in range(10):
        (tmp_path / str(number)).write_text(str(number) * 100_000)
        files.append(sftp.open_to_read(str(tmp_path / str(number))))
    for number, file in enumerate(files):
        assert read_all(file) == str(number).encode() * 100_000
        file.close()


@pytest.mark.parametrize("size_bytes", SIZES_BYTES)
@pytest.mark.parametrize("window_bytes", [None, 16_384])
def test_a_file_goes_by_scp_as_it_is(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, size_bytes: int, window_bytes: int | None
) -> None:
    path, data = tmp_path / "a 'strange' name", os.urandom(size_bytes)
    with logged_in(login_to(start_sshd(SFTP), replace(FAST, window_bytes=window_bytes))) as connection:
        file = connection.scp_write(str(path), size_bytes)
        file.write(data)
        file.close()
        assert path.read_bytes() == data
        file = connection.scp_read(str(path))
        assert read_all(file) == data
        file.close()


def test_a_missing_file_is_told_of_scp_in_the_servers_words(connection: SSH2Connection) -> None:
    with pytest.raises(StepFailure) as failed:
        connection.scp_read("/missing")
    assert failed.value.outcome is Outcome.SCP_FAILED
    assert failed.value.message == "scp: /missing: No such file or directory"


def test_a_full_disk_is_told_of_scp(connection: SSH2Connection) -> None:
    with pytest.raises(StepFailure) as failed:  # noqa: PT012 - whichever of them is told first
        file = connection.scp_write("/dev/full", 10)
        file.write(b"x" * 10)
        file.close()
    assert failed.value.outcome is Outcome.SCP_FAILED
    assert "No space left on device" in failed.value.message


def test_a_server_without_scp_is_told(start_sshd: Callable[[str], SshServer]) -> None:
    with (
        logged_in(login_to(start_sshd("ForceCommand echo no scp here >&2; exit 127"))) as connection,
        pytest.raises(StepFailure) as failed,
    ):
        connection.scp_read("/etc/hostname")
    assert failed.value.outcome is Outcome.SCP_FAILED
    assert failed.value.message == "no scp here"
