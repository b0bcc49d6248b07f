"""The operator may do what it does, and nothing else. Asked of a real API server."""

from collections.abc import Iterator
from typing import Any

import helm
import pytest
import yaml
from api_server import ApiServer
from live_cluster import LiveCluster

NEEDED = (
    *(f"{verb} sshloadtests.sshload.dev" for verb in ("get", "list", "watch", "create", "delete")),
    *(
        f"{verb} {plural}.sshload.dev"
        for plural in ("sshloadtestschedules", "sshloadtestcomparisons")
        for verb in ("get", "list", "watch")
    ),
    *(
        f"patch {plural}.sshload.dev/status"
        for plural in ("sshloadtests", "sshloadtestschedules", "sshloadtestcomparisons")
    ),
    *(f"{verb} {plural}" for verb in ("list", "watch") for plural in ("pods", "jobs.batch")),
    "get pods/log",
    "get deployments.apps",
    "list events",
    "create events",
    "create secrets",
    "delete secrets",
    *(
        f"{verb} {plural}"
        for verb in ("create", "patch", "delete")
        for plural in ("jobs.batch", "deployments.apps", "services", "configmaps", "networkpolicies.networking.k8s.io")
    ),
)
FORBIDDEN = (
    *(f"{verb} secrets" for verb in ("get", "list", "watch", "patch", "update", "deletecollection")),
    "create pods",
    "create pods/exec",
    *(
        f"{verb} {plural}.sshload.dev"
        for plural in ("sshloadtestschedules", "sshloadtestcomparisons")
        for verb in ("create", "patch", "delete")
    ),
    "get configmaps",
    "create roles.rbac.authorization.k8s.io",
    "list nodes",
    "impersonate users",
)


def may(cluster: LiveCluster, action: str) -> bool:
    verb, resource = action.split()
    plural, _, subresource = resource.partition("/")
    subject = f"--as=system:serviceaccount:{helm.NAMESPACE}:{helm.RELEASE}"
    question = [plural, f"--subresource={subresource}"] if subresource else [plural]
    answer = cluster.kubectl("auth", "can-i", verb, *question, subject, check=False)
    return answer.strip().splitlines()[-1] == "yes"


def rules(*arguments: str) -> list[dict[str, Any]]:
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    return [found for found in helm.objects(*arguments) if found["kind"] in kinds]


@pytest.fixture
def applied(cluster: LiveCluster) -> Iterator[list[str]]:
    """Return the kubectl arguments of what a test has applied, which is deleted afterwards: it is not namespaced."""
    documents: list[str] = []
    yield documents
    for document in documents:
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=document)


def apply(cluster: LiveCluster, applied: list[str], *arguments: str) -> None:
    document = yaml.safe_dump_all(rules(*arguments))
    applied.append(document)
    cluster.kubectl("apply", "-f", "-", stdin=document)


def test_a_cluster_wide_operator_may_do_its_work_anywhere_and_no_more(cluster: LiveCluster, applied: list[str]) -> None:
    apply(cluster, applied)
    assert [action for action in NEEDED if not may(cluster, action)] == []
    assert [action for action in FORBIDDEN if may(cluster, action)] == []


def test_a_namespaced_operator_may_do_its_work_in_its_namespaces_only(
    cluster: LiveCluster, api_server: ApiServer, applied: list[str]
) -> None:
    elsewhere = api_server.namespace()
    apply(cluster, applied, "--set", "namespaced=true", "--set", f"watchNamespaces={{{cluster.namespace}}}")
    assert [action for action in NEEDED if not may(cluster, action)] == []
    assert [action for action in (*NEEDED, *FORBIDDEN) if may(elsewhere, action)] == []


@pytest.mark.parametrize("namespaced", ["true", "false"])
def test_no_rule_reads_secrets_or_has_a_wildcard(namespaced: str) -> None:
    found = [rule for role in rules("--set", f"namespaced={namespaced}") for rule in role.get("rules", ())]
    assert found
    for rule in found:
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        if any(resource.startswith("secrets") for resource in rule["resources"]):
            assert rule["verbs"] == ["create", "delete"]


def test_a_namespaced_installation_makes_nothing_cluster_wide_but_the_crds() -> None:
    kinds = {
        found["kind"] for found in helm.objects("--set", "namespaced=true") if "namespace" not in found["metadata"]
    }
    assert kinds == {"CustomResourceDefinition"}
