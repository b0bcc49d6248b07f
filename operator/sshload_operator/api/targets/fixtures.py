"""What the home directory of a managed target's user holds when the load begins."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sshload_contract.declared import Absent, Default, Items, Rule, Size
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture

from sshload_operator.api.shapes.errors import shown


def _nested(outer: tuple[str, ...], inner: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Pairs of an outer path and an inner one that lies below it, or at it where they are of two kinds."""
    for place in outer:
        for other in inner:
            if other.startswith(f"{place}/") or (other == place and outer is not inner):
                yield place, other


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The content of the user's home directory when the load begins."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.files) || self.files.all(f, self.files.all(g, !g.path.startsWith(f.path + '/')))",
            "a file cannot lie inside another file",
            lambda fixtures: not fixtures.in_files("files"),
            at=".files",
            explain=lambda fixtures: _cannot_be(fixtures.in_files("files"), "file"),
        ),
        Rule(
            "!has(self.repositories) || self.repositories.all(r,"
            " self.repositories.all(other, !other.path.startsWith(r.path + '/'))"
            " && (!has(self.files) || self.files.all(f, f.path != r.path && !f.path.startsWith(r.path + '/')"
            " && !r.path.startsWith(f.path + '/')))"
            " && (!has(self.directories) || self.directories.all(d, d.path != r.path"
            " && !d.path.startsWith(r.path + '/'))))",
            "a repository cannot have the path of another fixture, and nothing else can lie inside a repository",
            lambda fixtures: not fixtures.in_files("repositories") and not fixtures.in_repositories(),
            at=".repositories",
            explain=lambda fixtures: (
                _cannot_be(fixtures.in_files("repositories"), "file")
                or _cannot_be(fixtures.in_repositories(), "repository")
            ),
        ),
        Rule(
            "!has(self.files) || !has(self.directories) || self.files.all(f, self.directories.all(d,"
            " d.path != f.path && !d.path.startsWith(f.path + '/')))",
            "a directory cannot have the path of a file, or lie inside a file",
            lambda fixtures: not fixtures.in_files("directories"),
            at=".directories",
            explain=lambda fixtures: _cannot_be(fixtures.in_files("directories"), "file"),
        ),
    )
    files: Annotated[tuple[FileFixture, ...], Items(most=15, key=("path",)), Absent(()), "Files of given sizes."]
    directories: Annotated[
        tuple[DirectoryFixture, ...],
        Items(most=20, key=("path",)),
        Absent(()),
        "Directories with a number of empty files.",
    ]
    repositories: Annotated[
        tuple[RepositoryFixture, ...],
        Items(most=10, key=("path",)),
        Absent(()),
        "Bare git repositories with one branch.",
    ]
    spare_bytes: Annotated[
        int,
        Size("0", "100Gi", example="256Mi"),
        Default("256Mi"),
        "Space for what the scenario writes. At most 100Gi.",
    ]

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of each fixture."""
        return (*self._paths("files"), *self._paths("directories"), *self._paths("repositories"))

    def _paths(self, name: str) -> tuple[str, ...]:
        return tuple(fixture.path for fixture in getattr(self, name))

    def in_files(self, name: str) -> list[tuple[str, str]]:
        """Each file with a fixture of the field `name` that lies at its path or below."""
        files = self._paths("files")
        return list(_nested(files, files if name == "files" else self._paths(name)))

    def in_repositories(self) -> list[tuple[str, str]]:
        """Each repository with another fixture that lies at its path or below."""
        repositories = self._paths("repositories")
        others = (self._paths("files"), self._paths("directories"), repositories)
        return [pair for inner in others for pair in _nested(repositories, inner)]


def _cannot_be(pairs: list[tuple[str, str]], outer: str) -> str:
    return f"{shown(pairs[0][1])} cannot be where the {outer} {shown(pairs[0][0])} is" if pairs else ""
