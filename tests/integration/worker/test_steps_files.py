"""The steps on files, over SFTP and scp: what they do on the server, what is timed of them, and how they fail."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from one_iteration import Pass, one_pass
from run_configs import client
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.steps import (
    ExecStep,
    ScpReadStep,
    ScpWriteStep,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpSetstatStep,
    SftpStatStep,
    SftpSymlinkStep,
    SftpWriteStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome

SIZE = 3_000_017
Reading = type[SftpReadStep] | type[ScpReadStep]
Writing = type[SftpWriteStep] | type[ScpWriteStep]
by_both_readings = pytest.mark.parametrize("reading", [SftpReadStep, ScpReadStep])
by_both_writings = pytest.mark.parametrize("writing", [SftpWriteStep, ScpWriteStep])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[SshServer]:
    """Run a server with SFTP."""
    with ssh_server(tmp_path_factory.mktemp("sshd"), keys, "Subsystem sftp internal-sftp") as server:
        yield server


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file."""
    file = tmp_path_factory.mktemp("files") / "file with 'quotes' and blanks"
    file.write_bytes(os.urandom(SIZE))
    return file


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def read(
    reading: Reading, file: Path, expect_bytes: int | None = None, expect_sha256: str = ""
) -> SftpReadStep | ScpReadStep:
    return reading("", str(file), expect_bytes, expect_sha256)


def write(
    writing: Writing, path: Path, size_bytes: int = SIZE, verify: Verify = Verify.NONE
) -> SftpWriteStep | ScpWriteStep:
    return writing("", str(path), size_bytes, verify)


def assert_went_well(done: Pass) -> None:
    assert (done.outcome, done.failed) == (Outcome.OK, {}), done


def test_a_file_read_by_sftp_is_timed_in_its_parts(server: SshServer, file: Path) -> None:
    done = one_pass(server, read(SftpReadStep, file, SIZE, sha256(file)))
    assert_went_well(done)
    assert done.timed == dict.fromkeys(("subsystem", "open", "firstByte", "read", "close", "sftpRead"), 1)
    assert done.moved == {"sftpRead": SIZE}


def test_a_file_read_by_scp_is_timed_in_its_parts(server: SshServer, file: Path) -> None:
    done = one_pass(server, read(ScpReadStep, file, SIZE, sha256(file)))
    assert_went_well(done)
    assert done.timed == dict.fromkeys(("open", "firstByte", "read", "close", "scpRead"), 1)
    assert done.moved == {"scpRead": SIZE}


@by_both_readings
def test_an_empty_file_is_read_and_has_no_first_byte(server: SshServer, tmp_path: Path, reading: Reading) -> None:
    (tmp_path / "empty").touch()
    done = one_pass(server, read(reading, tmp_path / "empty", 0, hashlib.sha256().hexdigest()))
    assert_went_well(done)
    assert "firstByte" not in done.timed


@by_both_readings
def test_a_file_of_another_size_is_a_mismatch_with_both_sizes(server: SshServer, file: Path, reading: Reading) -> None:
    done = one_pass(server, read(reading, file, 17))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, str(reading.kind))
    assert done.message == f"{SIZE} bytes, expected 17"
    assert done.moved == {str(reading.kind): SIZE}, "they moved, however the step ended"


@by_both_readings
def test_a_file_of_another_content_is_a_mismatch_with_both_digests(
    server: SshServer, file: Path, reading: Reading
) -> None:
    done = one_pass(server, read(reading, file, SIZE, "0" * 64))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, str(reading.kind))
    assert done.message == f"SHA-256 {sha256(file)}, expected {'0' * 64}"


@by_both_writings
@pytest.mark.parametrize("size_bytes", [0, 1, 2 * 1_048_576, SIZE])
@pytest.mark.parametrize("verify", list(Verify))
def test_a_file_is_written_in_place_of_what_is_there_and_verified(
    server: SshServer, tmp_path: Path, writing: Writing, size_bytes: int, verify: Verify
) -> None:
    (tmp_path / "file").write_bytes(b"longer" * SIZE if verify is Verify.SIZE else b"")
    done = one_pass(server, write(writing, tmp_path / "file", size_bytes, verify))
    assert_went_well(done)
    parts = {"open", "write", "close", str(writing.kind)}
    assert set(done.timed) - {"subsystem"} == (parts if verify is Verify.NONE else parts | {"verify"})
    assert (tmp_path / "file").stat().st_size == size_bytes
    assert sum(done.moved.values()) == size_bytes


def test_what_is_written_is_the_same_by_both_and_in_every_run(server: SshServer, tmp_path: Path) -> None:
    for number, writing in enumerate((SftpWriteStep, ScpWriteStep, SftpWriteStep)):
        assert_went_well(one_pass(server, write(writing, tmp_path / f"file-{number}")))
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize(
    ("writing", "verify", "message"),
    [
        (SftpWriteStep, Verify.SIZE, f"0 bytes are on the server, {SIZE} were written"),
        (ScpWriteStep, Verify.SIZE, f"0 bytes are on the server, {SIZE} were written"),
        (SftpWriteStep, Verify.CONTENT, f"0 bytes were read back, {SIZE} were written"),
    ],
)
def test_what_the_server_loses_is_a_mismatch(server: SshServer, writing: Writing, verify: Verify, message: str) -> None:
    done = one_pass(server, write(writing, Path("/dev/null"), SIZE, verify))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "verify")
    assert done.message == message
    assert done.moved == {str(writing.kind): SIZE}


def test_the_steps_of_an_iteration_share_one_subsystem(server: SshServer, file: Path, tmp_path: Path) -> None:
    stat = SftpStatStep("stat", str(file))
    done = one_pass(
        server, SftpMkdirStep("make", str(tmp_path / "made")), stat, SftpRmdirStep("", str(tmp_path / "made"))
    )
    assert_went_well(done)
    assert done.timed == {"make.subsystem": 1, "make.sftpMkdir": 1, "stat.sftpStat": 1, "sftpRmdir": 1}


def test_names_are_made_changed_listed_and_removed(server: SshServer, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    done = one_pass(
        server,
        SftpMkdirStep("", str(folder)),
        write(SftpWriteStep, folder / "one", 5),
        SftpRenameStep("", str(folder / "one"), str(folder / "two")),
        SftpListStep("", str(folder), 1),
        SftpStatStep("", str(folder / "two")),
        SftpRemoveStep("", str(folder / "two")),
        SftpRmdirStep("", str(folder)),
    )
    assert_went_well(done)
    kinds = {"sftpMkdir", "sftpWrite", "sftpRename", "sftpList", "sftpStat", "sftpRemove", "sftpRmdir"}
    assert kinds <= set(done.timed)
    assert list(tmp_path.iterdir()) == []


def test_a_large_directory_is_listed_to_its_end(server: SshServer, tmp_path: Path) -> None:
    for number in range(1_234):
        (tmp_path / f"file-{number:06d}").touch()
    assert_went_well(one_pass(server, SftpListStep("", str(tmp_path), 1_234)))
    done = one_pass(server, SftpListStep("", str(tmp_path), 1_233))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "sftpList")
    assert done.message == "1234 entries, expected 1233"


def test_the_iterations_number_is_in_every_path(server: SshServer, tmp_path: Path) -> None:
    place = f"{tmp_path}/i-{{iteration}}"
    done = one_pass(
        server,
        SftpMkdirStep("", place),
        SftpWriteStep("", f"{place}/s-{{iteration}}", 1, Verify.CONTENT),
        ScpWriteStep("", f"{place}/c-{{iteration}}", 1, Verify.CONTENT),
        SftpReadStep("", f"{place}/c-{{iteration}}", 1, ""),
        ScpReadStep("", f"{place}/s-{{iteration}}", 1, ""),
        SftpRenameStep("", f"{place}/s-{{iteration}}", f"{place}/r-{{iteration}}"),
        SftpStatStep("", f"{place}/r-{{iteration}}"),
        SftpRemoveStep("", f"{place}/c-{{iteration}}"),
        SftpListStep("", place, 1),
    )
    assert_went_well(done)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["i-0-0", "i-0-0/r-0-0"]


@pytest.mark.parametrize(
    ("step", "failed_step", "outcome"),
    [
        (SftpReadStep("", "/nowhere/file", None, ""), "open", Outcome.SFTP_NO_SUCH_FILE),
        (SftpWriteStep("", "/nowhere/file", 5, Verify.NONE), "open", Outcome.SFTP_NO_SUCH_FILE),
        (SftpListStep("", "/nowhere", None), "sftpList", Outcome.SFTP_NO_SUCH_FILE),
        (SftpStatStep("", "/nowhere"), "sftpStat", Outcome.SFTP_NO_SUCH_FILE),
        (SftpMkdirStep("", "/nowhere/folder"), "sftpMkdir", Outcome.SFTP_NO_SUCH_FILE),
        (SftpMkdirStep("", "/"), "sftpMkdir", Outcome.SFTP_FAILURE),
        (SftpRmdirStep("", "/nowhere"), "sftpRmdir", Outcome.SFTP_NO_SUCH_FILE),
        (SftpRmdirStep("", "/etc"), "sftpRmdir", Outcome.SFTP_FAILURE),
        (SftpRenameStep("", "/nowhere", "/elsewhere"), "sftpRename", Outcome.SFTP_NO_SUCH_FILE),
        (SftpRemoveStep("", "/nowhere"), "sftpRemove", Outcome.SFTP_NO_SUCH_FILE),
        (SftpSetstatStep("", "/nowhere", "0600"), "sftpSetstat", Outcome.SFTP_NO_SUCH_FILE),
        (SftpSymlinkStep("", "/nowhere/link", "to"), "sftpSymlink", Outcome.SFTP_NO_SUCH_FILE),
        (SftpSymlinkStep("", "/etc", "to"), "sftpSymlink", Outcome.SFTP_FAILURE),
        (ScpReadStep("", "/nowhere/file", None, ""), "open", Outcome.SCP_FAILED),
        (ScpWriteStep("", "/nowhere/file", 5, Verify.NONE), "open", Outcome.SCP_FAILED),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_what_the_server_refuses_ends_in_its_status(
    server: SshServer, step: SftpReadStep, failed_step: str, outcome: Outcome
) -> None:
    done = one_pass(server, step)
    assert done.failure == (outcome, failed_step)
    assert done.failed[str(step.kind)] is outcome
    assert done.moved == {}


def test_a_server_without_sftp_refuses_the_subsystem(sshd: SshServer) -> None:
    done = one_pass(sshd, SftpStatStep("", "/"))
    assert done.failed_step == "subsystem"
    assert done.outcome is Outcome.EXEC_REJECTED


def test_a_file_that_never_ends_is_a_timeout(server: SshServer) -> None:
    for step in (SftpReadStep("", "/dev/zero", None, ""), SftpWriteStep("", "/dev/null", 100 * 2**30, Verify.NONE)):
        done = one_pass(server, step, by=client(step_s=0.3))
        assert done.outcome is Outcome.STEP_TIMEOUT
        assert set(done.failed.values()) == {Outcome.STEP_TIMEOUT}
        assert done.message == f"{step.kind} took longer than 0.3 s"
        assert done.moved[str(step.kind)] > 0, "what moved until then did move"


def test_a_command_that_takes_too_long_is_called_by_its_sum(server: SshServer) -> None:
    done = one_pass(server, ExecStep("", "sleep 60", 0, ""), by=client(step_s=0.3))
    cut_off = done.first_without_end("channelOpen", "exec", "read")
    assert done.failed == {cut_off: Outcome.STEP_TIMEOUT, "command": Outcome.STEP_TIMEOUT}
    assert done.message == "command took longer than 0.3 s"


def test_bytes_of_a_command_are_counted_as_they_move_however_it_ends(server: SshServer) -> None:
    assert one_pass(server, ExecStep("", "printf 12345", 0, "")).moved == {"command": 5}
    assert one_pass(server, ExecStep("", "printf 12345; exit 3", 0, "")).moved == {"command": 5}
