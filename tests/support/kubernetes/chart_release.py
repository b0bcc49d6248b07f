"""A release of the chart on the cluster of the end-to-end tests, and the one that all lanes of them share.

As a program it installs the shared release, prints `NAME=VALUE` lines for the environment of the tests once it is
ready, and uninstalls it when its standard input ends.
"""

import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml
from helm import CHART, NAMESPACE, RELEASE, ROOT, helm
from live_cluster import LiveCluster
from prompt_workers import prompt_workers

SHARED = "SSHLOAD_E2E_PREFIX"
"""The environment variable that says that the shared release is installed: what its namespaces' names begin with."""

OWN_SERVERS = ("own-server:2222", "bastion:2222")
"""The external targets that the shared release allows."""

_OPERATOR = "app.kubernetes.io/component=operator"
_ENFORCE = "pod-security.kubernetes.io/enforce"
_WITHIN = "--timeout=280s"


def required(variable: str) -> str:
    """Return a variable that `scripts/bring-up` prints; raises AssertionError where it is not set."""
    value = os.environ.get(variable)
    assert value, f"{variable} is not set: run these tests by `make test LAYERS=e2e`"
    return value


def image(component: str) -> str:
    """Return the image of a component, as the cluster knows it."""
    return f"{required('SSHLOAD_IMAGE_REGISTRY')}/sshload-{component}:{required('SSHLOAD_IMAGE_TAG')}"


def cluster_in(namespace: str) -> LiveCluster:
    """Return kubectl for the cluster, bound to a namespace."""
    return LiveCluster(required("SSHLOAD_KUBECTL"), Path(required("KUBECONFIG")), namespace)


def create_namespaces(*names: str) -> None:
    """Create namespaces that enforce Pod Security "restricted"."""
    labels = {_ENFORCE: "restricted"}
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}} for name in names]
    cluster_in("default").kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(made))


def restrict(namespace: str) -> None:
    """Let a namespace, which is made where it is not there, enforce Pod Security "restricted"."""
    metadata = {"name": namespace, "labels": {_ENFORCE: "restricted"}}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    cluster_in("default").kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump(made))


def allow_baseline(namespace: str) -> None:
    """Let a namespace enforce Pod Security "baseline" only, as targets with a system of their own take it."""
    metadata = {"name": namespace, "labels": {_ENFORCE: "baseline"}}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    cluster_in("default").kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump(made))


def delete_namespaces(*names: str) -> None:
    """Begin to delete namespaces."""
    cluster_in("default").kubectl("delete", "namespace", *names, "--wait=false")


@dataclass(frozen=True, slots=True)
class Release:
    """The chart in one namespace, with the values for small clusters, and the pod of its operator."""

    cluster: LiveCluster

    @classmethod
    def in_namespace(cls, namespace: str) -> Self:
        """Return the release in a namespace, installed or not."""
        return cls(cluster_in(namespace))

    def install(self, *arguments: str) -> None:
        """Install or upgrade it and wait until its operator is ready."""
        self._helm("upgrade", "--install", RELEASE, str(CHART), "--create-namespace",
                   "--values", str(CHART / "values-small.yaml"),
                   "--set", f"image.registry={required('SSHLOAD_IMAGE_REGISTRY')}",
                   "--set", f"image.tag={required('SSHLOAD_IMAGE_TAG')}",
                   "--set", "permitted.nodeSelector=true", "--set", "permitted.affinity=true",
                   "--reset-values", "--wait",
                   "--take-ownership", "--force-conflicts", *arguments)  # fmt: skip

    def install_for(self, *namespaces: str, servers: tuple[str, ...] = (), values: tuple[str, ...] = ()) -> None:
        """Install or upgrade it for these namespaces only, or for all without any, with these external targets.

        `values` are further values of the chart, each as `name=value`.
        """
        settings = [word for value in values for word in ("--set", value)]
        if namespaces:
            settings += ["--set", "namespaced=true", "--set", f"watchNamespaces={{{','.join(namespaces)}}}"]
        for index, (host, _, port) in enumerate(server.partition(":") for server in servers):
            settings += ["--set", f"externalTargets[{index}].host={host}"]
            settings += ["--set", f"externalTargets[{index}].ports={{{port}}}"]
        self.install(*settings)

    def test(self) -> str:
        """Run the chart's own test, and return helm's words where it fails, else nothing."""
        done = self._run_helm("test", RELEASE, "--logs")
        return f"{done.stdout}{done.stderr}" if done.returncode else ""

    def rollback(self) -> None:
        """Bring the revision before back, and wait until its operator is ready."""
        self._helm("rollback", RELEASE, "--wait")

    def uninstall(self) -> None:
        """Uninstall it."""
        self._helm("uninstall", RELEASE, "--wait")

    def kill(self) -> None:
        """Kill the operator's pod without a grace period; its Deployment makes a new one."""
        self.cluster.kubectl("delete", "pod", "-l", _OPERATOR, "--grace-period=0", "--force")

    def stop(self) -> str:
        """End the operator's pod, which gives its Lease away, until the next installation; return its Deployment."""
        (name,) = self.cluster.kubectl("get", "deployment", "-l", _OPERATOR, "-o", "name").split()
        self.cluster.kubectl("scale", name, "--replicas=0")
        self.cluster.kubectl("wait", "pod", "-l", _OPERATOR, "--for=delete", "--timeout=280s")
        return name

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Have no operator for a while."""
        name = self.stop()
        try:
            yield
        finally:
            self.cluster.kubectl("scale", name, "--replicas=1")
            self.cluster.kubectl("rollout", "status", name, "--timeout=280s")

    def _helm(self, *arguments: str) -> None:
        done = self._run_helm(*arguments)
        assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stdout}{done.stderr}"

    def _run_helm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        where = (f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={self.cluster.namespace}")
        return helm(*arguments, *where, _WITHIN)


def module_namespace(prefix: str, module: Path) -> str:
    """Return the namespace of one file of tests."""
    return f"{prefix}-{module.stem.removeprefix('test_').replace('_', '-')}"


@contextlib.contextmanager
def shared_release() -> Iterator[str]:
    """Install the shared release, for a namespace of each file in tests/e2e, and yield the prefix of their names.

    It watches these namespaces only, so that a test may have an operator of its own in another one.
    """
    prefix = f"e2e-{secrets.token_hex(3)}"
    namespaces = [module_namespace(prefix, module) for module in sorted((ROOT / "tests/e2e").glob("test_*.py"))]
    release = Release.in_namespace(NAMESPACE)
    with prompt_workers():
        create_namespaces(*namespaces)
        restrict(NAMESPACE)
        release.install_for(*namespaces, servers=OWN_SERVERS, values=("ui.enabled=true",))
        try:
            yield prefix
        finally:
            release.uninstall()
            delete_namespaces(*namespaces)


if __name__ == "__main__":
    with shared_release() as found:
        sys.stdout.write(f"{SHARED}={found}\n")
        sys.stdout.flush()
        sys.stdin.read()
