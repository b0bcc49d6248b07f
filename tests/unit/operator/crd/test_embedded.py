"""What stands in several places of the CRDs is the same everywhere: it has one source each."""

from typing import Any

import pytest
import yaml
from crd_schema import crd_version
from embed_schema import POD_PLACEMENT, written

Schema = dict[str, Any]
# Where the spec of an SSHLoadTest stands in the spec of another kind.
PLACES = {"sshloadtestschedules": ("testTemplate", "spec"), "sshloadtestcomparisons": ("base",)}


def schema(plural: str, *path: str) -> Schema:
    found: Schema = crd_version(plural)["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for name in path:
        found = found["items"] if name == "[]" else found["properties"][name]
    return found


def test_every_crd_is_as_the_script_writes_it() -> None:
    for path, text in written().items():
        assert path.read_text(encoding="utf-8") == text, "run .venv/bin/python scripts/embed_schema.py"


@pytest.mark.parametrize("plural", PLACES)
def test_the_spec_of_a_test_is_embedded_whole(plural: str) -> None:
    assert schema(plural, *PLACES[plural]) == schema("sshloadtests")


@pytest.mark.parametrize("pods", [("target", "managed"), ("workers",)], ids=lambda path: path[0])
def test_pods_of_both_kinds_are_placed_alike(pods: tuple[str, ...]) -> None:
    source = yaml.safe_load(POD_PLACEMENT.read_text(encoding="utf-8"))["properties"]
    assert set(source) == {"affinity", "topologySpreadConstraints"}
    assert {name: schema("sshloadtests", *pods, name) for name in source} == source
