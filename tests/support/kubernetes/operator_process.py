"""The operator as a process of its own, started and killed by a test.

It is forked from a process that has imported it (warm_processes): tests start it hundreds of times.

Fixtures: an operator started when a test says so, a proxy before the API server, and the pods it would have.
"""

import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from api_proxy import ApiProxy, api_proxy
from api_server import ApiServer
from free_ports import free_port
from live_cluster import LiveCluster
from played_pods import PlayedPods
from running_target import WITHIN_S
from warm_processes import WarmProcess, start_warm_operator

INSTALLATION = """\
workerImage: registry.example.com/sshload-worker:1.2.3
targetImage: registry.example.com/sshload-target:1.2.3
systemImage: registry.example.com/sshload-system:1.2.3
proxyImage: registry.example.com/sshload-proxy:1.2.3
gatewayImage: registry.example.com/sshload-gateway:1.2.3
"""
_START_LIMIT_S = _END_LIMIT_S = WITHIN_S


@dataclass(slots=True)
class OperatorProcess:
    """One operator for some namespaces (none: all). It may be started again after it was stopped or killed.

    Each life has the same identity, as the containers of one pod have. `after_end` is called when the end of a process
    was waited for. `kill` may come from another thread.
    """

    kubeconfig: Path
    folder: Path
    namespaces: Sequence[str]
    after_end: Callable[[], None] = lambda: None
    more_of_installation: str = ""
    more_arguments: Sequence[str] = ()
    metrics_port: int = 0
    health_port: int = 0
    lease_duration_s: int = 60
    identity: str = field(default_factory=lambda: f"operator-{uuid.uuid4().hex[:8]}")
    _process: WarmProcess | None = None
    _starts: int = field(default=0)
    _is_to_end: bool = False
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Start the operator and wait until it is ready."""
        self.begin()
        give_up = time.monotonic() + _START_LIMIT_S
        while self.probe("/readyz") != 200:
            self.assert_not_ended()
            assert time.monotonic() < give_up, f"the operator is not ready: {self.log()[-3000:]}"
            time.sleep(0.05)

    def begin(self) -> None:
        """Start the operator."""
        installation = self.folder / "installation.yaml"
        installation.write_text(INSTALLATION + self.more_of_installation, encoding="utf-8")
        self._starts += 1
        self.metrics_port, self.health_port = free_port(), free_port()
        arguments = [f"--installation={installation}",
                     f"--metrics-port={self.metrics_port}", f"--health-port={self.health_port}",
                     f"--identity={self.identity}", f"--lease-duration={self.lease_duration_s}",
                     *(f"--namespace={namespace}" for namespace in self.namespaces),
                     *self.more_arguments]  # fmt: skip
        # Without this machine's authorities, whom nobody asks here: each client takes a twentieth of a second for them.
        environment = {"KUBECONFIG": str(self.kubeconfig), "SSL_CERT_FILE": os.devnull}
        log = self._log_path()
        log.touch()
        with self._starting:
            self._is_to_end = False
            self._process = start_warm_operator(arguments, log, log, environment)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def is_running(self) -> bool:
        """Tell whether the process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def was_killed(self) -> bool:
        """Whether the newest process was told to end."""
        return self._is_to_end

    def assert_not_ended(self) -> None:
        """Fail with the process's exit code (negative: the signal) and output where it ended of itself."""
        process = self._process
        ended = process is not None and process.poll() is not None and not self._is_to_end
        assert not ended, f"the operator ended with {process and process.returncode}: {self.log()[-3000:]}"

    def kill(self) -> None:
        """End the process at once, without a chance to do anything more."""
        with self._starting:
            self._is_to_end = True
            if self._process is not None:
                self._process.kill()

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        assert self._process is not None
        try:
            code = self._process.wait(timeout=_END_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"the operator did not end: {self.log()[-3000:]}") from error
        self.after_end()
        return code

    def stop(self) -> int:
        """Ask the process to end, and return its exit code; a process that has ended already gives the same."""
        assert self._process is not None
        self._is_to_end = True
        self._process.terminate()
        return self.wait()

    def log(self) -> str:
        """Return what the newest process has printed."""
        return self._log_path().read_text(encoding="utf-8")

    def logs(self) -> str:
        """Return what all processes have printed."""
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("operator-*.log")))

    def metrics(self) -> str:
        """Return the operator's metrics page."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=60) as answer:
            page: bytes = answer.read()
        return page.decode()

    def probe(self, path: str) -> int:
        """Return the status with which it answers a probe, 0 where it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}{path}", timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def _log_path(self) -> Path:
        return self.folder / f"operator-{self._starts:03}.log"


@pytest.fixture
def proxy(api_server: ApiServer, tmp_path: Path) -> Iterator[ApiProxy]:
    """Run a proxy to the API server, which plays what the test wants."""
    with api_proxy(api_server.kubeconfig, tmp_path) as proxy:
        yield proxy


@pytest.fixture
def operator(proxy: ApiProxy, cluster: LiveCluster, tmp_path: Path) -> Iterator[OperatorProcess]:
    """Return an operator for the test's namespace, not yet started; it is ended after the test."""
    operator = OperatorProcess(proxy.kubeconfig, tmp_path, (cluster.namespace,), proxy.wait_until_unused)
    cluster.assertions.append(operator.assert_not_ended)
    yield operator
    operator.kill()
    assert "Traceback" not in operator.logs(), operator.logs()[-5000:]


@pytest.fixture
def pods(cluster: LiveCluster) -> Callable[[str], PlayedPods]:
    """Return the pods of a test by its name."""
    return lambda test: PlayedPods(cluster, test)
