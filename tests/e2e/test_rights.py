"""Least privilege, after all other end-to-end tests: what operators asked the API server, held against their rights."""

import json
import os
from pathlib import Path

import pytest
from audit_log import Asked, Right, asked, denials, granted, table, unused
from helm import NAMESPACE
from live_cluster import LiveCluster

pytestmark = pytest.mark.alone

LEASES = "coordination.k8s.io", "leases"
LOG = "SSHLOAD_AUDIT_LOG"
"""The environment variable with the path of the audit log; tests/e2e/conftest.py leaves this file out without it."""

_AFTER_A_PAUSE = "only where an owner's turn comes after a pause, without an event"
UNUSED = {
    Right("apps", "deployments", "get"): "only where the target's pods are refused: why is in its Deployment",
    Right("batch", "jobs", "get"): "only where an operator died between making a run's Secret and its master's Job",
    Right("sshload.dev", "sshloadtests", "patch"): "only where a comparison is aborted while one of its tests runs",
    Right("sshload.dev", "sshloadtestschedules", "get"): _AFTER_A_PAUSE,
    Right("sshload.dev", "sshloadtestcomparisons", "get"): _AFTER_A_PAUSE,
}
"""Rights that end-to-end tests need not use, and why the operator has them."""


def is_of_uninstalling(request: Asked) -> bool:
    """Tell whether an operator could not renew its Lease or give it away: helm takes its rights while its pod ends."""
    verbs = ("get", "update", "delete")
    return (request.right.group, request.right.resource) == LEASES and request.right.verb in verbs


@pytest.fixture(scope="module")
def requests(module_cluster: LiveCluster) -> list[Asked]:
    """What operators asked since this run of tests began: since its namespaces were made."""
    namespace = module_cluster.get("namespace", module_cluster.namespace)
    return list(asked(Path(os.environ[LOG]), since=namespace["metadata"]["creationTimestamp"]))


def test_every_right_that_the_chart_grants_was_used(requests: list[Asked]) -> None:
    rights = granted()
    print(table(rights, requests))  # noqa: T201 - with -s, or where the test fails
    assert UNUSED.keys() <= rights
    never = [str(right) for right in unused(rights - UNUSED.keys(), requests)]
    assert never == [], "take these rights out of charts/sshload/templates/_rules.tpl, or name them in UNUSED"


def test_nothing_that_an_operator_asked_was_denied(requests: list[Asked]) -> None:
    assert [request for request in denials(requests) if not is_of_uninstalling(request)] == []


def test_namespaces_with_operators_or_load_enforce_restricted_pods(module_cluster: LiveCluster) -> None:
    pods = json.loads(module_cluster.kubectl("get", "pods", "--all-namespaces", "-o", "json"))["items"]
    ours = {pod["metadata"]["namespace"] for pod in pods if is_ours(pod["metadata"].get("labels", {}))}
    assert NAMESPACE in ours
    namespaces = json.loads(module_cluster.kubectl("get", "namespaces", "-o", "json"))["items"]
    lax = [one["metadata"]["name"] for one in namespaces if not is_restricted(one["metadata"]["labels"])]
    systems = module_cluster.namespace.removesuffix("rights") + "system-target"
    less = sorted(ours.intersection(lax) - {systems})
    assert less == [], f"of {sorted(ours)}, these enforce less, and have no target that is a system"


def is_ours(labels: dict[str, str]) -> bool:
    return labels.get("app.kubernetes.io/name") == "sshload" or "sshload.dev/run-id" in labels


def is_restricted(labels: dict[str, str]) -> bool:
    return labels.get("pod-security.kubernetes.io/enforce") == "restricted"
