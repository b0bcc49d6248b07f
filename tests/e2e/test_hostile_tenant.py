"""What a tenant with an ordinary Role does in his own namespace harms neither the operator nor what it did not make."""

import json
from typing import Any

from chart_release import NAMESPACE, cluster_in
from generator_reruns import GENERATOR_LAGGED
from live_cluster import LiveCluster, load_test, lone_worker_test

LONG_LOAD = {"arrivals": {"stages": [{"rate": 5, "duration": "300s"}]}}
# 64 MB of empty objects as a summary: 87 kB of log in 9 lines.
BOMB = """
import base64, hashlib, json, zlib
data = base64.b64encode(zlib.compress(b"[" + b"{}," * 21000000 + b"{}]", 9)).decode()
chunks = [data[start : start + 12000] for start in range(0, len(data), 12000)]
with open("/proc/1/fd/1", "w") as log:
    for number, chunk in enumerate(chunks):
        print(json.dumps({"sshload": "part", "number": number, "data": chunk}, separators=(",", ":")), file=log)
    end = {"sshload": "end", "parts": len(chunks), "sha256": hashlib.sha256(data.encode()).hexdigest(), "proof": ""}
    print(json.dumps(end, separators=(",", ":")), file=log)
"""


def pod_of(cluster: LiveCluster, test: str, role: str) -> dict[str, Any]:
    """Return the one pod of a role."""
    (found,) = cluster.labelled("pods", f"sshload.dev/test={test},sshload.dev/role={role}")
    return found


def restarts() -> int:
    """Return how often the operator that all these tests share was restarted. Other tests end their own meanwhile."""
    listed = cluster_in(NAMESPACE).kubectl("get", "pods", "-l", "app.kubernetes.io/component=operator", "-o", "json")
    pods = json.loads(listed)["items"]
    assert pods
    return sum(found["restartCount"] for pod in pods for found in pod["status"].get("containerStatuses", ()))


def passes(status: dict[str, Any]) -> bool:
    """Tell whether a small test ended as it does beside tests that harm nobody."""
    ended = status["verdict"], status["reason"]
    is_as_ever = ended == ("Passed", "NoThresholds") or status["reason"] in GENERATOR_LAGGED
    return is_as_ever and status["results"]["iterations"] == 30


def test_a_log_made_to_fill_the_operators_memory_ends_its_own_test_only(cluster: LiveCluster) -> None:
    before = restarts()
    cluster.apply(lone_worker_test("bomb", load=LONG_LOAD))
    cluster.running("bomb")
    master = pod_of(cluster, "bomb", "master")["metadata"]["name"]

    def goes_on() -> bool:
        """Print it again: the master's own lines push it out of those that the operator reads, which may be late."""
        if cluster.status("bomb")["phase"] == "Finished":
            return False
        cluster.kubectl("exec", master, "--", "python", "-c", BOMB, check=False)  # its pod may be gone by now
        return True

    cluster.apply(lone_worker_test("neighbour"))
    cluster.gone(goes_on, "the run whose log is a bomb")
    status = cluster.status("bomb")
    assert (status["verdict"], status["reason"]) == ("Error", "ResultsUnreadable")
    assert passes(cluster.finished("neighbour"))
    assert restarts() == before


def test_pods_with_the_labels_of_a_run_are_neither_believed_nor_followed(cluster: LiveCluster) -> None:
    """One prints nothing and claims to be the master, one to be left from a run "signing", one has no test's name.

    The test is edited meanwhile: its run ends, and a new one begins.
    """
    cluster.kubectl("create", "secret", "generic", "prod-signing-keys", "--from-literal=key=value")
    cluster.kubectl("create", "configmap", "prod-signing-config")
    cluster.apply(load_test("prod", load=LONG_LOAD))
    first = cluster.running("prod")
    real = pod_of(cluster, "prod", "master")["spec"]
    (container,) = real["containers"]
    spec = {
        "automountServiceAccountToken": False,
        "securityContext": real["securityContext"],
        "containers": [
            {
                "name": "main",
                "image": container["image"],
                "imagePullPolicy": container["imagePullPolicy"],
                "command": ["sleep", "300"],
                "securityContext": container["securityContext"],
            }
        ],
    }
    run_id = pod_of(cluster, "prod", "master")["metadata"]["labels"]["sshload.dev/run-id"]
    for name, test, claimed in (("a-master", "prod", run_id), ("left", "prod", "signing"), ("nobodys", "", "signing")):
        labels = {"sshload.dev/test": test, "sshload.dev/run-id": claimed, "sshload.dev/role": "master"}
        metadata = {"name": name, "labels": labels}
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    cluster.kubectl("wait", "--for=condition=Ready", "pod/a-master", "pod/left", "pod/nobodys", "--timeout=280s")
    cluster.kubectl("delete", "pod", "a-master", "--grace-period=0", "--force")
    cluster.apply(load_test("prod"))
    cluster.wait("prod", lambda status: status["run"] > first["run"], "new run")
    assert passes(cluster.finished("prod"))
    cluster.gone(lambda: [name for name in cluster.children("prod") if not name.startswith("Pod/")], "children")
    assert cluster.exists("secret", "prod-signing-keys")
    assert cluster.exists("configmap", "prod-signing-config")
