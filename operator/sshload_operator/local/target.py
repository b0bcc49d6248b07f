"""The target of a local run: a managed one is this machine's sshd, with the proxy and the gateway in the path to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.run_config import Endpoint, GatewayEndpoint

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.local.gateway import GatewayPorts, write_gateway
from sshload_operator.local.process import (
    LOOPBACK,
    LocalProcess,
    LocalProgram,
    last_words_path,
    python,
    stats_url,
    write_secret,
)
from sshload_operator.local.proxy import write_proxy
from sshload_operator.local.sshd import SSHD_PATH, current_user, installed_sshd, without_unknown_directives
from sshload_operator.manifests import TargetPlaces, target_config
from sshload_operator.manifests.gateway import managed_gateway_endpoint
from sshload_operator.manifests.mounts import managed_endpoint
from sshload_operator.planning.estimates import leaves_files
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import ProxyPlaces
from sshload_operator.state import Role
from sshload_operator.world.keys import Keys, KeysAsked, make_keys


@dataclass(frozen=True, slots=True)
class LocalTarget:
    """How workers use the target, where it and the programs before it serve their counts, and what runs for that."""

    endpoint: Endpoint | GatewayEndpoint
    stats_url: str = ""
    in_path: Mapping[InPath, str] = field(default_factory=dict)
    processes: tuple[LocalProcess, ...] = ()
    notes: tuple[str, ...] = ()


def home_in(folder: Path) -> Path:
    """Return where a managed target makes its fixtures."""
    return folder / "home"


async def managed_target(plan: Plan, target: ManagedTarget, ports: Sequence[int], folder: Path) -> LocalTarget:
    """Write the keys and configurations of a managed target, which takes seven free ports.

    Raises LocalRunError, KeysError, OSError.
    """
    sshd_port, stats_port, proxy_port, proxy_stats_port, gateway_port, health_port, gateway_stats_port = ports
    places = TargetPlaces(
        user=current_user().pw_name,
        home=str(home_in(folder)),
        keys_dir=str(folder / "keys"),
        sshd_port=sshd_port,
        stats_port=stats_port,
    )
    has_proxy, has_gateway = target.proxy is not None, target.gateway is not None
    login_port = proxy_port if has_proxy and not has_gateway else sshd_port
    keys = await make_keys(KeysAsked(LOOPBACK, login_port, places.user, plan.spec.deadline_s))
    notes, process = _sshd(plan, target, places, keys, folder)
    endpoint: Endpoint | GatewayEndpoint
    endpoint = managed_endpoint(LOOPBACK, login_port, places.user, plan.spec.auth, places.keys_dir)
    in_path: dict[InPath, LocalProgram] = {}
    if target.proxy is not None:
        server_port = gateway_port if has_gateway else sshd_port
        proxy = ProxyPlaces(proxy_port, proxy_stats_port, LOOPBACK, server_port, speaks_http=has_gateway)
        in_path[InPath.PROXY] = write_proxy(target.proxy, proxy, folder)
    if target.gateway is not None:
        gateway = GatewayPorts(gateway_port, health_port, gateway_stats_port, server=sshd_port)
        in_path[InPath.GATEWAY] = await write_gateway(target.gateway, gateway, keys, plan.spec.deadline_s, folder)
        port = proxy_port if has_proxy else gateway_port
        endpoint = managed_gateway_endpoint(LOOPBACK, port, str(folder))
    return LocalTarget(
        endpoint,
        stats_url(stats_port),
        in_path={name: stats_url(program.stats_port) for name, program in in_path.items()},
        processes=(process, *(program.process for program in in_path.values())),
        notes=(*notes, *(note for program in in_path.values() for note in program.notes)),
    )


def _sshd(
    plan: Plan, target: ManagedTarget, places: TargetPlaces, keys: Keys, folder: Path
) -> tuple[list[str], LocalProcess]:
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
        notes.append(f"the last jump host connects to {LOOPBACK} itself: it must run on this machine")
    if any(map(leaves_files, plan.spec.scenario.mixes)):
        notes.append(f"what the scenario writes and does not remove stays in {current_user().pw_dir}")
    notes += [f"left out of sshd_config, because {sshd.name} does not know it: {line}" for line in left_out]
    command = python(
        *("sshload_target", "--config", "target.json", "--termination-log", last_words_path(folder, "target").name),
        *("--sshd", str(SSHD_PATH), "--listen-address", LOOPBACK, "--stats-host", LOOPBACK),
    )
    process = LocalProcess(name="target", role=Role.TARGET, command=command, ready_port=places.stats_port)
    return notes, process


def _environment(home: str) -> str:
    """Return the directive that keeps the user's own ~/.bashrc and the like out of the measurement."""
    return f"SetEnv HOME={home}\n"


def _write_keys(files: Mapping[str, str], keys_dir: Path) -> None:
    keys_dir.mkdir(mode=0o700)
    for name, text in files.items():
        write_secret(keys_dir / name, text)
