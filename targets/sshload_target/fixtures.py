"""Fixtures: the files, directories and git repositories that scenarios read, made in the user's home.

A repository is made by one stream of `git fast-import`. Each commit changes one of a few files to new random bytes, so
that no compression and no delta makes a clone smaller. All of it is in one pack, as in a repository that its server has
tidied up, so that a clone is mostly copying.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO

from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture

from sshload_target.errors import ConfigRefusedError, InterruptedTargetError

_CHUNK_BYTES = 1_048_576
_RESERVED_FOLDERS = (".ssh",)
_REPOSITORY_FILES = 64
_FIRST_COMMIT_UNIX_S = 1_700_000_000
_COMMITTER = "sshload <sshload@localhost>"
_FAST_IMPORT = (
    *("-c", "core.compression=0"),
    *("-c", f"core.bigFileThreshold={_CHUNK_BYTES}"),  # what is larger is passed through and not held in memory
    *("-c", "fastimport.unpackLimit=1"),
    *("fast-import", "--quiet", "--done", "--depth=0"),
)


def refuse_escapes(path: str) -> None:
    """Raise ConfigRefusedError where `path` is not one below the home, or leads to where keys are kept."""
    parts = PurePosixPath(path).parts
    if not parts or "\0" in path:
        raise ConfigRefusedError(f"fixture path {path!r} names nothing")
    if path.startswith("/"):
        raise ConfigRefusedError(f"fixture path {path!r} is absolute: it has to be relative to the user's home")
    if ".." in parts:
        raise ConfigRefusedError(f"fixture path {path!r} leads out of the user's home")
    if parts[0] in _RESERVED_FOLDERS:
        raise ConfigRefusedError(f"fixture path {path!r} is where the user's keys are kept")


def make_file(home: Path, fixture: FileFixture, owner: tuple[int, int], interrupted: Callable[[], bool]) -> None:
    """Make or replace a file of `size_bytes` random bytes, so that no compression makes a transfer smaller."""
    path = _fixture_path(home, fixture.path, owner)
    with path.open("wb") as file:
        left = fixture.size_bytes
        while left > 0:
            if interrupted():
                raise InterruptedTargetError("stopped while making fixtures")
            left -= file.write(os.urandom(min(left, _CHUNK_BYTES)))
    os.chown(path, *owner)


def make_directory(home: Path, fixture: DirectoryFixture, owner: tuple[int, int]) -> None:
    """Make a directory with `files` empty files in it, named from file-000000 on."""
    path = _fixture_path(home, fixture.path, owner)
    _make_folder(path, owner)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in range(fixture.files):
            _make_empty_file(f"file-{number:06d}", folder, owner)
    finally:
        os.close(folder)


def _make_empty_file(name: str, folder: int, owner: tuple[int, int]) -> None:
    """Make it with as few calls as there can be: ten thousand are made before sshd may start."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    if owner[0] != os.geteuid():
        os.fchown(file, *owner)
    os.close(file)


def _fixture_path(home: Path, path: str, owner: tuple[int, int]) -> Path:
    """Return the absolute path of a fixture, with the folders above it made."""
    refuse_escapes(path)
    parts = PurePosixPath(path).parts
    folder = home
    for part in parts[:-1]:
        folder /= part
        _make_folder(folder, owner)
    place = folder / parts[-1]
    if not place.resolve().is_relative_to(home.resolve()):
        raise ConfigRefusedError(f"fixture path {path!r} leads out of the user's home by a symbolic link")
    return place


def _chown_recursively(path: Path, owner: tuple[int, int]) -> None:
    """Give a folder and all that is in it to `owner`."""
    if owner[0] == os.geteuid():
        return
    for folder, _, files in os.walk(path):
        for name in (folder, *(os.path.join(folder, file) for file in files)):  # noqa: PTH118 -- as os.walk has them
            os.chown(name, *owner, follow_symlinks=False)


def _make_folder(path: Path, owner: tuple[int, int]) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise ConfigRefusedError(f"fixture folder {path} exists and is not a folder")
    if not path.exists():
        path.mkdir(mode=0o755)
        os.chown(path, *owner)


def make_repository(
    home: Path, fixture: RepositoryFixture, owner: tuple[int, int], interrupted: Callable[[], bool]
) -> None:
    """Make or replace a repository; its branch, which HEAD is, is `main`.

    Raises ConfigRefusedError if there is no git, or something else is in its place.
    """
    git = shutil.which("git")
    if git is None:
        raise ConfigRefusedError(f"fixture {fixture.path!r} is a git repository, and there is no git here: install git")
    path = _fixture_path(home, fixture.path, owner)
    if path.exists():
        _remove_repository(path, fixture.path)
    _run_git(git, fixture, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(path))
    _import(git, path, fixture, interrupted)
    _chown_recursively(path, owner)


def _remove_repository(path: Path, name: str) -> None:
    if not ((path / "HEAD").is_file() and (path / "objects").is_dir()):
        raise ConfigRefusedError(f"fixture path {name!r} exists and is not a git repository: it is left alone")
    shutil.rmtree(path)


def _import(git: str, path: Path, fixture: RepositoryFixture, interrupted: Callable[[], bool]) -> None:
    command = [git, "-C", str(path), *_FAST_IMPORT]
    with subprocess.Popen(  # noqa: S603 -- git, by its path, and our own arguments
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_git_environment()
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
        raise _repository_refusal(fixture, complaint or f"exit code {importing.returncode}")


def _feed(stdin: IO[bytes], fixture: RepositoryFixture, interrupted: Callable[[], bool]) -> None:
    """Write the stream to its end, or as far as git takes it, which then says itself why it took no more."""
    with suppress(BrokenPipeError), stdin:
        for chunk in _import_stream(fixture):
            if interrupted():
                raise InterruptedTargetError("stopped while making fixtures")
            stdin.write(chunk)


def _import_stream(fixture: RepositoryFixture) -> Iterator[bytes]:
    """Yield what git fast-import(1) reads: `commits` commits, each with its share of the bytes."""
    begun_bytes = 0
    for number in range(fixture.commits):
        upto_bytes = fixture.size_bytes * (number + 1) // fixture.commits
        yield _commit_header(number)
        yield b"M 644 inline file-%02d\n" % (number % _REPOSITORY_FILES)
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


def _run_git(git: str, fixture: RepositoryFixture, *arguments: str) -> None:
    done = subprocess.run(  # noqa: S603 -- likewise
        [git, *arguments], capture_output=True, errors="replace", check=False, env=_git_environment()
    )
    if done.returncode != 0:
        raise _repository_refusal(fixture, done.stderr)


def _git_environment() -> dict[str, str]:
    """Return an environment in which no configuration of this machine or its user counts."""
    return {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def _repository_refusal(fixture: RepositoryFixture, complaint: str) -> ConfigRefusedError:
    return ConfigRefusedError(f"fixture {fixture.path!r} cannot be made by git: {' '.join(complaint.split())}")
