"""The own CRDs of the Prometheus operator and of the Gateway API take the objects that the chart makes for them."""

import copy
import json
from typing import Any

import helm
import pytest
import yaml
from api_server import ApiServer
from crds_of_others import KINDS, crds
from live_cluster import LiveCluster

pytestmark = pytest.mark.xdist_group("own_api_server")
FOUND = [
    (values.parent.name, found)
    for values in sorted((helm.ROOT / "tests/golden/chart").glob("*/expected.yaml"))
    for found in yaml.load_all(values.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    if found["kind"] in KINDS
]
MADE = [pytest.param(found, id=f"{found['kind']} of {values}") for values, found in FOUND]


@pytest.fixture(scope="module")
def extended(own_api_server: ApiServer) -> LiveCluster:
    """Return a namespace of an API server that has these kinds."""
    cluster = own_api_server.namespace()
    cluster.establish(*crds())
    return cluster


def answer(cluster: LiveCluster, manifest: dict[str, Any]) -> str:
    """Return what the API server says of a manifest that it is to keep nowhere."""
    here = {**manifest, "metadata": {**manifest["metadata"], "namespace": cluster.namespace}}
    options = ("--dry-run=server", "--validate=strict", "-f", "-")
    return cluster.kubectl("apply", "--server-side", *options, stdin=json.dumps(here), check=False)


def test_the_chart_makes_each_of_the_kinds() -> None:
    assert {found["kind"] for _, found in FOUND} == KINDS


@pytest.mark.parametrize("manifest", MADE)
def test_what_the_chart_makes_is_taken(manifest: dict[str, Any], extended: LiveCluster) -> None:
    assert "serverside-applied" in answer(extended, manifest)


@pytest.mark.parametrize("manifest", MADE)
def test_a_field_that_the_kind_does_not_have_is_refused(manifest: dict[str, Any], extended: LiveCluster) -> None:
    wrong = copy.deepcopy(manifest)
    wrong["spec"]["intervall"] = "30s"
    assert "intervall" in answer(extended, wrong)
    assert "serverside-applied" not in answer(extended, wrong)
