"""The cluster, the installed operator, and a namespace that enforces Pod Security "restricted"."""

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from live_cluster import LiveCluster
from prompt_workers import prompt_workers

ROOT = Path(__file__).parents[2]
SYSTEM = "sshload-system"
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


def required(variable: str) -> str:
    """Return what the Makefile hands over; `make test-e2e` brings up the cluster and loads the images."""
    value = os.environ.get(variable)
    assert value, f"{variable} is not set: run these tests by `make test-e2e`"
    return value


@dataclass(frozen=True, slots=True)
class Operator:
    """The installed chart, and the operator's one pod."""

    cluster: LiveCluster
    helm: str
    registry: str
    tag: str

    def install(self, *arguments: str) -> None:
        """Install or upgrade the release and wait until its operator is ready."""
        self._helm("upgrade", "--install", "sshload", str(ROOT / "charts/sshload"), "--create-namespace",
                   "--values", str(ROOT / "charts/sshload/values-small.yaml"),
                   "--set", f"image.registry={self.registry}", "--set", f"image.tag={self.tag}",
                   "--reset-values", "--wait", "--timeout=180s",
                   "--take-ownership", "--force-conflicts", *arguments)  # fmt: skip

    def uninstall(self) -> None:
        """Uninstall the release."""
        self._helm("uninstall", "sshload", "--wait", "--timeout=180s")

    def kill(self) -> None:
        """Kill the operator's pod without a grace period; its Deployment makes a new one."""
        self.cluster.kubectl(
            "delete", "pod", "-l", "app.kubernetes.io/component=operator", "--grace-period=0", "--force"
        )

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Have no operator for a while."""
        (name,) = self.cluster.kubectl("get", "deployment", "-o", "name").split()
        self.cluster.kubectl("scale", name, "--replicas=0")
        self.cluster.kubectl(
            "wait", "pod", "-l", "app.kubernetes.io/component=operator", "--for=delete", "--timeout=110s"
        )
        try:
            yield
        finally:
            self.cluster.kubectl("scale", name, "--replicas=1")
            self.cluster.kubectl("rollout", "status", name, "--timeout=110s")

    def _helm(self, *arguments: str) -> None:
        command = [self.helm, f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={SYSTEM}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def system_cluster() -> LiveCluster:
    """The cluster, in the operator's own namespace."""
    return LiveCluster(required("SSHLOAD_KUBECTL"), Path(required("KUBECONFIG")), SYSTEM)


@pytest.fixture(scope="session")
def target_image() -> str:
    """The target's image, as the cluster knows it."""
    return f"{required('SSHLOAD_IMAGE_REGISTRY')}/sshload-target:{required('SSHLOAD_IMAGE_TAG')}"


@pytest.fixture(scope="session")
def operator(system_cluster: LiveCluster) -> Iterator[Operator]:
    """The chart, installed with its defaults for the whole session."""
    release = Operator(
        system_cluster, required("SSHLOAD_HELM"), required("SSHLOAD_IMAGE_REGISTRY"), required("SSHLOAD_IMAGE_TAG")
    )
    with prompt_workers():
        release.install()
        yield release
        release.uninstall()


@pytest.fixture(scope="module")
def module_cluster(system_cluster: LiveCluster, operator: Operator) -> Iterator[LiveCluster]:
    """A restricted namespace that lives for one module, with the operator at work."""
    namespace = f"e2e-{uuid.uuid4().hex[:8]}"
    assert operator.tag
    system_cluster.kubectl("create", "namespace", namespace)
    system_cluster.kubectl("label", "namespace", namespace, RESTRICTED)
    yield LiveCluster(system_cluster.kubectl_path, system_cluster.kubeconfig, namespace)
    system_cluster.kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def cluster(module_cluster: LiveCluster) -> LiveCluster:
    """The module's namespace, for tests that name their objects themselves."""
    return module_cluster
