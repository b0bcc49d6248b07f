"""The CRDs' own form: described, bounded and strict throughout."""

import json
import re
from collections.abc import Iterator
from math import prod
from typing import Any

import pytest
from crd_schema import CRDS, crd_document, crd_version

# It has one owner, so how its lists are merged is nobody's question.
PATCH = ".spec.variants[].patch."


def schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema under the root with its path."""
    for name, child in schema.get("properties", {}).items():
        yield from ((place, found) for place, found in [(f"{path}.{name}", child), *schemas(child, f"{path}.{name}")])
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if key in schema:
            yield from [(path + mark, schema[key]), *schemas(schema[key], path + mark)]


Fields = dict[str, dict[str, Any]]
VERSIONS = {path.stem: crd_version(path.stem) for path in sorted(CRDS.iterdir())}
FIELDS = {plural: dict(schemas(version["schema"]["openAPIV3Schema"])) for plural, version in VERSIONS.items()}
COLUMNS = {
    "sshloadtests": ["Phase", "Verdict", "Rate", "P99ms", "Error%", "Capacity", "Age"],
    "sshloadtestschedules": ["Schedule", "Suspend", "Active", "Last", "Verdict", "Capacity", "Age"],
}
of_every_kind = pytest.mark.parametrize("fields", [pytest.param(found, id=plural) for plural, found in FIELDS.items()])


def test_there_are_fields() -> None:
    assert ".spec.load.arrivals.stages[].rate" in FIELDS["sshloadtests"]
    assert ".status.results.steps[].p99Ms" in FIELDS["sshloadtests"]
    assert ".status.results.steps[].intervals[].ms" in FIELDS["sshloadtests"]
    assert ".spec.testTemplate.spec.load.arrivals.stages[].rate" in FIELDS["sshloadtestschedules"]


@of_every_kind
def test_every_field_is_described(fields: Fields) -> None:
    described = {
        path: schema.get("description", "")
        for path, schema in fields.items()
        if not (path.startswith(PATCH) and set(path.removeprefix(PATCH)) & set(".[{"))
    }
    assert [path for path, text in described.items() if not text.strip().endswith((".", "wait`."))] == []


@of_every_kind
def test_every_text_is_bounded(fields: Fields) -> None:
    texts = {path: schema for path, schema in fields.items() if schema.get("type") == "string"}
    bounds = ("maxLength", "enum", "format")
    assert [path for path, schema in texts.items() if not any(bound in schema for bound in bounds)] == []


@of_every_kind
def test_the_sizes_that_may_be_numbers_cost_no_more_than_kubernetes_1_31_allows(fields: Fields) -> None:
    """It takes such a value for a text of 3 MiB that is read twice, at a tenth each byte, in each item of its lists."""
    costs = {
        path: prod(fields[path[: end.start()]]["maxItems"] for end in re.finditer(r"\[\]", path)) * 2 * 3 * 2**20 / 10
        for path, schema in fields.items()
        if schema.get("x-kubernetes-int-or-string") and "x-kubernetes-validations" in schema
    }
    assert {path: cost for path, cost in costs.items() if cost > 10_000_000} == {}
    # The limit is 100 million for the whole CRD; all other rules take 9 million.
    assert sum(costs.values()) < 90_000_000


@of_every_kind
def test_every_list_and_map_is_bounded(fields: Fields) -> None:
    lists = [path for path, schema in fields.items() if "items" in schema and "maxItems" not in schema]
    maps = [
        path for path, schema in fields.items() if "additionalProperties" in schema and "maxProperties" not in schema
    ]
    assert lists + maps == []


@of_every_kind
def test_every_list_says_how_it_is_merged(fields: Fields) -> None:
    assert [
        path
        for path, schema in fields.items()
        if "items" in schema and "x-kubernetes-list-type" not in schema and not path.startswith(PATCH)
    ] == []


@of_every_kind
def test_the_api_server_writes_nothing_into_a_part_of_a_spec(fields: Fields) -> None:
    """Server-side apply takes such a default away again, and Argo CD compares lists as a whole."""
    written = {path: schema["default"] for path, schema in fields.items() if "default" in schema}
    shown_in_columns = {".spec.suspend": False, ".spec.timeZone": "UTC", ".status": {"observedGeneration": -1}}
    others = {path: value for path, value in written.items() if path not in shown_in_columns}
    assert {path.rpartition(".")[2]: value for path, value in others.items()} == {"triggers": {}}


@of_every_kind
def test_each_part_of_a_spec_has_one_owner_but_triggers_may_have_one_for_each_entry(fields: Fields) -> None:
    """Server-side apply makes null of an object without members, unless it is replaced as a whole."""
    atomic = {path for path, schema in fields.items() if schema.get("x-kubernetes-map-type") == "atomic"}
    shared = (".spec", ".spec.base", ".spec.testTemplate", ".spec.testTemplate.spec")
    objects = [
        path
        for path, schema in fields.items()
        if path.startswith(".spec") and {"properties", "additionalProperties"} & schema.keys()
    ]
    assert [
        path
        for path in objects
        if path not in shared
        and not path.endswith((".triggers", "[]"))
        and not any(path == part or path.startswith((f"{part}.", f"{part}[", f"{part}{{")) for part in atomic)
        and "[]" not in path.replace("variants[]", "")
    ] == []


@of_every_kind
def test_every_number_of_the_spec_has_a_range(fields: Fields) -> None:
    numbers = {path: schema for path, schema in fields.items() if schema.get("type") in ("integer", "number")}
    free = ".tolerationSeconds"  # Kubernetes' own, of which it takes any
    assert [
        path
        for path, schema in numbers.items()
        if path.startswith(".spec") and not path.endswith(free) and not {"minimum", "maximum"} <= schema.keys()
    ] == []


@of_every_kind
def test_no_rule_of_a_field_that_is_a_number_or_a_text_looks_for_a_pattern_in_the_text(fields: Fields) -> None:
    """Kubernetes 1.31 takes such a text to have 3 MB, whatever its maxLength, and refuses rules that cost too much."""
    rules = {
        path: rule["rule"]
        for path, schema in fields.items()
        for rule in schema.get("x-kubernetes-validations", ())
        if schema.get("x-kubernetes-int-or-string")
    }
    assert rules
    dear = ("string(self)", "matches(")
    assert [path for path, rule in rules.items() if any(one in rule for one in dear)] == []


@of_every_kind
def test_no_rule_reads_a_size_twice(fields: Fields) -> None:
    """The API server of Kubernetes 1.31 counts each reading as one of megabytes, and refuses a CRD with too many."""
    rules = [rule["rule"] for schema in fields.values() for rule in schema.get("x-kubernetes-validations", ())]
    assert any("quantity(self)" in rule for rule in rules)
    assert [rule for rule in rules if rule.count("quantity(self)") > 1] == []


@of_every_kind
def test_no_field_takes_what_it_does_not_know(fields: Fields) -> None:
    """Else a tenant puts there what fills the operator's memory, or is nested too deep to be read."""
    free = {path for path, schema in fields.items() if schema.get("x-kubernetes-preserve-unknown-fields")}
    open_objects = {
        path
        for path, schema in fields.items()
        if schema.get("type") == "object" and not {"properties", "additionalProperties"} & schema.keys()
    }
    assert free | open_objects == set()


@pytest.mark.parametrize("plural", VERSIONS)
def test_a_crd_leaves_eight_kibibytes_of_what_kubectl_apply_takes(plural: str) -> None:
    """Client-side `kubectl apply` keeps the object as compact JSON in an annotation, which holds 256 KiB.

    The largest, of comparisons, has the spec of a test twice, as the base and as a patch. There a target with accounts
    cost 3 KiB, so that 8 KiB are room for two more such features.
    """
    assert len(json.dumps(crd_document(plural), separators=(",", ":"))) < 248 * 1024


@pytest.mark.parametrize("plural", COLUMNS)
def test_the_columns_are_the_promised_ones(plural: str) -> None:
    columns = VERSIONS[plural]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == COLUMNS[plural]


@pytest.mark.parametrize("plural", VERSIONS)
def test_each_column_has_a_heading_of_one_word_and_one_shows_the_message(plural: str) -> None:
    columns = VERSIONS[plural]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if len(column["name"].split()) != 1] == []
    assert {"Verdict", "Message", "Age"} <= {column["name"] for column in columns}
