"""What the processes of a local run are given: ports on loopback, a private folder of files, and their commands."""

import secrets
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sshload_contract.client import Library
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import to_json

from sshload_operator.api.proxy import Proxy
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.control.run.gateway_secrets import make_gateway_secrets
from sshload_operator.control.run.keys import Keys, KeysAsked, make_keys
from sshload_operator.local.config_map_files import file_paths
from sshload_operator.local.credentials import Credentials, target_endpoint, via_endpoints
from sshload_operator.local.gateway import LIBRARIES as GATEWAY_LIBRARIES
from sshload_operator.local.gateway import GatewayPorts, write_gateway
from sshload_operator.local.ports import free_ports
from sshload_operator.local.process_tree import at_real_time, may_run_at_real_time
from sshload_operator.local.proxy import fitting, installed_proxy
from sshload_operator.local.sshd import (
    SSHD_PATH,
    LocalRunError,
    current_user,
    installed_sshd,
    without_unknown_directives,
)
from sshload_operator.manifests import (
    Places,
    TargetPlaces,
    run_config,
    target_config,
)
from sshload_operator.manifests.gateway import managed_gateway_endpoint
from sshload_operator.manifests.mounts import (
    GATEWAY_FILE,
    GATEWAY_TOKEN_FILE,
    PROXY_FILE,
    TOKEN_FILE,
    managed_endpoint,
)
from sshload_operator.planning.estimates import leaves_files
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import ProxyPlaces, program_config
from sshload_operator.state import Role

if TYPE_CHECKING:
    from sshload_contract.wire.run_config import Endpoint, GatewayEndpoint

MASTER: Final = "master"
"""The name of the process that adds up what the workers report."""

_LOOPBACK = "127.0.0.1"
LIBRARIES = ("gevent", "locust", "prometheus_client", "ssh2")
CLIENT_LIBRARIES = {Library.PARAMIKO: ("paramiko",), Library.ASYNCSSH: ("asyncssh",)}
_SECRET_MODE = 0o600
_OWN_VERSION = "+sshload"  # what scripts/ssh2-wheel adds to the release's version
_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
_GATEWAY_NOTE = "the gateway is a process of this machine, which shares its CPUs with the rest"
_COMPILE = (
    "install cmake, gcc, libc6-dev, make, patch, python3-dev and zlib1g-dev, and run `make venv` again "
    "(with pipx: docs/how-to/without-a-cluster.md)"
)


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """What the command line names in place of Secrets and ConfigMaps. `test` is the file that holds the test.

    `via` are the files for jump hosts, by the host's name, and `files` those for the workers, by what they call them.
    """

    test: Path
    target: Credentials
    via: Mapping[str, Credentials]
    files: Mapping[str, Path]

    def without_jump_hosts_of_others(self, own: Collection[str], all_hosts: Collection[str]) -> "OwnFiles":
        """Return what a test with `own` jump hosts takes, of several tests that have `all_hosts` together.

        Files for a host that none of them has stay, so that the test refuses them.
        """
        via = {host: files for host, files in self.via.items() if host in own or host not in all_hosts}
        return replace(self, via=via)


@dataclass(frozen=True, slots=True)
class LocalProcess:
    """One process to start, and the port on loopback whose `/readyz` says that it is ready (None: it has none)."""

    name: str
    role: Role
    command: Sequence[str]
    ready_port: int | None


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """All processes of a run, in the order of their start, and what a reader should know of how they differ."""

    processes: tuple[LocalProcess, ...]
    notes: tuple[str, ...]


def home_in(folder: Path) -> Path:
    """Return where a managed target makes its fixtures."""
    return folder / "home"


def last_words_path(folder: Path, name: str) -> Path:
    """Return where a process leaves the reason of its failure, as a container does in /dev/termination-log."""
    return folder / f"{name}.last-words"


async def prepare(plan: Plan, own: OwnFiles, folder: Path) -> LocalPlan:
    """Write keys and configurations into `folder`, which must be private; raises LocalRunError, KeysError, OSError."""
    spec = plan.spec
    _require_libraries("the workers and the target need", (*LIBRARIES, *CLIENT_LIBRARIES.get(spec.client.library, ())))
    build_notes = ssh2_build_notes(spec, version("ssh2-python"))
    sshd_port, stats_port, locust_port, master_port, *more_ports = free_ports(9)
    target: Endpoint | GatewayEndpoint
    in_path: dict[InPath, str] = {}
    if spec.target.managed is not None:
        places = TargetPlaces(
            user=current_user().pw_name,
            home=str(home_in(folder)),
            keys_dir=str(folder / "keys"),
            sshd_port=sshd_port,
            stats_port=stats_port,
        )
        proxy_port, proxy_stats_port, gateway_port, health_port, gateway_stats_port = more_ports
        has_proxy, has_gateway = spec.target.proxy is not None, spec.target.gateway is not None
        login_port = proxy_port if has_proxy and not has_gateway else sshd_port
        keys = await make_keys(KeysAsked(_LOOPBACK, login_port, places.user, spec.deadline_s))
        notes, processes = _managed(plan, spec.target, places, keys, folder)
        target = managed_endpoint(_LOOPBACK, login_port, places.user, spec.auth, places.keys_dir)
        if spec.target.proxy is not None:
            server_port = gateway_port if has_gateway else sshd_port
            proxy = ProxyPlaces(proxy_port, proxy_stats_port, _LOOPBACK, server_port, speaks_http=has_gateway)
            proxy_notes, process = _proxy(spec.target.proxy, proxy, folder)
            notes, processes = (*notes, *proxy_notes), (*processes, process)
            in_path[InPath.PROXY] = _stats_url(proxy_stats_port)
        if spec.target.gateway is not None:
            _require_libraries(
                "spec.target.managed.gateway: the gateway needs", GATEWAY_LIBRARIES, "extras local and gateway"
            )
            files = await make_gateway_secrets(keys, _LOOPBACK, sshd_port, places.user, spec.deadline_s)
            ports = GatewayPorts(gateway_port, health_port, gateway_stats_port, server=sshd_port)
            write_gateway(spec.target.gateway, _LOOPBACK, ports, files, folder)
            notes, processes = (*notes, _GATEWAY_NOTE), (*processes, _gateway(health_port))
            in_path[InPath.GATEWAY] = _stats_url(gateway_stats_port)
            token_path = str(folder / GATEWAY_TOKEN_FILE)
            target = managed_gateway_endpoint(_LOOPBACK, proxy_port if has_proxy else gateway_port, token_path)
        stats_url = _stats_url(places.stats_port)
    else:
        notes, processes = (), ()
        target, stats_url = target_endpoint(spec.target, own.target), ""
    run_places = Places(
        target=target,
        via=via_endpoints(spec.via, own.via, own.target.known_hosts),
        allow_list=None,  # its user dials from a machine of his own
        stats_url=stats_url,
        files=file_paths(spec.files, own.files, own.test, plan.test.namespace, folder),
        token_path=str(folder / TOKEN_FILE),
        in_path=in_path,
    )
    _write_secret(folder / TOKEN_FILE, secrets.token_hex(32))
    (folder / "run.json").write_text(to_json(run_config(plan, run_places)), encoding="utf-8")
    workers = tuple(_worker(index, locust_port) for index in range(spec.workers.replicas))
    if may_run_at_real_time():
        workers = tuple(replace(worker, command=at_real_time(worker.command)) for worker in workers)
    else:
        notes = (*notes, "the workers run at ordinary priority: as root they would not have to wait for a CPU")
    processes = (*processes, _master(locust_port, master_port), *workers)
    return LocalPlan(processes, (*notes, *build_notes))


def _require_libraries(need: str, libraries: Sequence[str], extras: str = "extra local") -> None:
    """Raise LocalRunError where what `need` speaks of is not installed."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise LocalRunError(
            f"{need} {', '.join(missing)}, which is not installed here: install sshload with its {extras}, as"
            " `make venv` does"
        )


def _managed(
    plan: Plan, target: ManagedTarget, places: TargetPlaces, keys: Keys, folder: Path
) -> tuple[tuple[str, ...], tuple[LocalProcess, ...]]:
    sshd = installed_sshd()
    config = target_config(target, places)
    text, left_out = without_unknown_directives(config.sshd_config, sshd.version)
    _write_keys(keys.files(), Path(places.keys_dir))
    (folder / "target.json").write_text(
        to_json(replace(config, sshd_config=text + _environment(places.home))), encoding="utf-8"
    )
    notes = [
        f"the target is this machine's {sshd.name}, which shares its CPUs with the workers",
        "its sessions have a HOME of their own, so that your shell's start-up files are not measured",
    ]
    if plan.spec.via:
        notes.append(f"the last jump host connects to {_LOOPBACK} itself: it must run on this machine")
    if leaves_files(plan.spec.scenario.steps):
        notes.append(f"what the scenario writes and does not remove stays in {current_user().pw_dir}")
    notes += [f"left out of sshd_config, because {sshd.name} does not know it: {line}" for line in left_out]
    command = _python(
        *("sshload_target", "--config", "target.json", "--termination-log", last_words_path(folder, "target").name),
        *("--sshd", str(SSHD_PATH), "--listen-address", _LOOPBACK, "--stats-host", _LOOPBACK),
    )
    process = LocalProcess(name="target", role=Role.TARGET, command=command, ready_port=places.stats_port)
    return tuple(notes), (process,)


def _proxy(proxy: Proxy, places: ProxyPlaces, folder: Path) -> tuple[tuple[str, ...], LocalProcess]:
    installed = installed_proxy(proxy)
    fitted, notes = fitting(proxy)
    config = program_config(fitted, replace(places, program=installed.path))
    (folder / PROXY_FILE).write_text(to_json(config), encoding="utf-8")
    process = LocalProcess("proxy", Role.PROXY, _in_path(PROXY_FILE), ready_port=places.stats_port)
    return (f"the proxy is this machine's {installed.name}, which shares its CPUs with the rest", *notes), process


def _stats_url(port: int) -> str:
    return f"http://{_LOOPBACK}:{port}/stats"


def _gateway(health_port: int) -> LocalProcess:
    return LocalProcess("gateway", Role.GATEWAY, _in_path(GATEWAY_FILE), ready_port=health_port)


def _in_path(config: str) -> tuple[str, ...]:
    return _python("sshload_target.in_path", "--config", config, "--host", _LOOPBACK)


def _environment(home: str) -> str:
    """Return the directive that keeps the user's own ~/.bashrc and the like out of the measurement."""
    return f"SetEnv HOME={home}\n"


def _write_keys(files: Mapping[str, str], keys_dir: Path) -> None:
    keys_dir.mkdir(mode=0o700)
    for name, text in files.items():
        _write_secret(keys_dir / name, text)


def _write_secret(path: Path, text: str) -> None:
    path.touch(mode=_SECRET_MODE)
    path.write_text(text, encoding="ascii")


def _master(locust_port: int, http_port: int) -> LocalProcess:
    command = _python(
        *("sshload_worker", "--role", "master", "--config", "run.json", "--bind-host", _LOOPBACK),
        *("--bind-port", str(locust_port), "--http-port", str(http_port)),
    )
    return LocalProcess(name=MASTER, role=Role.MASTER, command=command, ready_port=http_port)


def _worker(index: int, locust_port: int) -> LocalProcess:
    command = _python(
        *("sshload_worker", "--role", "worker", "--config", "run.json", "--index", str(index)),
        *("--master-host", _LOOPBACK, "--master-port", str(locust_port)),
    )
    return LocalProcess(name=f"worker-{index}", role=Role.WORKER, command=command, ready_port=None)


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", module, *arguments)


def ssh2_build_notes(spec: LoadTestSpec, version: str) -> tuple[str, ...]:
    """Return what a reader should know of this version of ssh2-python.

    Raises LocalRunError if it is not our build, and the test would expose the worst of its flaws to an external
    server.
    """
    is_used = spec.target.access.speaks_ssh and spec.client.library is Library.SSH2_PYTHON
    if not is_used or _OWN_VERSION in version:
        return ()
    if spec.load.held_sessions:
        raise LocalRunError(
            f"spec.load.hold: ssh2-python {version} is the package index's, which does not answer a server while a "
            f"session is idle: {_COMPILE}, or name another library in spec.client.library"
        )
    if spec.servers and not (spec.client.ciphers and set(spec.client.ciphers) <= set(_CIPHERS)):
        raise LocalRunError(
            f"spec.client.ciphers: ssh2-python {version} is the package index's, whose memory a server can overwrite "
            f"by chacha20-poly1305 and others, and a server of this test is external: name {' or '.join(_CIPHERS)} and "
            f"no other, or {_COMPILE}"
        )
    return (f"ssh2-python {version} is the package index's, slower and without our security fixes: {_COMPILE}",)
