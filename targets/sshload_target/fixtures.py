"""Fixtures: the files and directories that scenarios read, made in the user's home."""

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from sshload_contract.target_config import DirectoryFixture, FileFixture

from sshload_target.errors import ConfigRefusedError, InterruptedTargetError

_CHUNK_BYTES = 1_048_576
_RESERVED_FOLDERS = (".ssh",)


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
    path = fixture_path(home, fixture.path, owner)
    with path.open("wb") as file:
        left = fixture.size_bytes
        while left > 0:
            if interrupted():
                raise InterruptedTargetError("stopped while making fixtures")
            left -= file.write(os.urandom(min(left, _CHUNK_BYTES)))
    os.chown(path, *owner)


def make_directory(home: Path, fixture: DirectoryFixture, owner: tuple[int, int]) -> None:
    """Make a directory with `files` empty files in it, named from file-000000 on."""
    path = fixture_path(home, fixture.path, owner)
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


def fixture_path(home: Path, path: str, owner: tuple[int, int]) -> Path:
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


def chown_recursively(path: Path, owner: tuple[int, int]) -> None:
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
