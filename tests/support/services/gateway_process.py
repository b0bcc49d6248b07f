"""A gateway as its own process on loopback, and callers of it.

An issuer of tokens: its private key, its JWKS, and tokens that say what a test wants.
"""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import jwt
import requests
import yaml
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from free_ports import free_port
from requests import RequestException
from ssh_server import SshServer
from warm_processes import WarmProcess, start_warm_gateway

ISSUER = "https://issuer.example.com"
AUDIENCE = "sshload-gateway"
_AN_HOUR_S = 3_600


@dataclass(frozen=True)
class TokenIssuer:
    """Signs tokens by ES256."""

    key_id: str = "first"
    private_key: EllipticCurvePrivateKey = field(default_factory=lambda: generate_private_key(SECP256R1()))

    def jwk(self) -> dict[str, Any]:
        """Return the public half."""
        public: dict[str, Any] = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.private_key.public_key()))
        return {**public, "kid": self.key_id, "alg": "ES256", "use": "sig"}

    def jwks(self) -> str:
        """Return the key set."""
        return json.dumps({"keys": [self.jwk()]})

    def token(self, subject: str = "ada", **claims: object) -> str:
        """Return a token that is accepted but for what `claims` change; None leaves a claim out."""
        usual = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + _AN_HOUR_S}
        said = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(said, self.private_key, "ES256", {"kid": self.key_id})


_WITHIN_S = 300.0
_POLL_S = 0.02
_CONFIG, _LOG = "gateway.yaml", "gateway.log"


@dataclass(frozen=True)
class Caller:
    """Calls a gateway with one token."""

    url: str
    token: str

    def ask(self, method: str, path: str, **arguments: Any) -> requests.Response:
        """Send a request to a path below /sshapi/v2."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return requests.request(method, f"{self.url}/sshapi/v2{path}", headers=headers, timeout=_WITHIN_S, **arguments)

    def store(self, name: str, server: SshServer, **changes: object) -> requests.Response:
        """Store a credential that logs in to a server, but for what `changes` say."""
        credential = {
            "name": name,
            "host": "127.0.0.1",
            "port": server.port,
            "user": server.user,
            "privateKey": server.keys.user.read_text(),
            "hostKeys": [server.keys.host.with_suffix(".pub").read_text()],
        }
        return self.ask("POST", "/credentials", json={**credential, **changes})

    def run(self, name: str, command: str, **more: object) -> requests.Response:
        """Run a command."""
        return self.ask("POST", f"/{name}", json={"command": command, **more})

    @contextmanager
    def begun(self, name: str, command: str) -> Iterator[HTTPConnection]:
        """Ask for a command without waiting for the answer, and hang up at the end of the block."""
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=_WITHIN_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", f"/sshapi/v2/{name}", json.dumps({"command": command}), headers)
        try:
            yield connection
        finally:
            connection.close()


@dataclass(frozen=True)
class GatewayProcess:
    """A running gateway."""

    process: subprocess.Popen[bytes] | WarmProcess
    url: str
    management: str
    issuer: TokenIssuer
    folder: Path

    @property
    def log(self) -> str:
        """All that it has logged so far."""
        return (self.folder / _LOG).read_text()

    def caller(self, subject: str = "ada") -> Caller:
        """Return somebody who calls it."""
        return Caller(self.url, self.issuer.token(subject))

    def ready(self) -> requests.Response:
        """Return its answer to /readyz."""
        return requests.get(f"{self.management}/readyz", timeout=_WITHIN_S)

    def metric(self, name: str, **labels: str) -> float:
        """Return a sample of its metrics, 0 where there is none."""
        shown = ",".join(f'{label}="{value}"' for label, value in labels.items())
        wanted = f"{name}{{{shown}}} " if labels else f"{name} "
        text = requests.get(f"{self.management}/metrics", timeout=_WITHIN_S).text
        return next((float(line.removeprefix(wanted)) for line in text.splitlines() if line.startswith(wanted)), 0.0)

    def await_ready(self) -> None:
        """Wait until it can serve."""
        deadline_s = time.monotonic() + _WITHIN_S
        while not self._is_ready():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline_s, self.log
            time.sleep(_POLL_S)

    def _is_ready(self) -> bool:
        try:
            return self.ready().ok
        except RequestException:
            return False


def gateway_config(folder: Path, ports: Iterable[int], **changes: Any) -> dict[str, Any]:
    """Write what a configuration names into a folder; return one that allows these ports of loopback.

    `changes` are merged into its sections.
    """
    seal = folder / "seal"
    seal.mkdir(exist_ok=True)
    (seal / "first").write_text(base64.b64encode(os.urandom(32)).decode())
    config: dict[str, Any] = {
        "listen": {"host": "127.0.0.1", "port": free_port()},
        "management": {"host": "127.0.0.1", "port": free_port()},
        "database": {"url": f"sqlite:///{folder / 'gateway.db'}", "answerS": 60},
        "tokens": {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ["ES256"], "jwksFile": f"{folder}/jwks.json"},
        "sealingKeys": {"folder": str(seal), "active": "first"},
        "destinations": {"allowed": [{"host": "127.0.0.1", "ports": list(ports)}]},
        "pool": {"waitS": 60, "loginS": 60, "refusalPauseS": 0},
        "limits": {"requestsPerSecond": 10_000, "requestsAtOnce": 10_000, "underWay": 10_000, "commandS": 60},
    }
    for section, change in changes.items():
        is_merged = isinstance(change, Mapping) and section != "database"
        config[section] = {**config.get(section, {}), **change} if is_merged else change
    return config


@contextmanager
def gateway_process(
    folder: Path, ports: Iterable[int], *, issuer: TokenIssuer | None = None, as_installed: bool = False, **changes: Any
) -> Iterator[GatewayProcess]:
    """Run a gateway until the block ends, with the files of its configuration in a folder.

    It is forked from a process that has imported it (warm_processes), but for one that is asked for as it is installed.
    """
    issuer = issuer or TokenIssuer()
    config = _written(folder, ports, issuer, changes)
    process = _installed(folder) if as_installed else _forked(folder)
    url, management = (f"http://127.0.0.1:{config[section]['port']}" for section in ("listen", "management"))
    gateway = GatewayProcess(process, url, management, issuer, folder)
    try:
        gateway.await_ready()
        yield gateway
    finally:
        process.terminate()
        process.wait()


def ended_gateway(folder: Path, ports: Iterable[int], **changes: Any) -> tuple[int, str]:
    """Run a gateway that ends by itself, with its files in a folder; return its exit code and all that it said."""
    _written(folder, ports, TokenIssuer(), changes)
    return _forked(folder).wait(_WITHIN_S), (folder / _LOG).read_text()


def _written(folder: Path, ports: Iterable[int], issuer: TokenIssuer, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Write the files of a gateway, and return its configuration."""
    (folder / "jwks.json").write_text(issuer.jwks())
    config = gateway_config(folder, ports, **changes)
    (folder / _CONFIG).write_text(yaml.safe_dump(config))
    (folder / _LOG).write_text("")
    return config


def _installed(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sshload_gateway", "--config", str(folder / _CONFIG)]
    with (folder / _LOG).open("wb") as output:
        return subprocess.Popen(command, stderr=output)


def _forked(folder: Path) -> WarmProcess:
    return start_warm_gateway(["--config", str(folder / _CONFIG)], folder / _LOG, folder / _LOG)
