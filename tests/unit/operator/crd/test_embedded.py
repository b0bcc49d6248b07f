"""The spec of a test is the same wherever it stands."""

from pathlib import Path

import pytest
from crd_schema import crd_version

ROOT = Path(__file__).parents[4]
# Where the spec of an SSHLoadTest stands in the spec of another kind.
PLACES = {"sshloadtestschedules": ("testTemplate", "spec"), "sshloadtestcomparisons": ("base",)}


def schema(plural: str, *path: str) -> object:
    found = crd_version(plural)["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for name in path:
        found = found["properties"][name]
    return found


@pytest.mark.parametrize("plural", PLACES)
def test_the_spec_of_a_test_is_embedded_whole(plural: str) -> None:
    embedded = schema(plural, *PLACES[plural])
    assert embedded == schema("sshloadtests"), "run .venv/bin/python scripts/embed_schema.py"


def test_the_script_changes_nothing_of_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import embed_schema  # noqa: PLC0415 - a script, found by the path that was just set

    found = {path.stem: path.read_text(encoding="utf-8") for path in embed_schema.embedding()}
    assert set(found) == set(PLACES)
    source = embed_schema.SOURCE.read_text(encoding="utf-8")
    for plural, text in found.items():
        assert embed_schema.embedded(text, source) == text, f"{plural}: run .venv/bin/python scripts/embed_schema.py"
