"""Who may read what the operator guards: service accounts of a real API server; the certificate that they check."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from live_cluster import LiveCluster
from sshload_operator.control.metrics.self_signed import key_and_certificate

_RBAC = "rbac.authorization.k8s.io"


def token_of(cluster: LiveCluster, name: str) -> str:
    """Make a service account and return a token of it."""
    cluster.kubectl("create", "serviceaccount", name)
    return cluster.kubectl("create", "token", name).strip()


@contextmanager
def token_of_reader(cluster: LiveCluster, name: str, *paths: str) -> Iterator[str]:
    """Make a service account that RBAC lets get these paths, or /metrics, until the block ends; return its token."""
    token = token_of(cluster, name)
    role_name = f"{cluster.namespace}-metrics-{name}"
    rbac = {"apiVersion": f"{_RBAC}/v1", "metadata": {"name": role_name}}
    role = {
        **rbac,
        "kind": "ClusterRole",
        "rules": [{"nonResourceURLs": list(paths) or ["/metrics"], "verbs": ["get"]}],
    }
    binding = {
        **rbac,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role_name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": cluster.namespace}],
    }
    cluster.apply(role, binding)
    try:
        yield token
    finally:
        cluster.kubectl("delete", "-f", "-", stdin=yaml.safe_dump_all([role, binding]))


def certificate_folder(folder: Path) -> Path:
    """Make a folder with tls.key and tls.crt as of a Secret; its certificate is for this host and its own CA."""
    made = key_and_certificate()
    begin = made.index(b"-----BEGIN CERTIFICATE")
    folder.mkdir()
    (folder / "tls.key").write_bytes(made[:begin])
    (folder / "tls.crt").write_bytes(made[begin:])
    return folder
