"""Flux's kustomize-controller as a process, and what it says of its Kustomizations.

Flux's source-controller is played: `GitSource` serves the commits of a real repository as artifacts, and writes the
status of the GitRepository.
"""

import functools
import hashlib
import http.server
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from free_ports import free_port
from git_repository import GitRepository
from live_cluster import LiveCluster

KUSTOMIZATION = "kustomizations.kustomize.toolkit.fluxcd.io"
_OBJECT = "gitrepositories.source.toolkit.fluxcd.io"


@contextmanager
def kustomize_controller(program: Path, kubeconfig: Path, folder: Path) -> Iterator[Callable[[], None]]:
    """Run it for all namespaces until the block ends; yield an assertion that it has not ended before."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "TMPDIR": str(folder), "RUNTIME_NAMESPACE": "default"}
    command: list[str | Path] = [
        program, f"--metrics-addr=127.0.0.1:{free_port()}", f"--health-addr=127.0.0.1:{free_port()}",
        "--requeue-dependency=1s",
    ]  # fmt: skip
    log_path = folder / "kustomize-controller.log"
    with log_path.open("wb") as log, subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process:

        def assert_not_ended() -> None:
            assert process.poll() is None, f"kustomize-controller ended: {log_path.read_text()[-3000:]}"

        try:
            yield assert_not_ended
        finally:
            process.terminate()


@dataclass(frozen=True, slots=True)
class GitSource:
    """A Git repository, and the GitRepository `name` in the namespace of `cluster` that has its commits."""

    cluster: LiveCluster
    name: str
    repository: GitRepository
    served: Path
    url: str

    def commit(self) -> str:
        """Commit the work tree, publish the commit, and return its revision as Flux spells it."""
        commit = self.repository.commit()
        revision = f"main@sha1:{commit}"
        file = self.served / f"{commit}.tar.gz"
        # The tree, and not the commit, whose archive begins with a header that Flux does not read.
        self.repository.git("archive", "--format=tar.gz", f"--output={file}", "HEAD^{tree}")
        self._publish(revision, file)
        return revision

    def _publish(self, revision: str, file: Path) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        generation = self.cluster.get(_OBJECT, self.name)["metadata"]["generation"]
        ready = {
            "type": "Ready", "status": "True", "reason": "Succeeded", "message": f"stored {revision}",
            "lastTransitionTime": now, "observedGeneration": generation,
        }  # fmt: skip
        artifact = {
            "path": file.name, "url": f"{self.url}/{file.name}", "revision": revision, "lastUpdateTime": now,
            "digest": f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}", "size": file.stat().st_size,
        }  # fmt: skip
        status = {"observedGeneration": generation, "artifact": artifact, "conditions": [ready]}
        self.cluster.kubectl(
            "patch", _OBJECT, self.name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status})
        )


@contextmanager
def git_source(cluster: LiveCluster, name: str, repository: GitRepository, served: Path) -> Iterator[GitSource]:
    """Serve the commits of a repository on loopback until the block ends."""
    handler = functools.partial(_Quiet, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.05,))
        serving.start()
        try:
            yield GitSource(cluster, name, repository, served, f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            serving.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is its parent's
        """Print nothing."""


def ready(status: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a Kustomization's condition Ready as status and reason, and the revision that it speaks of."""
    found = [one for one in status.get("conditions", ()) if one["type"] == "Ready"]
    revision = status.get("lastAttemptedRevision", "")
    return (found[0]["status"], found[0]["reason"], revision) if found else ("", "", revision)
