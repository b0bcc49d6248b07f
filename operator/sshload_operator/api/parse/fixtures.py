"""What a managed target's user finds in their home."""

from dataclasses import dataclass
from typing import Any

from sshload_contract.target_config import DirectoryFixture, FileFixture, RepositoryFixture

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import refuse_repeated
from sshload_operator.api.parse.readers import items, shown, size, text, whole

_PATH = text(
    longest=100,
    pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*",
    wanted="a path from the home, whose names begin with a letter, digit or underscore",
)
_SIZE = size("0", "100Gi")
_REPOSITORY_SIZE = size("1", "10Gi")


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The content of a home, and the room for what the scenario writes."""

    files: tuple[FileFixture, ...]
    directories: tuple[DirectoryFixture, ...]
    repositories: tuple[RepositoryFixture, ...]
    spare_bytes: int


def read_fixtures(value: Any, path: str) -> Fixtures:
    """Read the fixtures, none of which may lie where another one is."""
    fields = Fields(value, path)
    fixtures = Fixtures(
        files=fields.optional("files", items(_read_file, most=15)) or (),
        directories=fields.optional("directories", items(_read_directory, most=20)) or (),
        repositories=fields.optional("repositories", items(_read_repository, most=10)) or (),
        spare_bytes=fields.defaulted("spare", _SIZE, "256Mi"),
    )
    fields.end()
    files = tuple(file.path for file in fixtures.files)
    directories = tuple(directory.path for directory in fixtures.directories)
    repositories = tuple(repository.path for repository in fixtures.repositories)
    for name, paths in (("files", files), ("directories", directories), ("repositories", repositories)):
        refuse_repeated(paths, fields.at(name))
    _refuse_inside(files, files, "file", fields.at("files"))
    _refuse_inside(files, directories, "file", fields.at("directories"))
    _refuse_inside(files, repositories, "file", fields.at("repositories"))
    for others in (files, directories, repositories):
        _refuse_inside(repositories, others, "repository", fields.at("repositories"))
    return fixtures


def _refuse_inside(closed: tuple[str, ...], others: tuple[str, ...], what: str, path: str) -> None:
    """Refuse `others` that are at or under a path that is closed to all but its own fixture."""
    for place in closed:
        for other in others:
            if other.startswith(f"{place}/") or (other == place and others is not closed):
                raise SpecError(path, f"{shown(other)} cannot be where the {what} {shown(place)} is")


def _read_file(value: Any, path: str) -> FileFixture:
    fields = Fields(value, path)
    file = FileFixture(path=fields.required("path", _PATH), size_bytes=fields.required("size", _SIZE))
    fields.end()
    return file


def _read_directory(value: Any, path: str) -> DirectoryFixture:
    fields = Fields(value, path)
    directory = DirectoryFixture(path=fields.required("path", _PATH), files=fields.required("files", whole(0, 100_000)))
    fields.end()
    return directory


def _read_repository(value: Any, path: str) -> RepositoryFixture:
    fields = Fields(value, path)
    repository = RepositoryFixture(
        path=fields.required("path", _PATH),
        commits=fields.required("commits", whole(1, 10_000)),
        size_bytes=fields.required("size", _REPOSITORY_SIZE),
    )
    fields.end()
    return repository
