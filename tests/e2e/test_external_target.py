"""An external target: one's own server, allowed by the installer, with one's own key and known hosts."""

from typing import Any

import pytest
from cluster_server import OWN_SERVER, key_pair, secret, server
from live_cluster import LiveCluster, load_test, lone_worker_test
from statuses import steps_of

pytestmark = pytest.mark.xdist_group("an external target")

PASSPHRASE = "known to nobody but this test"


def external(**change: Any) -> dict[str, Any]:
    return {
        "external": {
            "host": OWN_SERVER,
            "port": 2222,
            "user": "load",
            "credentialsSecretRef": {"name": "credentials"},
            "knownHostsSecretRef": {"name": "known-hosts"},
            **change,
        }
    }


@pytest.fixture(scope="module")
def own_server(module_cluster: LiveCluster, target_image: str, tmp_path_factory: pytest.TempPathFactory) -> LiveCluster:
    """Run sshd of the target image behind a Service of its own: a server that sshload did not make."""
    folder = tmp_path_factory.mktemp("keys")
    host_key, host_key_public = key_pair(folder, "host")
    login_key, login_key_public = key_pair(folder, "login")
    wrong_key, _ = key_pair(folder, "wrong")
    encrypted_key, encrypted_key_public = key_pair(folder, "encrypted", PASSPHRASE)
    module_cluster.apply(
        secret("server-keys", host=host_key, authorized_keys=login_key_public + encrypted_key_public),
        secret("credentials", id=login_key),
        secret("encrypted-credentials", id=encrypted_key, passphrase=PASSPHRASE),
        secret("wrong-credentials", id=wrong_key),
        secret("known-hosts", known_hosts=f"[{OWN_SERVER}]:2222 {host_key_public}"),
        secret("wrong-known-hosts", known_hosts=f"[{OWN_SERVER}]:2222 {login_key_public}"),
        *server(target_image),
    )
    module_cluster.kubectl("wait", "pod", OWN_SERVER, "--for=condition=Ready", "--timeout=280s")
    return module_cluster


def accepted_since(own_server: LiveCluster, time: str) -> int:
    """Return how many logins the server's log has since then."""
    return own_server.kubectl("logs", OWN_SERVER, f"--since-time={time}").count("Accepted publickey for load")


@pytest.fixture(name="status", scope="module")
def _status(own_server: LiveCluster) -> dict[str, Any]:
    """How a test of the server ended whose key is encrypted, and whose way is through the server itself."""
    target = external(credentialsSecretRef={"name": "encrypted-credentials"}, encryptedKey=True)
    return own_server.run(load_test("own", target=target, via=[external()["external"]]))


def test_ones_own_server_is_measured_without_a_managed_target(status: dict[str, Any], own_server: LiveCluster) -> None:
    assert (status["verdict"], status["reason"]) == ("Passed", "NoThresholds"), status["message"]
    assert status["results"]["iterations"] == 30
    logins_before_load = status["results"]["generator"]["workersConnected"]
    assert logins_before_load == 2
    assert accepted_since(own_server, status["startTime"]) == 2 * (30 + logins_before_load)


@pytest.mark.usefixtures("status")
def test_the_passphrase_of_an_encrypted_key_is_shown_by_nothing(own_server: LiveCluster) -> None:
    assert PASSPHRASE not in own_server.kubectl("get", "slt,configmaps,events", "-o", "yaml")


def test_the_way_through_a_jump_host_is_timed_by_itself(status: dict[str, Any]) -> None:
    counts = {name: step.count for name, step in steps_of(status).items()}
    assert counts["via1.login"] == counts["login"] == counts["total"] == 30


def test_a_jump_host_that_the_installer_did_not_allow_is_refused(own_server: LiveCluster) -> None:
    status = own_server.run(lone_worker_test("other-jump", target=external(), via=[external(port=22)["external"]]))
    assert (status["verdict"], status["reason"]) == ("Error", "TargetNotAllowed"), status["message"]
    assert "own-server" in status["message"]


@pytest.mark.full  # test_security.py refuses a key as well
def test_wrong_credentials_are_an_error_that_says_so(own_server: LiveCluster) -> None:
    target = external(credentialsSecretRef={"name": "wrong-credentials"})
    status = own_server.run(lone_worker_test("wrong-key", target=target))
    assert (status["verdict"], status["reason"]) == ("Error", "CredentialsRejected"), status["message"]
    assert status["results"]["iterations"] == 0


@pytest.mark.full  # tests/integration/local_run/test_login_before_load.py has the same without a cluster
def test_a_server_that_does_not_answer_is_named_and_not_the_workers(own_server: LiveCluster) -> None:
    nobody = {"name": "bastion"}
    spec = {"selector": {"app": "nobody"}, "ports": [{"port": 2222}]}
    own_server.apply({"apiVersion": "v1", "kind": "Service", "metadata": nobody, "spec": spec})
    target = external(host="bastion", insecureIgnoreHostKey=True)
    del target["external"]["knownHostsSecretRef"]
    status = own_server.run(lone_worker_test("silent", target=target, client={"timeouts": {"connect": "3s"}}))
    assert (status["verdict"], status["reason"]) == ("Error", "TargetUnreachable"), status["message"]
    assert "the target (bastion port 2222)" in status["message"]
    assert status["results"]["iterations"] == 0


@pytest.mark.full  # tests/integration/local_run/test_login_before_load.py has the same without a cluster
def test_a_host_key_that_known_hosts_does_not_hold_is_an_error(own_server: LiveCluster) -> None:
    status = own_server.run(
        lone_worker_test("other-host", target=external(knownHostsSecretRef={"name": "wrong-known-hosts"}))
    )
    assert (status["verdict"], status["reason"]) == ("Error", "HostKeyMismatch"), status["message"]


def test_a_missing_secret_is_named(own_server: LiveCluster) -> None:
    status = own_server.run(
        lone_worker_test("no-secret", target=external(credentialsSecretRef={"name": "no-such-secret"}))
    )
    assert (status["verdict"], status["reason"]) == ("Error", "PodConfigError"), status["message"]
    assert "no-such-secret" in status["message"]


def test_a_port_that_the_installer_did_not_allow_is_refused(own_server: LiveCluster) -> None:
    status = own_server.run(lone_worker_test("other-port", target=external(port=22)))
    assert (status["verdict"], status["reason"]) == ("Error", "TargetNotAllowed"), status["message"]
    assert "own-server" in status["message"]
