"""What the CRDs say of a pod's place is what this Kubernetes says of it, within bounds."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from api_server import ApiServer

from crds import specs

Schema = dict[str, Any]
_TYPES = "io.k8s.api.core.v1."


def shape(schema: Schema, types: Schema, path: str = "") -> Iterator[tuple[str, ...]]:
    """Yield every field below a schema with its type, its words, how it is merged, and whether it must be given."""
    for reference in schema.get("allOf", ()):
        schema = types[reference["$ref"].rpartition("/")[2]]
    words = ",".join(sorted(schema.get("enum", ())))
    yield path, schema["type"], words, schema.get("x-kubernetes-list-type", ""), *sorted(schema.get("required", ()))
    for name, member in schema.get("properties", {}).items():
        yield from shape(member, types, f"{path}.{name}")
    for inside, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if inside in schema:
            yield from shape(schema[inside], types, path + mark)


@pytest.mark.parametrize("field", ["affinity", "topologySpreadConstraints[]"])
def test_every_field_is_that_of_kubernetes(api_server: ApiServer, field: str) -> None:
    name = field.removesuffix("[]")
    ours = specs()["sshloadtests"]["properties"]["workers"]["properties"][name]
    document = api_server.namespace().kubectl("get", "--raw", "/openapi/v3/api/v1")
    types = json.loads(document)["components"]["schemas"]
    theirs = types[_TYPES + ("Affinity" if name == "affinity" else "TopologySpreadConstraint")]
    # Of these Kubernetes publishes fewer words than it takes, or more.
    checked_later = (".labelSelector.matchExpressions[].operator", ".namespaceSelector.matchExpressions[].operator",
                     ".matchFields[].operator")  # fmt: skip
    known, published = (
        {row if not row[0].endswith(checked_later) else row[:2] for row in shape(schema, types)}
        for schema in (ours.get("items", ours) if field != name else ours, theirs)
    )
    assert known == published
