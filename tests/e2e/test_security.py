"""What the pods of a run may do, looked at while it runs in a namespace that enforces Pod Security "restricted"."""

from collections.abc import Iterator
from typing import Any

import pytest
from live_cluster import LiveCluster, load_test

pytestmark = pytest.mark.xdist_group("pods under inspection")

PROCESSES = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null; true"  # some end while they are looked at


@pytest.fixture(scope="module")
def pods(module_cluster: LiveCluster) -> Iterator[list[dict[str, Any]]]:
    """The pods of a run under load, which ends with the last test."""
    load = {"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}
    module_cluster.apply(load_test("inspected", load=load))
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


def test_credentials_are_in_no_argv_environment_log_status_or_event(
    pods: list[dict[str, Any]], module_cluster: LiveCluster
) -> None:
    (secret,) = module_cluster.labelled("secrets", "sshload.dev/test=inspected")
    private = [value for key, value in secret["data"].items() if not key.endswith(".pub") and key != "known_hosts"]
    assert private
    seen = module_cluster.kubectl("get", "slt,pods,configmaps,events,jobs,deployments", "-o", "yaml")
    for pod in pods:
        name = pod["metadata"]["name"]
        seen += module_cluster.kubectl("logs", name)
        seen += module_cluster.kubectl("exec", name, "--", "sh", "-c", PROCESSES)
    assert all(f"sshload.dev/role: {role}" in seen for role in ("target", "master", "worker"))
    assert "sshload_worker\0--role\0worker" in seen
    for value in private:
        assert value not in seen
    assert "PRIVATE KEY" not in seen


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


def test_the_operator_may_not_read_secrets(module_cluster: LiveCluster) -> None:
    account = "--as=system:serviceaccount:sshload-system:sshload"
    for verb in ("get", "list", "watch"):
        assert module_cluster.kubectl("auth", "can-i", verb, "secrets", account, check=False).strip().endswith("no")
    assert module_cluster.kubectl("auth", "can-i", "create", "secrets", account).strip() == "yes"
