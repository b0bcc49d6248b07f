"""What a managed target's user finds in their home."""

from specs.bad import Bad, bad
from specs.small import SMALL
from specs.spec import Spec, changed


def _repository(path: str) -> Spec:
    return {"path": path, "commits": 1, "size": 1}


def _fixtures(fixtures: Spec) -> Bad:
    """Return fixtures among which a repository is in the way of something."""
    place = "target.managed.fixtures"
    return bad(place, {"repositories": [_repository("r")], **fixtures}, f"spec.{place}.repositories")


BAD: dict[str, Bad] = {
    "fixture-that-climbs": bad(
        "target.managed.fixtures.files", [{"path": "../x", "size": 1}], "spec.target.managed.fixtures.files[0].path"
    ),
    "fixture-of-the-wrong-unit": bad(
        "target.managed.fixtures.files", [{"path": "x", "size": "26KB"}], "spec.target.managed.fixtures.files[0].size"
    ),
    "fixture-that-is-too-large": bad(
        "target.managed.fixtures.files", [{"path": "x", "size": "101Gi"}], "spec.target.managed.fixtures.files[0].size"
    ),
    "fixture-that-stands-twice": bad(
        "target.managed.fixtures.directories",
        [{"path": "x", "files": 1}, {"path": "x", "files": 2}],
        "spec.target.managed.fixtures.directories[1]",
    ),
    "fixture-inside-a-file": bad(
        "target.managed.fixtures",
        {"files": [{"path": "x", "size": 1}], "directories": [{"path": "x/y", "files": 1}]},
        "spec.target.managed.fixtures.directories",
    ),
    "repository-without-commits": bad(
        "target.managed.fixtures.repositories",
        [{"path": "a", "commits": 0, "size": 1}],
        "spec.target.managed.fixtures.repositories[0].commits",
    ),
    "repository-of-no-size": bad(
        "target.managed.fixtures.repositories",
        [{"path": "a", "commits": 1, "size": 0}],
        "spec.target.managed.fixtures.repositories[0].size",
    ),
    "repository-in-a-directorys-place": _fixtures({"directories": [{"path": "r", "files": 1}]}),
    "file-inside-a-repository": _fixtures({"files": [{"path": "r/HEAD", "size": 1}]}),
    "repository-inside-a-file": _fixtures({"repositories": [_repository("a/r")], "files": [{"path": "a", "size": 1}]}),
    "repository-inside-a-repository": _fixtures({"repositories": [_repository("r"), _repository("r/s")]}),
    "spare-room-without-end": bad("target.managed.fixtures.spare", "101Gi"),
}

GOOD: dict[str, Spec] = {
    "the-largest-file": changed(SMALL, "target.managed.fixtures.files", [{"path": "x", "size": "100Gi"}]),
    "repository-in-a-directory": changed(
        SMALL,
        "target.managed.fixtures",
        {"directories": [{"path": "a", "files": 1}], "repositories": [_repository("a/r")]},
    ),
    "no-spare-room": changed(SMALL, "target.managed.fixtures.spare", 0),
}
