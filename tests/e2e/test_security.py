"""What the pods of a run may do, looked at while it runs in a namespace that enforces Pod Security "restricted"."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from canary import Canary, new_key, new_text
from chart_release import NAMESPACE, cluster_in
from cluster_server import OWN_SERVER, key_pair, secret, server
from live_cluster import LiveCluster, load_test, lone_worker_test

pytestmark = pytest.mark.xdist_group("pods under inspection")

LONG = {"arrivals": {"stages": [{"rate": 2, "duration": "20m"}]}}
OPEN_FILES = "find /tmp /home /run /var/tmp /dev/shm -type f -perm -004 -exec cat {} + 2> /dev/null; true"
METRICS = "import sys, urllib.request as u; print(u.urlopen(f'http://127.0.0.1:{sys.argv[1]}/metrics').read().decode())"
METRICS_PORTS = {"target": "9200", "master": "9201"}
OPERATOR = "app.kubernetes.io/component=operator"
PROCESSES = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null; true"  # some end while they are looked at


@pytest.fixture(scope="module")
def pods(module_cluster: LiveCluster) -> Iterator[list[dict[str, Any]]]:
    """The pods of a run under load, until all have looked at them."""
    module_cluster.apply(load_test("inspected", load=LONG))
    module_cluster.running("inspected")
    found = module_cluster.labelled("pods", "sshload.dev/test=inspected")
    assert len(found) == 4
    yield found
    module_cluster.kubectl("delete", "slt", "inspected", "--wait=false")


def test_no_load_pod_has_a_token_for_the_api_server(pods: list[dict[str, Any]], module_cluster: LiveCluster) -> None:
    for pod in pods:
        assert pod["spec"]["automountServiceAccountToken"] is False
        name = pod["metadata"]["name"]
        listed = module_cluster.kubectl("exec", name, "--", "ls", "/var/run/secrets", check=False)
        assert "No such file" in listed


def test_every_load_pod_runs_as_an_unprivileged_user_on_a_read_only_root(
    pods: list[dict[str, Any]], module_cluster: LiveCluster
) -> None:
    for pod in pods:
        name = pod["metadata"]["name"]
        assert module_cluster.kubectl("exec", name, "--", "id", "-u").strip() == "10001"
        assert "Read-only" in module_cluster.kubectl("exec", name, "--", "touch", "/usr/x", check=False)


def said_in_objects(cluster: LiveCluster) -> Iterator[tuple[str, str]]:
    """Yield what anybody may read of a namespace's objects, and what the operator says."""
    kinds = "slt,pods,configmaps,events,jobs,deployments,services,networkpolicies"
    yield "the objects", cluster.kubectl("get", kinds, "-o", "yaml")
    system = cluster_in(NAMESPACE)
    yield "the operator's log", system.kubectl("logs", "-l", OPERATOR, "--tail=-1")
    for name in system.kubectl("get", "pods", "-l", OPERATOR, "-o", "name").split():
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name.removeprefix('pod/')}:9100/proxy/metrics"
        yield "the operator's metrics", system.kubectl("get", "--raw", path)


def said_in_pods(cluster: LiveCluster, test: str) -> Iterator[tuple[str, str]]:
    """Yield what the pods of a run say, and what their processes and open files hold."""
    for pod in cluster.labelled("pods", f"sshload.dev/test={test}"):
        name, role = pod["metadata"]["name"], pod["metadata"]["labels"]["sshload.dev/role"]
        yield f"the {role}'s log", cluster.kubectl("logs", name)
        yield f"a process of the {role}", cluster.kubectl("exec", name, "--", "sh", "-c", PROCESSES)
        yield f"an open file of the {role}", cluster.kubectl("exec", name, "--", "sh", "-c", OPEN_FILES)
        if role in METRICS_PORTS:
            asked = ("python", "-c", METRICS, METRICS_PORTS[role])
            yield f"the {role}'s metrics", cluster.kubectl("exec", name, "--", *asked)


def test_the_credentials_of_a_run_are_in_no_argv_environment_log_status_event_or_metric(
    pods: list[dict[str, Any]], module_cluster: LiveCluster
) -> None:
    assert pods
    (made,) = module_cluster.labelled("secrets", "sshload.dev/test=inspected")
    private = {key: b64decode(value) for key, value in made["data"].items() if not key.endswith(".pub")}
    private.pop("known_hosts", None)
    canary = Canary({key: value.strip() for key, value in private.items()})
    assert canary.planted
    said = [*said_in_objects(module_cluster), *said_in_pods(module_cluster, "inspected")]
    everything = "".join(content for _, content in said)
    assert all(f"sshload.dev/role: {role}" in everything for role in ("target", "master", "worker"))
    assert "sshload_worker\0--role\0worker" in everything
    assert [sentence for place, content in said for sentence in canary.found_in(place, content)] == []
    assert "PRIVATE KEY" not in everything


def test_each_pod_is_given_only_the_files_that_it_needs(
    pods: list[dict[str, Any]], module_cluster: LiveCluster
) -> None:
    def mounted(role: str) -> set[str]:
        pod = next(pod for pod in pods if pod["metadata"]["labels"]["sshload.dev/role"] == role)
        listed = module_cluster.kubectl("exec", pod["metadata"]["name"], "--", "find", "/etc/sshload", "-type", "l")
        return {line.rsplit("/", 1)[-1] for line in listed.splitlines()} - {"..data"}

    assert "id_ed25519" not in mounted("target")
    assert "id_ed25519" not in mounted("master")
    assert not {name for name in mounted("worker") if name.startswith("ssh_host_")}


@pytest.fixture(scope="module")
def refusing_server(module_cluster: LiveCluster, target_image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run a server that takes no login; return the line of known_hosts for it."""
    host_key, host_key_public = key_pair(tmp_path_factory.mktemp("keys"), "host")
    module_cluster.apply(secret("server-keys", host=host_key, authorized_keys=""), *server(target_image))
    module_cluster.kubectl("wait", "pod", OWN_SERVER, "--for=condition=Ready", "--timeout=280s")
    return f"[{OWN_SERVER}]:2222 {host_key_public}"


@pytest.mark.parametrize("auth", ["publickey", pytest.param("password", marks=pytest.mark.full)])
def test_ones_own_credentials_are_nowhere_to_be_read_when_a_server_refuses_them(
    module_cluster: LiveCluster, refusing_server: str, tmp_path: Path, auth: str
) -> None:
    word, name = new_text(), f"canary-{auth}"
    if auth == "publickey":
        key = tmp_path / "id"
        canary = Canary({**new_key(key, word), "passphrase": word.encode()})
        credentials = secret(name, id=key.read_text(), passphrase=word)
    else:
        canary = Canary({"password": word.encode()})
        credentials = secret(name, password=word)
    external = {
        "host": OWN_SERVER,
        "port": 2222,
        "user": "load",
        "credentialsSecretRef": {"name": name},
        "knownHostsSecretRef": {"name": "canary-hosts"},
        **({"encryptedKey": True} if auth == "publickey" else {}),
    }
    spec = {"target": {"external": external}, "client": {"auth": auth}}
    module_cluster.apply(credentials, secret("canary-hosts", known_hosts=refusing_server))
    status = module_cluster.run(lone_worker_test(f"short-{auth}", **spec))
    assert (status["verdict"], status["reason"]) == ("Error", "CredentialsRejected"), status["message"]
    module_cluster.apply(lone_worker_test(f"long-{auth}", **spec, load=LONG, loginBeforeLoad=False))
    module_cluster.running(f"long-{auth}")
    said = [*said_in_objects(module_cluster), *said_in_pods(module_cluster, f"long-{auth}")]
    module_cluster.kubectl("delete", "slt", f"long-{auth}", "--timeout=60s")
    assert {"the worker's log", "a process of the worker", "the master's metrics"} <= {place for place, _ in said}
    assert [sentence for place, content in said for sentence in canary.found_in(place, content)] == []
    # What is deleted while it runs ends at once.
    module_cluster.gone(lambda: module_cluster.children(f"long-{auth}"), "children")


def test_the_operator_may_not_read_secrets(module_cluster: LiveCluster) -> None:
    account = "--as=system:serviceaccount:sshload-system:sshload"
    for verb in ("get", "list", "watch"):
        assert module_cluster.kubectl("auth", "can-i", verb, "secrets", account, check=False).strip().endswith("no")
    assert module_cluster.kubectl("auth", "can-i", "create", "secrets", account).strip() == "yes"


def test_a_killed_target_makes_the_run_an_error(pods: list[dict[str, Any]], module_cluster: LiveCluster) -> None:
    """The last that becomes of the run under inspection."""
    assert pods
    module_cluster.kill("inspected", "target")
    status = module_cluster.finished("inspected")
    assert (status["verdict"], status["reason"]) == ("Error", "TargetLost"), status["message"]
    module_cluster.gone(lambda: module_cluster.children("inspected"), "children")
