"""The gateway in its pod: installed by the chart as docs/how-to/gateway.md says, and called through its Service."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from chart_release import Release
from cluster_server import OWN_SERVER, forwarded_port, key_pair, secret, server
from gateway_process import AUDIENCE, ISSUER, Caller, TokenIssuer
from helm import RELEASE

pytestmark = pytest.mark.xdist_group("an installation with a gateway")

PORT = 2222


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of the server and of its user, and the values of the chart."""
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def caller(release_to_install: Release, target_image: str, folder: Path) -> Iterator[Caller]:
    """Somebody who calls the gateway of a release, which may connect to a server of its namespace."""
    cluster, issuer = release_to_install.cluster, TokenIssuer()
    host_key, _ = key_pair(folder, "host")
    _, login_key_public = key_pair(folder, "login")
    cluster.apply(
        secret("server-keys", host=host_key, authorized_keys=login_key_public),
        secret("gateway-sealing-keys", first=base64.b64encode(os.urandom(32)).decode()),
        secret("gateway-jwks", **{"jwks.json": issuer.jwks()}),
        *server(target_image),
    )
    address = cluster.get("service", OWN_SERVER)["spec"]["clusterIP"]
    gateway = {
        "enabled": True,
        "sealingKeys": {"secret": "gateway-sealing-keys", "active": "first"},
        "jwksSecret": "gateway-jwks",
        "persistence": {"enabled": False},
        "config": {
            "tokens": {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ["ES256"]},
            "destinations": {"allowed": [{"host": host, "ports": [PORT]} for host in (OWN_SERVER, address)]},
        },
    }
    values = folder / "values.yaml"
    values.write_text(yaml.safe_dump({"namespaced": True, "watchNamespaces": [cluster.namespace], "gateway": gateway}))
    release_to_install.install("--values", str(values))
    cluster.kubectl("wait", "pod", OWN_SERVER, "--for=condition=Ready", "--timeout=280s")
    with forwarded_port(cluster, f"{RELEASE}-gateway", 80) as port:
        yield Caller(f"http://127.0.0.1:{port}", issuer.token())


def test_a_stored_login_runs_a_command_on_a_server_of_the_cluster(caller: Caller, folder: Path) -> None:
    login = {
        "name": "own",
        "host": OWN_SERVER,
        "port": PORT,
        "user": "load",
        "privateKey": (folder / "login").read_text(),
        "hostKeys": [(folder / "host.pub").read_text()],
    }
    stored = caller.ask("POST", "/credentials", json=login)
    assert stored.status_code == 201, stored.text
    answer = caller.run("own", "id -un; hostname")
    assert (answer.status_code, answer.json().get("stdout")) == (200, f"load\n{OWN_SERVER}\n"), answer.text


def test_its_pod_has_no_rights_in_the_cluster_and_no_root(caller: Caller, release_to_install: Release) -> None:
    assert caller.url
    (pod,) = release_to_install.cluster.labelled("pods", "app.kubernetes.io/component=gateway")
    mounts = {mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
    assert "/var/run/secrets/kubernetes.io/serviceaccount" not in mounts
    assert pod["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
