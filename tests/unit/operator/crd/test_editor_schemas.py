"""The JSON schemas for editors: they take what is valid, and mark what is misspelt while it is written."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from editor_schemas import SCHEMAS, written
from specs.comparisons import comparison_spec
from specs.tables import GOOD, WHOLE

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

pytestmark = pytest.mark.xdist_group("jsonschema")  # one lane imports it

EXAMPLES = sorted((Path(__file__).parents[4] / "examples").rglob("*.yaml"))


@cache
def validator(kind: str) -> "Draft7Validator":
    from jsonschema import Draft7Validator  # noqa: PLC0415 - it takes a second, in each process that collects this

    return Draft7Validator(json.loads((SCHEMAS / f"{kind.lower()}.json").read_text(encoding="utf-8")))


@pytest.fixture(autouse=True, scope="module")
def _imported() -> None:
    """Import what all tests share."""
    validator("SSHLoadTest")


def faults(document: dict[str, Any]) -> list[str]:
    """Return where a document does not fit the schema of its kind."""
    return [error.json_path for error in validator(document["kind"]).iter_errors(document)]


def document(spec: Any, kind: str = "SSHLoadTest") -> dict[str, Any]:
    return {"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}


def test_every_schema_is_as_the_script_writes_it() -> None:
    for path, text in written().items():
        assert path.read_text(encoding="utf-8") == text, "run make generate"


@pytest.mark.slow
@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in WHOLE.items()])
def test_a_whole_spec_fits(spec: dict[str, Any]) -> None:
    assert faults(document(spec)) == []


def test_a_comparison_fits() -> None:
    assert faults(document(comparison_spec(), "SSHLoadTestComparison")) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits(path: Path) -> None:
    documents = [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]
    ours = [one for one in documents if one.get("apiVersion") == "sshload.dev/v1alpha1"]
    assert [fault for one in ours for fault in faults(one)] == []


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"lod": {}}, "$.spec"),
        ({"warmUp": 5}, "$.spec.warmUp"),
        ({"load": {"arrivals": {"rate": -1, "duration": "30s"}}}, "$.spec.load.arrivals.rate"),
        ({"client": {"windowSize": "much"}}, "$.spec.client.windowSize"),
    ],
)
def test_what_is_wrong_is_marked_in_its_place(wrong: dict[str, Any], path: str) -> None:
    assert faults(document({**GOOD["whole-number-with-a-point"], **wrong})) == [path]
