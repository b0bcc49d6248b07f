"""The rsync step against the real rsync on both sides, by every client library."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from gevent import Timeout
from one_iteration import one_pass
from run_configs import client
from ssh_server import SshServer
from sshload_contract.client import Client, Library
from sshload_contract.steps import ExecStep, RsyncDownload, RsyncStep, RsyncUpload
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import SessionReuse
from sshload_worker.clients.openssh import process
from sshload_worker.scenario.steps import rsync

PARTS = dict.fromkeys(("channelOpen", "exec", "transfer", "close", "rsync"), 1)
LIBRARIES = [pytest.param(library, id=library.value) for library in Library if library is not Library.MINA_SSHD]


def by(library: Library) -> Client:
    return replace(client(), library=library)


def download(path: str, files: int | None = None, size: int | None = None, *, compress: bool = False) -> RsyncStep:
    return RsyncStep("", RsyncDownload(path, files, size), compress=compress)


def upload(path: str, files: int = 1, size: int = 26_000, *, delete: bool = False, compress: bool = False) -> RsyncStep:
    return RsyncStep("", RsyncUpload(path, files, size, delete=delete), compress=compress)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a directory of 20 files, 2 MB together, whose name has to be quoted."""
    folder = tmp_path / "two words, *it's* one!"
    (folder / "below").mkdir(parents=True)
    for number in range(20):
        (folder / "below" / f"{number}").write_bytes(os.urandom(100_000))
    (folder / "link").symlink_to("/etc/passwd")
    return folder


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_directory_comes_whole_and_nothing_of_it_stays(sshd: SshServer, tree: Path, library: Library) -> None:
    done = one_pass(sshd, download(f"{tree}/", files=20, size=2_000_000), by=by(library))
    assert (done.outcome, done.failed) == (Outcome.OK, {}), done
    assert done.timed == ({"rsync": 1} if library is Library.OPENSSH else PARTS)
    assert 2_000_000 < done.moved["rsync"] < 2_100_000
    folder = rsync._folder()
    assert not list((folder / "empty").iterdir())
    assert sum(path.lstat().st_size for path in folder.glob("batch*")) < 1_000


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_directory_goes_whole(sshd: SshServer, tmp_path: Path, library: Library) -> None:
    done = one_pass(sshd, upload(f"{tmp_path}/{{iteration}}", files=50, size=40_000), by=by(library))
    assert done.outcome is Outcome.OK, done
    assert 2_000_000 < done.moved["rsync"] < 2_100_000
    sizes = [path.stat().st_size for path in (tmp_path / "0-0").iterdir()]
    assert sizes == [40_000] * 50


@pytest.mark.parametrize("reuse", [SessionReuse.USER, SessionReuse.POOL])
def test_other_steps_go_on_in_the_same_session(sshd: SshServer, tmp_path: Path, reuse: SessionReuse) -> None:
    steps = (replace(upload(f"{tmp_path}/a"), name="first"), ExecStep("then", "echo done", 0, "done"))
    done = one_pass(sshd, *steps, replace(download(f"{tmp_path}/a/", files=1), name="back"), reuse=reuse)
    assert done.outcome is Outcome.OK, done


def test_what_has_not_changed_is_not_sent_again(sshd: SshServer, tmp_path: Path) -> None:
    step = upload(f"{tmp_path}/same", files=5, size=100_000)
    first, again = one_pass(sshd, step), one_pass(sshd, step)
    assert (first.outcome, again.outcome) == (Outcome.OK, Outcome.OK)
    assert first.moved["rsync"] > 500_000
    assert again.moved["rsync"] < 5_000


def test_what_is_there_besides_is_deleted_where_that_is_asked_for(sshd: SshServer, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").touch()
    assert one_pass(sshd, upload(str(target))).outcome is Outcome.OK
    assert {path.name for path in target.iterdir()} == {"0", "old"}
    assert one_pass(sshd, upload(str(target), delete=True)).outcome is Outcome.OK
    assert {path.name for path in target.iterdir()} == {"0"}


def test_compression_saves_bytes(sshd: SshServer, tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(bytes(1_000_000))
    done = one_pass(sshd, download(f"{tmp_path}/zeros", files=1, size=1_000_000, compress=True))
    assert done.outcome is Outcome.OK, done
    assert done.moved["rsync"] < 50_000


@pytest.mark.parametrize(
    ("step", "says"),
    [
        pytest.param(lambda tree: download(f"{tree}/", files=19), "20 files, expected 19", id="files"),
        pytest.param(lambda tree: download(f"{tree}/", size=1), "2000000 bytes, expected 1", id="bytes"),
    ],
)
def test_what_is_not_as_expected_is_a_mismatch(
    sshd: SshServer, tree: Path, step: Callable[[Path], RsyncStep], says: str
) -> None:
    done = one_pass(sshd, step(tree))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "rsync")
    assert done.message == says


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_path_that_is_not_there_is_told_by_exit_code_and_rsyncs_words(
    sshd: SshServer, tmp_path: Path, library: Library
) -> None:
    done = one_pass(sshd, download(f"{tmp_path}/no-{{iteration}}"), by=by(library))
    assert done.failure == (Outcome.EXIT_CODE, "rsync"), done
    assert done.message.startswith("exit code 23: rsync: [sender] ")
    assert f"{tmp_path}/no-0-0" in done.message


def test_a_directory_above_that_is_not_there_is_told(sshd: SshServer, tmp_path: Path) -> None:
    done = one_pass(sshd, upload(f"{tmp_path}/no/such"))
    assert done.outcome is Outcome.EXIT_CODE, done
    assert "No such file or directory" in done.message


ANSWERS = {
    "a greeting": ("echo Welcome to this server", Outcome.OUTPUT_MISMATCH, "the server's output is not rsync's"),
    "nothing": ("true", Outcome.OUTPUT_MISMATCH, "the server's output is not rsync's"),
    "no rsync": ("no-such-rsync", Outcome.EXIT_CODE, "exit code 127: "),
    "a killed rsync": ("kill -9 $$", Outcome.KILLED_BY_SIGNAL, "killed by signal KILL"),
    "what it is sent": ("cat", Outcome.OUTPUT_MISMATCH, "the server's output is not rsync's"),
    "random bytes": ("head -c 100000 /dev/urandom", Outcome.OUTPUT_MISMATCH, "the server's output is not rsync's"),
}


@pytest.mark.parametrize("step", [download("any"), upload("any")], ids=["download", "upload"])
@pytest.mark.parametrize(("command", "outcome", "message"), ANSWERS.values(), ids=ANSWERS)
def test_what_is_not_rsyncs_answer_is_told(
    start_sshd: Callable[[str], SshServer], command: str, outcome: Outcome, message: str, step: RsyncStep
) -> None:
    done = one_pass(start_sshd(f"ForceCommand {command}"), step)
    assert done.failure == (outcome, "rsync"), done
    assert done.message.startswith(message)


def test_a_transfer_that_is_cut_off_is_told(start_sshd: Callable[[str], SshServer], tree: Path, tmp_path: Path) -> None:
    script = tmp_path / "cut"
    script.write_text('#!/bin/sh\ntimeout -s KILL 20 sh -c "$SSH_ORIGINAL_COMMAND" | dd bs=50000 count=20\n')
    script.chmod(0o755)
    done = one_pass(start_sshd(f"ForceCommand {script}"), download(f"{tree}/"))
    assert done.outcome is Outcome.OUTPUT_MISMATCH, done
    assert 100_000 < done.moved["rsync"] < 1_100_000


@pytest.mark.parametrize("command", ["sleep 60", "cat /dev/zero", "yes"])
def test_a_server_that_does_not_come_to_an_end_is_a_timeout_and_leaves_no_program(
    start_sshd: Callable[[str], SshServer], command: str
) -> None:
    done = one_pass(start_sshd(f"ForceCommand {command}"), download("any"), by=client(step_s=1.0))
    assert done.outcome in {Outcome.STEP_TIMEOUT, Outcome.OUTPUT_MISMATCH}, done
    with Timeout(60):
        while process._running:
            gevent.sleep(0.01)


def test_a_server_that_has_rsync_take_too_much_memory_ends_it_and_not_the_worker(
    sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endless list of files; here the bound is low instead, and the list as long as rsync's own memory takes."""
    for number in range(40_000):
        (tmp_path / f"{number:0240}").touch()
    monkeypatch.setattr(rsync, "_MEMORY_LIMIT_BYTES", 16 * 2**20)
    done = one_pass(sshd, download(f"{tmp_path}/"))
    assert done.outcome in {Outcome.OUTPUT_MISMATCH, Outcome.EXIT_CODE}, done  # one of the two notices it first


def test_links_and_devices_of_a_server_are_neither_followed_nor_made(sshd: SshServer, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "fifo")
    done = one_pass(sshd, download(f"{tmp_path}/", files=0, size=0))
    assert done.outcome is Outcome.OK, done
    assert not list((rsync._folder() / "empty").iterdir())


def test_a_worker_without_rsync_says_so(sshd: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    process.program.cache_clear()
    done = one_pass(sshd, download("any"))
    process.program.cache_clear()
    assert done.outcome is Outcome.GENERATOR_FAULT
    assert done.message == "the worker has no program rsync"


def test_rsync_is_given_no_credentials(sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in rsync's place writes down what it is given."""
    monkeypatch.setenv("SSHLOAD_TEST_SECRET", "of the worker's own environment")
    (tmp_path / "rsync").write_text(f'#!/bin/sh\n{{ env; echo "$@"; }} > {tmp_path}/given\nexit 1\n')
    (tmp_path / "rsync").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    process.program.cache_clear()
    done = one_pass(sshd, download("any"))
    process.program.cache_clear()
    assert done.failure == (Outcome.GENERATOR_FAULT, "rsync")
    given = (tmp_path / "given").read_text()
    assert {line.partition("=")[0] for line in given.splitlines() if "=" in line and not line.startswith("-")} == {
        "HOME", "LC_ALL", "PATH", "PWD",
    }  # fmt: skip
    assert str(sshd.keys.user) not in given
    assert str(sshd.port) not in given.replace(str(tmp_path), "")
