"""Repositories: bare git repositories for git-upload-pack, made by one stream of `git fast-import`.

Each commit changes one of a few files to new random bytes, so that no compression and no delta makes a clone smaller.
All of it is in one pack, as in a repository that its server has tidied up, so that a clone is mostly copying.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from sshload_contract.target_config import RepositoryFixture

from sshload_target.errors import ConfigRefusedError, InterruptedTargetError
from sshload_target.fixtures import chown_recursively, fixture_path

_CHUNK_BYTES = 1_048_576
_FILES = 64
_FIRST_COMMIT_UNIX_S = 1_700_000_000
_COMMITTER = "sshload <sshload@localhost>"
_FAST_IMPORT = (
    *("-c", "core.compression=0"),
    *("-c", f"core.bigFileThreshold={_CHUNK_BYTES}"),  # what is larger is passed through and not held in memory
    *("-c", "fastimport.unpackLimit=1"),
    *("fast-import", "--quiet", "--done", "--depth=0"),
)


def make_repository(
    home: Path, fixture: RepositoryFixture, owner: tuple[int, int], interrupted: Callable[[], bool]
) -> None:
    """Make or replace a repository; its branch, which HEAD is, is `main`.

    Raises ConfigRefusedError where there is no git, or something else is in its place.
    """
    git = shutil.which("git")
    if git is None:
        raise ConfigRefusedError(f"fixture {fixture.path!r} is a git repository, and there is no git here: install git")
    path = fixture_path(home, fixture.path, owner)
    if path.exists():
        _remove_repository(path, fixture.path)
    _run(git, fixture, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(path))
    _import(git, path, fixture, interrupted)
    chown_recursively(path, owner)


def _remove_repository(path: Path, name: str) -> None:
    if not ((path / "HEAD").is_file() and (path / "objects").is_dir()):
        raise ConfigRefusedError(f"fixture path {name!r} exists and is not a git repository: it is left alone")
    shutil.rmtree(path)


def _import(git: str, path: Path, fixture: RepositoryFixture, interrupted: Callable[[], bool]) -> None:
    command = [git, "-C", str(path), *_FAST_IMPORT]
    with subprocess.Popen(  # noqa: S603 -- git, by its path, and our own arguments
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
    ) as importing:
        if importing.stdin is None or importing.stderr is None:
            raise AssertionError("both were asked for")
        try:
            _feed(importing.stdin, fixture, interrupted)
        except InterruptedTargetError:
            importing.kill()
            raise
        complaint = importing.stderr.read().decode(errors="replace")
    if importing.returncode != 0:
        raise _refusal(fixture, complaint or f"exit code {importing.returncode}")


def _feed(stdin: IO[bytes], fixture: RepositoryFixture, interrupted: Callable[[], bool]) -> None:
    """Write the stream to its end, or as far as git takes it, which then says itself why it took no more."""
    with suppress(BrokenPipeError), stdin:
        for chunk in _stream(fixture):
            if interrupted():
                raise InterruptedTargetError("stopped while making fixtures")
            stdin.write(chunk)


def _stream(fixture: RepositoryFixture) -> Iterator[bytes]:
    """Yield what git fast-import(1) reads: `commits` commits, each with its share of the bytes."""
    begun_bytes = 0
    for number in range(fixture.commits):
        upto_bytes = fixture.size_bytes * (number + 1) // fixture.commits
        yield _commit_header(number)
        yield b"M 644 inline file-%02d\n" % (number % _FILES)
        yield b"data %d\n" % (upto_bytes - begun_bytes)
        while begun_bytes < upto_bytes:
            chunk = os.urandom(min(_CHUNK_BYTES, upto_bytes - begun_bytes))
            begun_bytes += len(chunk)
            yield chunk
        yield b"\n"
    yield b"done\n"


def _commit_header(number: int) -> bytes:
    message = f"Commit {number + 1}".encode()
    who_and_when = f"{_COMMITTER} {_FIRST_COMMIT_UNIX_S + number} +0000".encode()
    return b"commit refs/heads/main\ncommitter %s\ndata %d\n%s\n" % (who_and_when, len(message), message)


def _run(git: str, fixture: RepositoryFixture, *arguments: str) -> None:
    done = subprocess.run(  # noqa: S603 -- likewise
        [git, *arguments], capture_output=True, text=True, check=False, env=_environment()
    )
    if done.returncode != 0:
        raise _refusal(fixture, done.stderr)


def _environment() -> dict[str, str]:
    """Return an environment in which no configuration of this machine or its user counts."""
    return {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def _refusal(fixture: RepositoryFixture, complaint: str) -> ConfigRefusedError:
    return ConfigRefusedError(f"fixture {fixture.path!r} cannot be made by git: {' '.join(complaint.split())}")
