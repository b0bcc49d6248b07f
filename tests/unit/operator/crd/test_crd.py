"""The CRD's own form: described, bounded and strict throughout."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CRD = yaml.safe_load((Path(__file__).parents[4] / "crds" / "sshloadtests.yaml").read_text())
# Kubernetes' own objects, which the API server checks when the pod is made.
HANDED_THROUGH = ("affinity", "topologySpreadConstraints[]")


def schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema under the root with its path."""
    for name, child in schema.get("properties", {}).items():
        yield from ((place, found) for place, found in [(f"{path}.{name}", child), *schemas(child, f"{path}.{name}")])
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if key in schema:
            yield from [(path + mark, schema[key]), *schemas(schema[key], path + mark)]


VERSION = CRD["spec"]["versions"][0]
FIELDS = dict(schemas(VERSION["schema"]["openAPIV3Schema"]))


def test_there_are_fields() -> None:
    assert ".spec.load.arrivals.stages[].rate" in FIELDS
    assert ".status.results.steps[].p99Ms" in FIELDS


def test_every_field_is_described() -> None:
    assert [
        path for path, schema in FIELDS.items() if not schema.get("description", "").strip().endswith((".", "wait`."))
    ] == []


def test_every_text_is_bounded() -> None:
    texts = {path: schema for path, schema in FIELDS.items() if schema.get("type") == "string"}
    bounds = ("maxLength", "enum", "format")
    assert [path for path, schema in texts.items() if not any(bound in schema for bound in bounds)] == []


def test_every_list_and_map_is_bounded() -> None:
    lists = [path for path, schema in FIELDS.items() if "items" in schema and "maxItems" not in schema]
    maps = [
        path for path, schema in FIELDS.items() if "additionalProperties" in schema and "maxProperties" not in schema
    ]
    assert lists + maps == []


def test_every_list_says_how_it_is_merged() -> None:
    assert [
        path for path, schema in FIELDS.items() if "items" in schema and "x-kubernetes-list-type" not in schema
    ] == []


def test_every_number_of_the_spec_has_a_range() -> None:
    numbers = {path: schema for path, schema in FIELDS.items() if schema.get("type") in ("integer", "number")}
    free = (".tolerationSeconds", ".maxSkew")  # Kubernetes' own
    assert [
        path
        for path, schema in numbers.items()
        if path.startswith(".spec") and not path.endswith(free) and not {"minimum", "maximum"} <= schema.keys()
    ] == []


def test_only_kubernetes_own_objects_take_unknown_fields() -> None:
    loose = [path for path, schema in FIELDS.items() if schema.get("x-kubernetes-preserve-unknown-fields")]
    assert loose
    assert all(path.endswith(HANDED_THROUGH) for path in loose)


def test_the_columns_are_the_promised_ones() -> None:
    columns = [column["name"] for column in VERSION["additionalPrinterColumns"] if not column.get("priority")]
    assert columns == ["Phase", "Verdict", "Rate/s", "P99 ms", "Errors %", "Age"]
