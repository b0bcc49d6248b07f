"""Clusters unlike a plain one, as far as admission makes them so: each of them ends a managed test rightly."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from chart_release import Release, cluster_in, create_namespaces, delete_namespaces, image
from generator_reruns import rerun_while_lagging
from live_cluster import LiveCluster, load_test

pytestmark = pytest.mark.xdist_group("platforms")  # one release for all of them

ITERATIONS = 50
LIMITS = '{"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}'

# As OpenShift's SCC of that name: it chooses uid and fsGroup for the namespace, and refuses all others.
RESTRICTED_V2 = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE-uid}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions: [{name: unset, expression: "!has(object.spec.securityContext.runAsUser)"}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          Object{spec: Object.spec{securityContext:
            Object.spec.securityContext{runAsUser: 1000650000, fsGroup: 1000650000}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-uid}
spec: {policyName: NAMESPACE-uid}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE-scc}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
    - expression: object.spec.securityContext.runAsUser == 1000650000
    - expression: object.spec.securityContext.fsGroup == 1000650000
    - expression: "!has(object.spec.securityContext.runAsGroup)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-scc}
spec: {policyName: NAMESPACE-scc, validationActions: [Deny]}
"""

# As a service mesh that no label keeps out: an init container that ends, and a sidecar, first of all, that never does.
INJECTOR = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE-mesh}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
    # One patch for each container: the API server of 1.36 does not survive a list of objects in a patch's value.
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          [JSONPatch{op: "add", path: "/spec/initContainers", value: []},
           JSONPatch{op: "add", path: "/spec/initContainers/-", value: Object.spec.initContainers{
             name: "mesh-init", image: "IMAGE", command: ["true"],
             securityContext: Object.spec.initContainers.securityContext{allowPrivilegeEscalation: false,
               capabilities: Object.spec.initContainers.securityContext.capabilities{drop: ["ALL"]}}}},
           JSONPatch{op: "add", path: "/spec/containers/0", value: Object.spec.containers{
             name: "mesh-proxy", image: "IMAGE", command: ["sleep", "infinity"],
             securityContext: Object.spec.containers.securityContext{allowPrivilegeEscalation: false,
               capabilities: Object.spec.containers.securityContext.capabilities{drop: ["ALL"]}}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-mesh}
spec: {policyName: NAMESPACE-mesh}
"""

QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: of-the-team}
spec:
  hard: {requests.cpu: "2", limits.cpu: "4", requests.memory: 2Gi, limits.memory: 4Gi, pods: "5"}
"""

FIRST = "openshift-with-mesh"
OBJECTS = {FIRST: f"{RESTRICTED_V2}---{INJECTOR}", "openshift": RESTRICTED_V2, "mesh": INJECTOR, "quota": QUOTA}
"""What the namespaces have. The chart's own test is of the first one that is watched."""


@pytest.fixture(scope="module")
def release(platforms: dict[str, LiveCluster]) -> Release:
    """The release that watches the namespaces."""
    return Release.in_namespace(platforms[FIRST].namespace.removesuffix(f"-{FIRST}"))


@pytest.fixture(scope="module")
def platforms() -> Iterator[dict[str, LiveCluster]]:
    """A namespace of each kind, watched by one release that leaves the uid to the cluster, on OpenShift itself."""
    own = cluster_in(f"platform-{secrets.token_hex(3)}")
    found = {kind: cluster_in(f"{own.namespace}-{kind}") for kind in OBJECTS}
    made = [(own, RESTRICTED_V2), *((found[kind], objects) for kind, objects in OBJECTS.items())]
    namespaces = [cluster.namespace for cluster, _ in made]
    release = Release.in_namespace(own.namespace)
    create_namespaces(*namespaces)
    try:
        for cluster, objects in made:
            cluster.kubectl("apply", "--server-side", "-f", "-", stdin=of_namespace(objects, cluster.namespace))
        resources = [
            word for pod in ("master", "worker", "target") for word in ("--set-json", f"{pod}.resources={LIMITS}")
        ]
        watched = f"watchNamespaces={{{','.join(namespaces[1:])}}}"
        release.install("--set", "namespaced=true", "--set", watched, "--set", "runAsUser=null", *resources)
        yield found
        release.uninstall()
    finally:
        for cluster, objects in made:
            of_it = of_namespace(objects, cluster.namespace)
            cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=of_it)
        delete_namespaces(*namespaces)


def of_namespace(objects: str, namespace: str) -> str:
    return objects.replace("NAMESPACE", namespace).replace("IMAGE", image("target"))


def test_helm_test_passes_where_the_cluster_chooses_the_uid_and_a_mesh_injects_containers(
    release: Release, platforms: dict[str, LiveCluster]
) -> None:
    cluster, words, name = platforms[FIRST], "", ""

    def test() -> dict[str, Any]:
        nonlocal words, name
        words = release.test()
        (made,) = cluster.labelled("sshloadtests")
        name = made["metadata"]["name"]
        return cluster.finished(name)

    status = rerun_while_lagging(test, lambda status: status)
    assert words == ""
    assert (status["verdict"], status["reason"]) == ("Passed", "ThresholdsMet"), status["message"]
    assert status["results"]["iterations"] == 100
    cluster.gone(lambda: cluster.children(name), "children")
    cluster.tells(name, status["reason"])  # the last request about it: the operator may lose its rights now


@pytest.mark.full  # a run in the first namespace meets two of them at once, and integration tests meet quotas
@pytest.mark.parametrize(
    "platform",
    [
        pytest.param("openshift", id="a cluster that chooses the uid"),
        pytest.param("mesh", id="a mesh that injects an init container and a sidecar"),
        pytest.param("quota", id="a quota for requests and limits"),
    ],
)
def test_a_managed_test_passes_on(platforms: dict[str, LiveCluster], platform: str) -> None:
    cluster, name = platforms[platform], f"on-{platform}"
    status = cluster.run(load_test(name, load={"arrivals": {"stages": [{"rate": 10, "duration": "5s"}]}}))
    assert (status["phase"], status["verdict"]) == ("Finished", "Passed"), status["message"]
    assert status["results"]["iterations"] == ITERATIONS
    cluster.gone(lambda: cluster.children(name), "children")
    cluster.tells(name, status["reason"])  # the last request about it: the operator may lose its rights now
