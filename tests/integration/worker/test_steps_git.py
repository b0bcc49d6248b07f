"""The gitUploadPack step against the real git: a repository comes whole, and what is none is told in git's words."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from one_iteration import one_pass
from run_configs import client
from ssh_server import SshServer
from sshload_contract.steps import GitUploadPackStep
from sshload_contract.vocabulary import Outcome

PARTS = dict.fromkeys(("channelOpen", "exec", "advertise", "firstByte", "read", "close", "gitUploadPack"), 1)


def git(*arguments: str | Path, given: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], input=given, check=True, capture_output=True, timeout=300).stdout


def make_repository(path: Path, commits: int = 3, object_format: str = "sha1") -> Path:
    """Make a bare repository whose HEAD is `main`."""
    git("init", "-q", "--bare", "--initial-branch=main", f"--object-format={object_format}", path)
    stream = b"".join(
        b"commit refs/heads/main\ncommitter C <c@localhost> %d +0000\ndata 0\nM 644 inline f\ndata 100000\n%s\n"
        % (1_700_000_000 + number, bytes([65 + number]) * 100_000)
        for number in range(commits)
    )
    git("-C", path, "fast-import", "--quiet", given=stream)
    return path


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository whose path has to be quoted."""
    return make_repository(tmp_path_factory.mktemp("repositories") / "two words, it's one!.git")


def test_a_repository_comes_whole_and_is_timed_in_its_parts(sshd: SshServer, repository: Path) -> None:
    done = one_pass(sshd, GitUploadPackStep("", str(repository)))
    assert (done.outcome, done.failed) == (Outcome.OK, {}), done
    assert done.timed == PARTS
    pack = git("-C", repository, "pack-objects", "--revs", "--stdout", "-q", given=b"HEAD\n")
    assert abs(done.moved["gitUploadPack"] - len(pack)) < 100


def test_a_large_repository_comes_whole(sshd: SshServer, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "large.git", 1)
    content = subprocess.run(["head", "-c", "8000000", "/dev/urandom"], check=True, capture_output=True).stdout
    commit = b"commit refs/heads/main\ncommitter C <c@localhost> 1800000000 +0000\ndata 0\nM 644 inline g\n"
    git("-C", repository, "fast-import", "--quiet", "--force", given=commit + b"data 8000000\n" + content)
    done = one_pass(sshd, GitUploadPackStep("", str(repository)))
    assert done.outcome is Outcome.OK, done
    assert done.moved["gitUploadPack"] > 8_000_000


def test_a_repository_of_the_newer_object_format_comes_whole(sshd: SshServer, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo.git", object_format="sha256")
    done = one_pass(sshd, GitUploadPackStep("", str(repository)))
    assert done.outcome is Outcome.OK, done


def test_many_refs_are_read_past(sshd: SshServer, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo.git")
    head = git("-C", repository, "rev-parse", "HEAD").decode().strip()
    tags = "".join(f"{head} refs/tags/tag-{number:05d}\n" for number in range(5_000))
    (repository / "packed-refs").write_text(tags)
    assert one_pass(sshd, GitUploadPackStep("", str(repository))).timed == PARTS


def test_a_path_that_is_no_repository_is_told_by_exit_code_and_gits_words(sshd: SshServer, tmp_path: Path) -> None:
    done = one_pass(sshd, GitUploadPackStep("", f"{tmp_path}/no-{{iteration}}"))
    assert done.failure == (Outcome.EXIT_CODE, "advertise")
    assert done.message == f"exit code 128: fatal: '{tmp_path}/no-0-0' does not appear to be a git repository"
    assert done.moved == {}


def test_an_empty_repository_is_a_mismatch(sshd: SshServer, tmp_path: Path) -> None:
    git("init", "-q", "--bare", tmp_path / "empty.git")
    done = one_pass(sshd, GitUploadPackStep("", str(tmp_path / "empty.git")))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "advertise")
    assert done.message == "the repository is empty: it has no HEAD"


def test_a_repository_that_lost_an_object_is_told_by_exit_code(sshd: SshServer, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo.git")
    blob = git("-C", repository, "rev-parse", "HEAD:f").decode().strip()
    # git keeps what fast-import brings apart while it is little
    (repository / "objects" / blob[:2] / blob[2:]).unlink()
    done = one_pass(sshd, GitUploadPackStep("", str(repository)))
    assert done.outcome is Outcome.EXIT_CODE, done
    assert done.failed_step in {"read", "gitUploadPack"}


ANSWERS = {
    "a greeting": ("echo Welcome to this server", Outcome.OUTPUT_MISMATCH, "the output is not git's protocol: 'Welc'"),
    "an error": ("printf '0016ERR access denied\\n'", Outcome.OUTPUT_MISMATCH, "git: access denied"),
    "nothing": ("true", Outcome.OUTPUT_MISMATCH, "git's output ended too early"),
    "half a line": ("printf 0100abc", Outcome.OUTPUT_MISMATCH, "git's output ended too early"),
    "no git": ("no-such-git", Outcome.EXIT_CODE, "exit code 127: "),
    "a killed git": ("kill -9 $$", Outcome.KILLED_BY_SIGNAL, "killed by signal KILL"),
}


@pytest.mark.parametrize(("command", "outcome", "message"), ANSWERS.values(), ids=ANSWERS)
def test_what_is_not_gits_answer_is_told(
    start_sshd: Callable[[str], SshServer], command: str, outcome: Outcome, message: str
) -> None:
    done = one_pass(start_sshd(f"ForceCommand {command}"), GitUploadPackStep("", "repo.git"))
    assert done.failure == (outcome, "advertise"), done
    assert done.message.startswith(message)


def test_a_pack_that_is_cut_off_is_a_mismatch(
    start_sshd: Callable[[str], SshServer], repository: Path, tmp_path: Path
) -> None:
    script = tmp_path / "cut"
    script.write_text(f'#!/bin/sh\ngit-upload-pack "{repository}" | dd bs=1 count=900 status=none\n')
    script.chmod(0o755)
    done = one_pass(start_sshd(f"ForceCommand {script}"), GitUploadPackStep("", "any"))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "gitUploadPack")
    assert done.message.startswith("the pack ends with ")
    assert 0 < done.moved["gitUploadPack"] < 900


def test_a_git_that_does_not_answer_is_a_timeout(start_sshd: Callable[[str], SshServer]) -> None:
    done = one_pass(start_sshd("ForceCommand sleep 60"), GitUploadPackStep("", "any"), by=client(step_s=0.3))
    assert done.failure == (Outcome.STEP_TIMEOUT, done.first_without_end("channelOpen", "exec", "advertise"))
    assert done.message == "gitUploadPack took longer than 0.3 s"
