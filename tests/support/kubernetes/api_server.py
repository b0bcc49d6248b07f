"""A real API server for tests: etcd and kube-apiserver on loopback, without controllers and without a kubelet.

As a program, it runs one server for several pytest processes: it prints `SSHLOAD_TEST_KUBECONFIG=PATH` when the server
is ready, and ends the server when standard input closes or on SIGTERM. `api_server` uses that server where the
environment has this variable.

What an API server says of objects, without keeping them: strict server-side dry runs over one connection.
"""

import contextlib
import http.client
import ipaddress
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from free_ports import free_port
from live_cluster import LiveCluster
from sshload_operator.api.kinds import API_VERSION, TEST, Kind

OTHER_API_SERVER = "SSHLOAD_KUBE_APISERVER"
"""The environment variable that names another kube-apiserver than that of the tests' cluster."""

CRDS = Path(__file__).parents[3] / "crds"
TOKEN = "admin-of-a-server-that-lives-for-one-test-session"
PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
START_LIMIT_S = 600
KUBECONFIG = "SSHLOAD_TEST_KUBECONFIG"
"""The environment variable that names the administrator's kubeconfig of a server that runs already."""

_SELDOM_COLLECTED: Mapping[str, str] = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
"""What a server of Go has in its environment that spends memory instead of a fifth of its CPU on garbage."""


class StartError(RuntimeError):
    """A process of the server ended while it started; the message holds the ends of the logs."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running API server with RBAC. `kubeconfig` is its administrator's; service accounts get tokens by kubectl."""

    kubectl_path: str
    kubeconfig: Path

    def namespace(self, labels: Mapping[str, str] | None = None) -> LiveCluster:
        """Return kubectl bound to a new namespace. No test has to delete its objects: the server ends with the tests.

        It has its labels from the first moment on: the server's own admission may be behind on a change.
        """
        name = f"test-{uuid.uuid4().hex[:10]}"
        cluster = LiveCluster(self.kubectl_path, self.kubeconfig, name)
        metadata = {"name": name, "labels": dict(labels or {})}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        cluster.create(namespace)
        return cluster


@dataclass(frozen=True, slots=True)
class Administrator:
    """How a server's administrator reaches it: its URL, the certificate to trust, and the header that logs in."""

    url: str
    tls: ssl.SSLContext
    login: Mapping[str, str]


def administrator(kubeconfig: Path) -> Administrator:
    """Return what the kubeconfig of an ApiServer says."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster = config["clusters"][0]["cluster"]
    tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
    return Administrator(cluster["server"], tls, {"Authorization": f"Bearer {config['users'][0]['user']['token']}"})


@contextlib.contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    """Yield an API server with the project's CRDs: the one that runs already, else one with its files in `folder`."""
    kubeconfig = os.environ.get(KUBECONFIG)
    if kubeconfig:
        yield ApiServer(str(_programs() / "kubectl"), Path(kubeconfig))
    else:
        with own_api_server(folder) as server:
            yield server


@contextlib.contextmanager
def own_api_server(folder: Path) -> Iterator[ApiServer]:
    """Run an API server with the project's CRDs, its files in `folder`, and end it by its process ids."""
    with contextlib.ExitStack() as running:
        yield _start(_programs(), folder, running)


def _programs() -> Path:
    cache = os.environ.get("SSHLOAD_CLUSTER_CACHE") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "sshload-cluster"
    )
    programs = Path(cache, "bin")
    missing = [name for name in PROGRAMS if not os.access(programs / name, os.X_OK)]
    if missing:
        raise FileNotFoundError(f"{', '.join(missing)} not in {programs}: run `make cluster WHAT=build` once")
    return programs


def _start(programs: Path, folder: Path, running: contextlib.ExitStack) -> ApiServer:
    _write_certificate(folder)
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    etcd_url = f"http://127.0.0.1:{etcd_port}"
    etcd = _run(running, folder / "etcd.log", programs / "etcd", "--unsafe-no-fsync", f"--data-dir={folder / 'etcd'}",
                f"--listen-client-urls={etcd_url}", f"--advertise-client-urls={etcd_url}",
                f"--listen-peer-urls=http://127.0.0.1:{peer_port}")  # fmt: skip
    program = os.environ.get(OTHER_API_SERVER) or programs / "kube-apiserver"
    server = _run(running, folder / "kube-apiserver.log", program, *_flags(folder, etcd_url, port), **_SELDOM_COLLECTED)
    found = ApiServer(str(programs / "kubectl"), _kubeconfig(folder, port))
    _await(found, ("get", "--raw", "/readyz"), folder, etcd, server)
    LiveCluster(found.kubectl_path, found.kubeconfig, "default").establish(CRDS)
    # An established CRD is served; the list of all kinds, by which kubectl finds it, may have it a moment later.
    kinds = ",".join(path.stem + ".sshload.dev" for path in CRDS.iterdir())
    _await(found, ("get", kinds, "--all-namespaces"), folder, etcd, server)
    return found


def _write_certificate(folder: Path) -> None:
    """Write the server's certificate where it looks for one: with one of RSA, connections take a sixth of its CPU."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), "127.0.0.1", datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "apiserver.key").touch(mode=0o600)
    (folder / "apiserver.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "apiserver.crt").write_bytes(certificate.public_bytes(Encoding.PEM))


def _flags(folder: Path, etcd_url: str, port: int) -> list[str]:
    key = folder / "service-accounts.key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-m", "PEM", "-N", "", "-f", key], check=True)
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder}",
        f"--etcd-servers={etcd_url}",
        "--authorization-mode=RBAC",
        f"--token-auth-file={tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",  # no controller makes the default accounts that it asks for
        "--shutdown-delay-duration=0s",
    ]


def _kubeconfig(folder: Path, port: int) -> Path:
    """Write the administrator's kubeconfig; its certificate is its own authority."""
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(folder / "apiserver.crt")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(config))
    return path


def _run(
    running: contextlib.ExitStack, log: Path, *command: str | Path, **more_environment: str
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **more_environment}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    running.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(server: ApiServer, arguments: tuple[str, ...], folder: Path, *processes: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + START_LIMIT_S
    command = [server.kubectl_path, f"--kubeconfig={server.kubeconfig}", *arguments]
    while subprocess.run(command, capture_output=True, check=False).returncode != 0:
        dead = [process for process in processes if process.poll() is not None]
        logs = "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))
        if dead:
            raise StartError(logs)
        if time.monotonic() > give_up:
            raise TimeoutError(f"not ready within {START_LIMIT_S} s\n{logs}")
        time.sleep(0.1)


def main() -> None:
    """Run a server until standard input closes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with tempfile.TemporaryDirectory(prefix="sshload-api-server-") as folder, own_api_server(Path(folder)) as server:
        print(f"{KUBECONFIG}={server.kubeconfig}", flush=True)  # noqa: T201 - the caller reads it
        sys.stdin.read()


if __name__ == "__main__":
    main()


class DryRun:
    """Creates objects of one kind in a namespace, each with `dryRun=All` and `fieldValidation=Strict`.

    It is the administrator who does, or `user`.
    """

    def __init__(self, cluster: LiveCluster, kind: Kind = TEST, user: str = "") -> None:
        self._kind = kind
        server = administrator(cluster.kubeconfig)
        self._connection = http.client.HTTPSConnection(urlsplit(server.url).netloc, context=server.tls, timeout=60)
        self._headers = {**server.login, "Content-Type": "application/json"}
        if user:
            self._headers["Impersonate-User"] = user
        path = f"/apis/{API_VERSION}/namespaces/{cluster.namespace}/{kind.plural}"
        self._path = f"{path}?dryRun=All&fieldValidation=Strict"

    def refusal(self, spec: Mapping[str, Any] | None, name: str = "dry") -> str:
        """Return the message with which the server refuses an object of this spec, empty where it accepts it."""
        status, answer = self._create(spec, name)
        assert status in {201, 400, 403, 422}, answer
        return "" if status == http.client.CREATED else answer["message"]

    def completed(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the spec as the server completes it; raises AssertionError where it refuses it."""
        status, answer = self._create(spec, "dry")
        assert status == http.client.CREATED, answer["message"]
        completed: dict[str, Any] = answer["spec"]
        return completed

    def _create(self, spec: Mapping[str, Any] | None, name: str) -> tuple[int, Any]:
        body: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "kind": self._kind.name,
            "metadata": {"name": name},
        }
        if spec is not None:
            body["spec"] = spec
        self._connection.request("POST", self._path, json.dumps(body), self._headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())
