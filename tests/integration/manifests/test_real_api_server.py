"""A real API server takes every object that we make, strictly, and every pod under Pod Security "restricted"."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import helm
import plans
import pytest
import yaml
from api_server import ApiServer
from crds_of_others import KINDS
from live_cluster import LiveCluster
from plans import PROOF_SHA256, TOKEN
from sshload_operator.manifests import children, key_files, keys_secret
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest

SPECS = sorted((helm.ROOT / "tests/golden/manifests").glob("*/spec.yaml"))
VALUES = sorted((helm.ROOT / "tests/golden/chart").glob("*/values.yaml"))
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}
SYSTEMS = [spec for spec in SPECS if "system" in (yaml.safe_load(spec.read_text())["target"].get("managed") or {})]


@pytest.fixture
def restricted(api_server: ApiServer) -> LiveCluster:
    """Return a namespace that admits restricted pods only."""
    return api_server.namespace(RESTRICTED)


def here(manifest: Manifest, cluster: LiveCluster) -> Manifest:
    if "namespace" not in manifest["metadata"]:
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": cluster.namespace}}


def pod_of(owner: Mapping[str, Any], cluster: LiveCluster) -> Manifest:
    template = owner["spec"]["template"]
    metadata = {**template["metadata"], "name": "pod", "namespace": cluster.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": without_references(template["spec"])}


def without_references(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec without the objects that it names and that are not there."""
    references = ("priorityClassName", "runtimeClassName", "serviceAccountName")
    return {key: value for key, value in spec.items() if key not in references}


@pytest.mark.parametrize("spec", [pytest.param(spec, id=spec.parent.name) for spec in SPECS if spec not in SYSTEMS])
def test_every_object_of_a_run_is_taken_and_every_pod_is_restricted(spec: Path, restricted: LiveCluster) -> None:
    is_taken_whole(plans.plan(yaml.safe_load(spec.read_text()), installation=plans.LISTING), restricted)


def is_taken_whole(plan: Plan, restricted: LiveCluster) -> None:
    """Apply all that a run has, and its pods, to a namespace."""
    made = [*children(plan, PROOF_SHA256), keys_secret(plan, TOKEN, dict.fromkeys(key_files(plan), "text"))]
    restricted.would_apply(*(here(manifest, restricted) for manifest in made))
    owners = [manifest for manifest in made if manifest["kind"] in ("Deployment", "Job")]
    for owner in owners:
        restricted.would_apply(pod_of(owner, restricted))


@pytest.mark.parametrize("spec", [pytest.param(spec, id=spec.parent.name) for spec in SYSTEMS])
def test_a_system_is_taken_whole_by_baseline_and_by_restricted_but_for_the_capabilities_of_root(
    spec: Path, api_server: ApiServer, restricted: LiveCluster
) -> None:
    """An API server before 1.33 drops the user namespace, and Pod Security then refuses root too, or admits it."""
    plan = plans.plan(yaml.safe_load(spec.read_text()), installation=plans.LISTING)
    is_taken_whole(plan, api_server.namespace(BASELINE))
    (target,) = (one for one in children(plan, PROOF_SHA256) if one["kind"] == "Deployment")
    with pytest.raises(AssertionError, match="unrestricted capabilities"):
        restricted.would_apply(pod_of(target, restricted))


@pytest.mark.parametrize("values", [pytest.param(values, id=values.parent.name) for values in VALUES])
def test_every_object_of_the_chart_is_taken_and_its_pod_is_restricted(values: Path, restricted: LiveCluster) -> None:
    made = [found for found in helm.objects("--values", values) if found["kind"] not in KINDS]
    restricted.would_apply(*(here(manifest, restricted) for manifest in made))
    deployments = [manifest for manifest in made if manifest["kind"] == "Deployment"]
    assert deployments
    restricted.would_apply(*(pod_of(deployment, restricted) for deployment in deployments))


def test_the_namespace_does_refuse_a_pod_that_is_not_restricted(restricted: LiveCluster) -> None:
    (deployment,) = (found for found in children(plans.plan(), PROOF_SHA256) if found["kind"] == "Deployment")
    pod = json.loads(json.dumps(pod_of(deployment, restricted)))
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    with pytest.raises(AssertionError, match="unrestricted capabilities"):
        restricted.would_apply(pod)
