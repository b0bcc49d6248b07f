"""Argo CD as processes: its application controller, its repo server, and the Redis between them."""

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from argo_cd_programs import ArgoPrograms
from argo_lua import FILE
from free_ports import free_port
from live_cluster import LiveCluster

_APPLICATION = "applications.argoproj.io"
_HERE = "https://kubernetes.default.svc"
_SHORT_PAUSES = {"duration": "1s", "maxDuration": "5s"}
_REFRESH = "argocd.argoproj.io/refresh"


@dataclass(frozen=True, slots=True)
class Argo:
    """Argo CD in the namespace of `cluster`, which has its Applications."""

    cluster: LiveCluster
    processes: Mapping[str, "subprocess.Popen[bytes]"]
    logs: Path

    def apply(self, application: Mapping[str, Any], repository: Path) -> None:
        """Apply an Application as it is, but in this namespace, of this repository, with short pauses before retries.

        Each pause is twice as long as the last one: the slower the machine, the more of them a test would wait for.
        """
        spec = application["spec"]
        policy = spec["syncPolicy"]
        retry = {**policy["retry"], "backoff": {**policy["retry"]["backoff"], **_SHORT_PAUSES}}
        source = {**spec["source"], "repoURL": f"file://{repository}"}
        own = {**spec, "source": source, "syncPolicy": {**policy, "retry": retry}}
        metadata = {**application["metadata"], "namespace": self.cluster.namespace}
        self.cluster.apply({**application, "metadata": metadata, "spec": own})

    def refresh(self, name: str) -> None:
        """Let it look for a new commit, as a webhook does."""
        self.cluster.kubectl("annotate", "--overwrite", _APPLICATION, name, f"{_REFRESH}=normal")

    def says(self, name: str, phase: str, revision: str, *, again: bool = False) -> None:
        """Wait until the sync of a revision is in a phase, `again` after it has failed."""
        expected = (phase, revision, again)

        def is_there(status: Mapping[str, Any]) -> bool:
            state = status.get("operationState", {})
            revision = state.get("syncResult", {}).get("revision")
            return (state.get("phase"), revision, state.get("retryCount", 0) > 0) == expected

        self.cluster.wait_for(_APPLICATION, name, is_there, str(expected))

    def has_deployed(self, name: str, revision: str) -> None:
        """Wait until a revision is the last that was deployed.

        What the Application says of the sync itself may be of a later one by then: Argo CD heals at once what it takes
        for changed.
        """

        def is_there(status: Mapping[str, Any]) -> bool:
            return [one["revision"] for one in status.get("history", ())][-1:] == [revision]

        self.cluster.wait_for(_APPLICATION, name, is_there, f"deployment of {revision}")

    def shows(self, name: str, health: str) -> None:
        """Wait until the Application has this health, which is the worst of its resources'."""
        self.cluster.wait_for(
            _APPLICATION, name, lambda status: status.get("health", {}).get("status") == health, health
        )

    def assert_not_ended(self) -> None:
        """Assert that no process has ended."""
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended: {(self.logs / name).read_text()[-3000:]}"


@contextmanager
def argo_cd(programs: ArgoPrograms, cluster: LiveCluster, folder: Path) -> Iterator[Argo]:
    """Run Argo CD until the block ends, with sshload's own part of argocd-cm, as docs/how-to/gitops.md says."""
    home = folder / "argo-home"
    (home / ".kube").mkdir(parents=True)
    (home / ".kube/config").write_bytes(cluster.kubeconfig.read_bytes())
    _configure(cluster)
    redis, repo_server = free_port(), free_port()
    commands: dict[str, list[str | Path]] = {
        "redis": ["redis-server", "--bind", "127.0.0.1", "--port", str(redis), "--save", "", "--dir", home],
        "repo-server": [
            programs.argo, "repo-server", f"--port={repo_server}", f"--redis=127.0.0.1:{redis}", "--disable-tls",
            "--address=127.0.0.1", "--metrics-address=127.0.0.1", f"--metrics-port={free_port()}",
        ],
        "controller": [
            programs.argo, "controller", f"--namespace={cluster.namespace}", f"--kubeconfig={cluster.kubeconfig}",
            f"--repo-server=127.0.0.1:{repo_server}", "--repo-server-plaintext", f"--redis=127.0.0.1:{redis}",
            f"--metrics-port={free_port()}",
        ],
    }  # fmt: skip
    environment = {
        **os.environ, "HOME": str(home), "TMPDIR": str(home), "KUBECONFIG": str(cluster.kubeconfig),
        "ARGOCD_FAKE_IN_CLUSTER": "true", "ARGOCD_GPG_ENABLED": "false",
        "PATH": f"{programs.kustomize_folder}:{os.environ['PATH']}",
    }  # fmt: skip
    with contextlib.ExitStack() as running:
        processes = {}
        for name, command in commands.items():
            log = running.enter_context((folder / name).open("wb"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            running.callback(process.wait)
            running.callback(process.terminate)
            processes[name] = process
        yield Argo(cluster, processes, folder)


def _configure(cluster: LiveCluster) -> None:
    labels = {"app.kubernetes.io/part-of": "argocd"}
    metadata = {"labels": labels}
    ours = yaml.safe_load(FILE.read_text())["data"]
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": "argocd-cm"}, "data": ours}
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {**metadata, "name": "argocd-secret"},
        "stringData": {"server.secretkey": uuid.uuid4().hex},
    }  # fmt: skip
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default"},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": _HERE, "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        },
    }
    cluster.apply(config, secret, project)
