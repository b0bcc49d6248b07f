"""`make demo` on a cluster of one's own: what it refuses to touch."""

import os
import subprocess
from pathlib import Path

import helm
import pytest
import yaml
from api_server import ApiServer
from live_cluster import LiveCluster

pytestmark = pytest.mark.xdist_group("own_api_server")

SYSTEM = "sshload-system"


def demo(api_server: ApiServer) -> subprocess.CompletedProcess[str]:
    """Run the demo on the context of an API server, without a registry that the images could go to."""
    context = yaml.safe_load(api_server.kubeconfig.read_text())["current-context"]
    path = f"{Path(api_server.kubectl_path).parent}:{os.environ['PATH']}"
    own = {"KUBECONFIG": str(api_server.kubeconfig), "DEMO_CONTEXT": context, "PATH": path}
    own |= {"IMAGE_REGISTRY": "", "MAKE": "true"}
    return subprocess.run(
        [helm.ROOT / "scripts/demo"], check=False, env={**os.environ, **own}, capture_output=True, text=True
    )


def test_a_release_that_it_did_not_install_keeps_its_values(api_server: ApiServer) -> None:
    system = LiveCluster(api_server.kubectl_path, api_server.kubeconfig, SYSTEM)
    where = (f"--kubeconfig={api_server.kubeconfig}", f"--namespace={SYSTEM}")
    own = ("--values", helm.NEEDED_VALUES, "--take-ownership", "--force-conflicts", "--set", "crds.install=false")
    installed = helm.helm("upgrade", "--install", "sshload", helm.CHART, "--create-namespace", *own, *where)
    assert installed.returncode == 0, installed.stderr
    refused = demo(api_server)
    assert (refused.returncode, "whose values the demo would replace" in refused.stderr) == (1, True), refused.stderr
    assert helm.helm("history", "sshload", *where).stdout.count("\n") == 2  # a header and the installation

    system.kubectl("label", "namespace", SYSTEM, "sshload.dev/demo=made")
    accepted = demo(api_server)
    assert "set IMAGE_REGISTRY to a registry" in accepted.stderr
    helm.helm("uninstall", "sshload", *where)
    system.kubectl("label", "namespace", SYSTEM, "sshload.dev/demo-")  # which other tests use too
