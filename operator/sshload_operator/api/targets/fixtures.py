"""What the home directory of a managed target's user holds when the load begins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeAlias

from sshload_contract.declared import Absent, Default, Items, Rule, Size
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture

from sshload_operator.api.shapes.errors import shown

_Fixture: TypeAlias = FileFixture | DirectoryFixture | RepositoryFixture
_WORDS: Final = {"files": "file", "repositories": "repository"}


def _clash(*pairs: tuple[str, str]) -> Callable[["Fixtures"], str]:
    """Return what says which fixture of the second field lies at one of the first, or inside it."""
    return lambda fixtures: next(
        (
            f"{shown(inner.path)} cannot be where the {_WORDS[of_outer]} {shown(outer.path)} is"
            for of_outer, of_inner in pairs
            for outer in getattr(fixtures, of_outer)
            for inner in getattr(fixtures, of_inner)
            if inner.path.startswith(f"{outer.path}/") or (inner.path == outer.path and of_inner != of_outer)
        ),
        "",
    )


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The content of the user's home directory when the load begins."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.files) || self.files.all(f, self.files.all(g, !g.path.startsWith(f.path + '/')))",
            "a file cannot lie inside another file",
            at=".files",
            explain=_clash(("files", "files")),
        ),
        Rule(
            "!has(self.repositories) || self.repositories.all(r,"
            " self.repositories.all(other, !other.path.startsWith(r.path + '/'))"
            " && (!has(self.files) || self.files.all(f, f.path != r.path && !f.path.startsWith(r.path + '/')"
            " && !r.path.startsWith(f.path + '/')))"
            " && (!has(self.directories) || self.directories.all(d, d.path != r.path"
            " && !d.path.startsWith(r.path + '/'))))",
            "a repository cannot have the path of another fixture, and nothing else can lie inside a repository",
            at=".repositories",
            explain=_clash(
                ("files", "repositories"), *(("repositories", one) for one in ("files", "directories", "repositories"))
            ),
        ),
        Rule(
            "!has(self.files) || !has(self.directories) || self.files.all(f, self.directories.all(d,"
            " d.path != f.path && !d.path.startsWith(f.path + '/')))",
            "a directory cannot have the path of a file, or lie inside a file",
            at=".directories",
            explain=_clash(("files", "directories")),
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
        fixtures: tuple[_Fixture, ...] = (*self.files, *self.directories, *self.repositories)
        return tuple(fixture.path for fixture in fixtures)
