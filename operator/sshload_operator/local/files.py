"""What the processes of a local run are given: ports on loopback, a private folder of files, and their commands."""

import asyncio
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from sshload_contract.codec import to_json
from sshload_contract.run_config import Auth, Endpoint

from sshload_operator.api.spec import ExternalTarget, ManagedTarget
from sshload_operator.control.keys import make_keys
from sshload_operator.local.priority import at_real_time, may_run_at_real_time
from sshload_operator.local.sshd import (
    SSHD_PATH,
    LocalRunError,
    current_user,
    installed_sshd,
    without_unknown_directives,
)
from sshload_operator.manifests import Places, TargetPlaces, run_config, target_config
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

_LOOPBACK = "127.0.0.1"
_PORTS = range(10_240, 65_536)
_OUTGOING_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LIBRARIES = ("gevent", "hdrh", "locust", "prometheus_client", "ssh2")
_SECRET_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Credentials:
    """The user's own files, in place of the Secrets that the spec of an external target names."""

    identity: Path | None
    password_file: Path | None
    known_hosts: Path | None


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


def prepare(plan: Plan, credentials: Credentials, folder: Path) -> LocalPlan:
    """Write keys and configurations into `folder`, which must be private; raises LocalRunError, KeysError, OSError."""
    _require_libraries()
    sshd_port, stats_port, locust_port, master_port = _free_ports(4)
    target = plan.spec.target
    if isinstance(target, ManagedTarget):
        places = TargetPlaces(
            user=current_user().pw_name,
            home=str(home_in(folder)),
            keys_dir=str(folder / "keys"),
            sshd_port=sshd_port,
            stats_port=stats_port,
        )
        notes, processes = _managed(target, places, folder)
        run_places = _managed_places(places, folder)
    else:
        notes, processes = (), ()
        run_places = Places(endpoint=_external_endpoint(target, credentials), stats_url="")
    (folder / "run.json").write_text(to_json(run_config(plan, run_places)), encoding="utf-8")
    workers = tuple(_worker(index, locust_port) for index in range(plan.spec.workers.replicas))
    if may_run_at_real_time():
        workers = tuple(replace(worker, command=at_real_time(worker.command)) for worker in workers)
    else:
        notes = (*notes, "the workers run at ordinary priority: as root they would not have to wait for a CPU")
    return LocalPlan(processes=(*processes, _master(locust_port, master_port), *workers), notes=notes)


def _require_libraries() -> None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise LocalRunError(
            f"the workers and the target need {', '.join(missing)}, which is not installed here: install sshload with "
            f"its extras operator, worker and target"
        )


def _managed(
    target: ManagedTarget, places: TargetPlaces, folder: Path
) -> tuple[tuple[str, ...], tuple[LocalProcess, ...]]:
    sshd = installed_sshd()
    config = target_config(target, places)
    text, left_out = without_unknown_directives(config.sshd_config, sshd.version)
    _write_keys(asyncio.run(make_keys(_LOOPBACK, places.sshd_port)).files(), Path(places.keys_dir))
    (folder / "target.json").write_text(
        to_json(replace(config, sshd_config=text + _environment(places.home))), encoding="utf-8"
    )
    notes = [
        f"the target is this machine's {sshd.name}, which shares its CPUs with the workers",
        "its sessions have a HOME of their own, so that your shell's start-up files are not measured",
    ]
    notes += [f"left out of sshd_config, because {sshd.name} does not know it: {line}" for line in left_out]
    command = _python(
        *("sshload_target", "--config", "target.json", "--termination-log", last_words_path(folder, "target").name),
        *("--sshd", str(SSHD_PATH), "--listen-address", _LOOPBACK, "--stats-host", _LOOPBACK),
    )
    process = LocalProcess(name="target", role=Role.TARGET, command=command, ready_port=places.stats_port)
    return tuple(notes), (process,)


def _environment(home: str) -> str:
    """Return the directive that keeps the user's own ~/.bashrc and the like out of the measurement."""
    return f"SetEnv HOME={home}\n"


def _write_keys(files: Mapping[str, str], keys_dir: Path) -> None:
    keys_dir.mkdir(mode=0o700)
    for name, text in files.items():
        path = keys_dir / name
        path.touch(mode=_SECRET_MODE)
        path.write_text(text, encoding="ascii")


def _managed_places(places: TargetPlaces, folder: Path) -> Places:
    endpoint = Endpoint(
        host=_LOOPBACK,
        port=places.sshd_port,
        user=places.user,
        auth=Auth.PUBLICKEY,
        private_key_path=str(folder / "keys" / "id_ed25519"),
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path=str(folder / "keys" / "known_hosts"),
    )
    return Places(endpoint=endpoint, stats_url=f"http://{_LOOPBACK}:{places.stats_port}/stats")


def _external_endpoint(target: ExternalTarget, credentials: Credentials) -> Endpoint:
    identity, password = _credential(target, credentials)
    if credentials.known_hosts is None and not target.insecure_ignore_host_key:
        raise LocalRunError(
            f"the host key of {target.host} is checked: say which is right, with --known-hosts FILE "
            f"(made by `ssh-keyscan -p {target.port} {target.host}`, and compared by you)"
        )
    known_hosts = None if target.insecure_ignore_host_key else credentials.known_hosts
    return Endpoint(
        host=target.host,
        port=target.port,
        user=target.user,
        auth=target.auth,
        private_key_path=_readable(identity),
        certificate_path="",
        passphrase_path="",
        password_path=_readable(password),
        known_hosts_path=_readable(known_hosts),
    )


def _credential(target: ExternalTarget, credentials: Credentials) -> tuple[Path | None, Path | None]:
    """Return the files of the private key and of the password, of which client.auth says which one it is."""
    with_key = target.auth is Auth.PUBLICKEY
    identity = credentials.identity if with_key else None
    password = None if with_key else credentials.password_file
    if identity is None and password is None:
        option = "--identity" if with_key else "--password-file"
        raise LocalRunError(
            f"the test logs in to {target.host} by {target.auth} (spec.client.auth): say with what, with {option} FILE "
            f"(in a cluster, the Secret {target.credentials_secret} says it)"
        )
    return identity, password


def _readable(path: Path | None) -> str:
    """Return the absolute path of a file that can be read, empty for none; raises LocalRunError."""
    if path is None:
        return ""
    try:
        with path.open("rb"):
            return str(path.absolute())
    except OSError as error:
        raise LocalRunError(f"{path}: {error.strerror}") from error


def _master(locust_port: int, http_port: int) -> LocalProcess:
    command = _python(
        *("sshload_worker", "--role", "master", "--config", "run.json", "--bind-host", _LOOPBACK),
        *("--bind-port", str(locust_port), "--http-port", str(http_port)),
    )
    return LocalProcess(name="master", role=Role.MASTER, command=command, ready_port=http_port)


def _worker(index: int, locust_port: int) -> LocalProcess:
    command = _python(
        *("sshload_worker", "--role", "worker", "--config", "run.json", "--index", str(index)),
        *("--master-host", _LOOPBACK, "--master-port", str(locust_port)),
    )
    return LocalProcess(name=f"worker-{index}", role=Role.WORKER, command=command, ready_port=None)


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", module, *arguments)


def _free_ports(count: int) -> tuple[int, ...]:
    """Return different ports that are free on loopback now, and that no outgoing connection takes in the meantime."""
    found: list[int] = []
    candidates = _ports_of_nobody()
    while len(found) < count:
        port = secrets.choice(candidates)
        if port not in found and _is_free(port):
            found.append(port)
    return tuple(found)


def _ports_of_nobody() -> Sequence[int]:
    """Return the ports that the kernel does not give to outgoing connections, or all where it gives them all."""
    first, last = (int(word) for word in _OUTGOING_PORTS.read_text(encoding="ascii").split())
    return [port for port in _PORTS if not first <= port <= last] or _PORTS


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((_LOOPBACK, port))
        except OSError:
            return False
    return True
