"""The operator may do what it does, and nothing else. Asked of a real API server."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import helm
import pytest
from api_server import ApiServer
from audit_log import granted
from live_cluster import LiveCluster

pytestmark = pytest.mark.xdist_group("own_api_server")

NEEDED = (
    *(f"{verb} sshloadtests.sshload.dev" for verb in ("get", "list", "watch", "create", "patch", "delete")),
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
        for verb in ("create", "delete")
        for plural in ("jobs.batch", "deployments.apps", "services", "configmaps", "networkpolicies.networking.k8s.io")
    ),
    *(f"patch {plural}" for plural in ("services", "configmaps", "networkpolicies.networking.k8s.io")),
)
FORBIDDEN = (
    "patch jobs.batch",
    "patch deployments.apps",
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
REVIEWS = ("create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io")


LEASE = tuple(f"{verb} leases.coordination.k8s.io=sshload-operator" for verb in ("get", "create", "update", "delete"))
NOT_ITS_LEASE = (
    *(f"{verb} leases.coordination.k8s.io=kube-scheduler" for verb in ("get", "create", "update", "delete")),
    *(f"{verb} leases.coordination.k8s.io" for verb in ("list", "watch", "create", "deletecollection")),
)


def allowed(cluster: LiveCluster, actions: Iterable[str]) -> set[str]:
    """Return which of these actions the API server allows the operator in the namespace."""
    asked = list(actions)
    answers = cluster.create(*(review(cluster, action) for action in asked))
    return {action for action, answer in zip(asked, answers, strict=True) if answer["status"]["allowed"]}


def review(cluster: LiveCluster, action: str) -> dict[str, Any]:
    verb, resource = action.split()
    kind, _, name = resource.partition("=")
    whole, _, subresource = kind.partition("/")
    plural, _, group = whole.partition(".")
    attributes = {"group": group, "resource": plural, "subresource": subresource, "name": name}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{helm.NAMESPACE}:{helm.RELEASE}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{helm.NAMESPACE}", "system:authenticated"],
            "resourceAttributes": {"namespace": cluster.namespace, "verb": verb, **attributes},
        },
    }


def rules(*arguments: str) -> list[dict[str, Any]]:
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    return [found for found in helm.objects(*arguments) if found["kind"] in kinds]


@pytest.fixture
def applied(cluster: LiveCluster) -> Iterator[list[dict[str, Any]]]:
    """Return what a test has applied, which is deleted afterwards: it is not in the test's namespace only."""
    found: list[dict[str, Any]] = []
    yield found
    for one in found:
        there = in_its_namespace(cluster, one)
        if there.exists(one["kind"], one["metadata"]["name"]):
            there.delete(one["kind"], one["metadata"]["name"])
    cluster.gone(lambda: allowed(cluster, NEEDED), "permission")  # the authorizer hears of it a moment later


def apply(cluster: LiveCluster, applied: list[dict[str, Any]], *arguments: str) -> None:
    """Apply the chart's rules, and wait until all that is needed is allowed: the authorizer hears of it later."""
    for one in rules(*arguments):
        applied.append(one)
        in_its_namespace(cluster, one).apply(one)
    cluster.gone(lambda: set(NEEDED) - allowed(cluster, NEEDED), "lack of permission")


def may_hold_its_lease(cluster: LiveCluster) -> None:
    """Wait until the operator may hold its Lease here, by a role of its own: the authorizer hears of it by itself."""
    cluster.gone(lambda: set(LEASE) - allowed(cluster, LEASE), "lack of permission")


def in_its_namespace(cluster: LiveCluster, manifest: dict[str, Any]) -> LiveCluster:
    return replace(cluster, namespace=manifest["metadata"].get("namespace", cluster.namespace))


def test_a_cluster_wide_operator_may_do_its_work_anywhere_and_no_more(
    cluster: LiveCluster, applied: list[dict[str, Any]]
) -> None:
    apply(cluster, applied)
    assert allowed(cluster, (*FORBIDDEN, *REVIEWS, *LEASE, *NOT_ITS_LEASE)) == set()
    where_its_lease_is = replace(cluster, namespace="kube-system")
    may_hold_its_lease(where_its_lease_is)
    assert allowed(where_its_lease_is, (*LEASE, *NOT_ITS_LEASE)) == set(LEASE)


def test_a_namespaced_operator_may_do_its_work_in_its_namespaces_only(
    cluster: LiveCluster, api_server: ApiServer, applied: list[dict[str, Any]]
) -> None:
    elsewhere = api_server.namespace()
    apply(cluster, applied, "--set", "namespaced=true", "--set", f"watchNamespaces={{{cluster.namespace}}}")
    may_hold_its_lease(cluster)
    assert allowed(cluster, (*FORBIDDEN, *LEASE, *NOT_ITS_LEASE)) == set(LEASE)
    assert allowed(elsewhere, (*NEEDED, *FORBIDDEN, *LEASE)) == set()


@pytest.mark.parametrize("is_namespaced", [True, False])
def test_an_operator_whose_metrics_are_guarded_may_ask_who_reads_them_too(
    cluster: LiveCluster,
    applied: list[dict[str, Any]],
    is_namespaced: bool,  # noqa: FBT001 - as parametrised
) -> None:
    some = ("--set", "namespaced=true", "--set", f"watchNamespaces={{{cluster.namespace}}}")
    apply(cluster, applied, "--set", "metrics.authentication.enabled=true", *(some if is_namespaced else ()))
    cluster.gone(lambda: set(REVIEWS) - allowed(cluster, REVIEWS), "lack of permission")
    assert allowed(cluster, FORBIDDEN) == set()


def test_an_operator_that_serves_pages_may_ask_who_reads_them_and_read_the_results(
    cluster: LiveCluster, applied: list[dict[str, Any]]
) -> None:
    apply(cluster, applied, "--set", "ui.enabled=true")
    wanted = (*REVIEWS, "get configmaps")
    cluster.gone(lambda: set(wanted) - allowed(cluster, wanted), "lack of permission")
    assert allowed(cluster, FORBIDDEN) == {"get configmaps"}


@pytest.mark.parametrize("is_namespaced", [True, False])
def test_an_operator_that_posts_to_a_webhook_may_annotate_comparisons_too(
    cluster: LiveCluster,
    applied: list[dict[str, Any]],
    is_namespaced: bool,  # noqa: FBT001 - as parametrised
) -> None:
    some = ("--set", "namespaced=true", "--set", f"watchNamespaces={{{cluster.namespace}}}")
    webhook = "notifications.webhook.url=https://hooks.example.com,notifications.webhook.secret=webhook"
    apply(cluster, applied, "--set", webhook, *(some if is_namespaced else ()))
    annotate = "patch sshloadtestcomparisons.sshload.dev"
    cluster.gone(lambda: not allowed(cluster, (annotate,)), "lack of permission")
    assert allowed(cluster, FORBIDDEN) == {annotate}


@pytest.mark.parametrize("namespaced", ["true", "false"])
def test_no_rule_reads_secrets_or_has_a_wildcard(namespaced: str) -> None:
    found = [rule for role in rules("--set", f"namespaced={namespaced}") for rule in role.get("rules", ())]
    assert found
    for rule in found:
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        if any(resource.startswith("secrets") for resource in rule["resources"]):
            assert rule["verbs"] == ["create", "delete"]


def test_the_rights_that_end_to_end_tests_look_for_in_the_audit_log_are_those_of_the_operator_only() -> None:
    verbs: dict[str, set[str]] = {}
    for right in granted():
        verbs.setdefault(right.resource, set()).add(right.verb)
    assert verbs["pods/log"] == {"get"}
    assert verbs["leases"] == {"get", "create", "update", "delete"}
    assert verbs["sshloadtestschedules"] == {"get", "list", "watch"}


def test_a_namespaced_installation_makes_nothing_cluster_wide_but_the_crds() -> None:
    made = helm.objects_and_crds("--set", "namespaced=true")
    kinds = {found["kind"] for found in made if "namespace" not in found["metadata"]}
    assert kinds == {"CustomResourceDefinition"}
