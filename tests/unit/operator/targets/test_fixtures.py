"""Where one fixture of a managed target lies at the path of another, or in it."""

from typing import Any

import pytest
from plans import quickstart
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError

A_FILE = {"size": "1Ki"}
DIRECTORY = {"files": 3}
REPOSITORY = {"commits": 1, "size": "1Ki"}


def fixtures(**paths: tuple[str, ...]) -> dict[str, Any]:
    kinds = {"files": A_FILE, "directories": DIRECTORY, "repositories": REPOSITORY}
    listed = {kind: [{"path": path, **kinds[kind]} for path in found] for kind, found in paths.items()}
    return quickstart(target={"managed": {"fixtures": listed}})


@pytest.mark.parametrize(
    ("paths", "where", "why"),
    [
        ({"files": ("a", "a/b")}, "files", '"a/b" cannot be where the file "a" is'),
        ({"files": ("a/b/c", "a")}, "files", '"a/b/c" cannot be where the file "a" is'),
        ({"files": ("a",), "directories": ("a",)}, "directories", '"a" cannot be where the file "a" is'),
        ({"files": ("a",), "directories": ("a/b",)}, "directories", '"a/b" cannot be where the file "a" is'),
        ({"files": ("a",), "repositories": ("a",)}, "repositories", '"a" cannot be where the file "a" is'),
        ({"files": ("a",), "repositories": ("a/b",)}, "repositories", '"a/b" cannot be where the file "a" is'),
        ({"repositories": ("a", "a/b")}, "repositories", '"a/b" cannot be where the repository "a" is'),
        (
            {"repositories": ("a",), "files": ("a/b",)},
            "repositories",
            '"a/b" cannot be where the repository "a" is',
        ),
        (
            {"repositories": ("a",), "directories": ("a",)},
            "repositories",
            '"a" cannot be where the repository "a" is',
        ),
        (
            {"repositories": ("a",), "directories": ("a/b",)},
            "repositories",
            '"a/b" cannot be where the repository "a" is',
        ),
    ],
)
def test_what_cannot_lie_where_it_is_to_lie_is_told_with_what_is_there(
    paths: dict[str, tuple[str, ...]], where: str, why: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse(fixtures(**paths))
    assert caught.value.path == f"spec.target.managed.fixtures.{where}"
    assert caught.value.problem == why


def test_what_lies_in_a_directory_or_only_begins_alike_is_taken() -> None:
    spec = parse(fixtures(files=("a/b", "ab"), directories=("a", "a/c", "abc"), repositories=("a/d", "a/de")))
    assert spec.managed is not None
    assert spec.managed.fixtures.paths == ("a/b", "ab", "a", "a/c", "abc", "a/d", "a/de")
