"""The target of a local run: a managed one is this machine's sshd, with the programs in the path to it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from sshload_contract.kerberos import Kdc
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.run_config import TargetEndpoint
from sshload_contract.wire.target import TargetPlaces

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.local.gateway import local_gateway
from sshload_operator.local.process import (
    LOOPBACK,
    Here,
    LocalProcess,
    LocalProgram,
    last_words_path,
    python,
    stats_url,
    write_secret,
)
from sshload_operator.local.proxy import local_proxy
from sshload_operator.local.sshd import (
    SSHD_PATH,
    current_user,
    installed_sshd,
    user_who_logs_in,
    without_unknown_directives,
)
from sshload_operator.local.system import check_system
from sshload_operator.manifests import target_config
from sshload_operator.manifests.mounts import KEYS_FOLDER, managed_endpoint
from sshload_operator.manifests.run_config import used_by
from sshload_operator.planning.estimates import leaves_files
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role
from sshload_operator.world.keys import Keys, KeysAsked, make_keys


@dataclass(frozen=True, slots=True)
class LocalTarget:
    """How workers use the target, where it and the programs before it serve their counts, and what runs for that."""

    endpoint: TargetEndpoint
    stats_url: str = ""
    in_path: Mapping[InPath, str] = field(default_factory=dict)
    processes: tuple[LocalProcess, ...] = ()
    notes: tuple[str, ...] = ()
    kdc: Kdc | None = None


def home_in(folder: Path) -> Path:
    """Return where a managed target makes its fixtures."""
    return folder / "home"


_NOTES_ON_HOME: Final = ("its sessions have a HOME of their own, so that your shell's start-up files are not measured",)
_NOTES_ON_SYSTEM: Final = (
    (
        "it runs as root with this machine's PAM, in namespaces of its own: its accounts, logs and homes are in memory,"
        " and it can change nothing of this machine"
    ),
)
_PROGRAMS: Final[Mapping[InPath, Callable[[Any, Here], Awaitable[LocalProgram]]]] = {
    InPath.PROXY: local_proxy,
    InPath.GATEWAY: local_gateway,
}


async def managed_target(plan: Plan, target: ManagedTarget, free: Iterator[int], folder: Path) -> LocalTarget:
    """Write the keys and configurations of a managed target, which takes up to eight free ports.

    Raises LocalRunError, KeysError, OSError.
    """
    sshd_port, stats_port = next(free), next(free)
    path = [*(next(free) for _ in target.in_path), sshd_port]
    user, home = _login_user(target, folder)
    places = TargetPlaces(
        user=user,
        home=home,
        keys_dir=str(folder / KEYS_FOLDER),
        sshd_port=sshd_port,
        stats_port=stats_port,
        kdc_port=next(free) if target.has_kdc else 0,
        host=LOOPBACK,
    )
    login_port, valid_s = path[0] if target.access.speaks_ssh else sshd_port, plan.spec.deadline_s
    keys = await make_keys(KeysAsked.of(plan.spec, target, LOOPBACK, login_port, user))
    notes, process = _sshd(plan, target, places, keys, folder)
    login = managed_endpoint(plan, target, LOOPBACK, login_port, user, places.keys_dir)
    speaks_http = not target.access.speaks_ssh
    in_path = {
        part: await _PROGRAMS[part](program, Here(port, behind, free, folder, user, keys, valid_s, speaks_http))
        for (part, program), (port, behind) in zip(target.in_path.items(), pairwise(path), strict=True)
    }
    return LocalTarget(
        used_by(target, LOOPBACK, path[0], places.keys_dir, login),
        stats_url(stats_port),
        kdc=Kdc(LOOPBACK, places.kdc_port) if target.has_kdc else None,
        in_path={part: stats_url(program.config.stats_port) for part, program in in_path.items()},
        processes=(process, *(_process(part, program, folder) for part, program in in_path.items())),
        notes=(*notes, *(note for program in in_path.values() for note in program.notes)),
    )


def _login_user(target: ManagedTarget, folder: Path) -> tuple[str, str]:
    """Return who logs in, and the home with the fixtures; raises LocalRunError if this machine cannot have that."""
    if target.system is None:
        return user_who_logs_in().pw_name, str(home_in(folder))
    check_system()
    return target.system.first_user


def _process(part: InPath, program: LocalProgram, folder: Path) -> LocalProcess:
    """Write what configures a program in the path, and return its process."""
    file = folder / f"{part}.json"
    file.write_text(to_json(program.config), encoding="utf-8")
    command = python("sshload_target.in_path", "--config", file.name, "--host", LOOPBACK)
    return LocalProcess(part, Role(part), command, program.ready_port)


def _sshd(
    plan: Plan, target: ManagedTarget, places: TargetPlaces, keys: Keys, folder: Path
) -> tuple[list[str], LocalProcess]:
    sshd = installed_sshd()
    config = target_config(target, places)
    text, left_out = without_unknown_directives(config.sshd_config, sshd.version)
    _write_keys(keys.files(), Path(places.keys_dir))
    own_start_files = _environment(places.home) if target.system is None else ""
    config = replace(config, sshd_config=text + own_start_files)
    (folder / "target.json").write_text(to_json(config), encoding="utf-8")
    notes = [
        f"the target is this machine's {sshd.name}, which shares its CPUs with the workers",
        *(_NOTES_ON_HOME if target.system is None else _NOTES_ON_SYSTEM),
    ]
    if plan.spec.via:
        notes.append(f"the last jump host connects to {LOOPBACK} itself: it must run on this machine")
    if target.system is None and any(map(leaves_files, plan.spec.scenario.mixes)):
        notes.append(f"what the scenario writes and does not remove stays in {current_user().pw_dir}")
    notes += [f"left out of sshd_config, because {sshd.name} does not know it: {line}" for line in left_out]
    command = python(
        *("sshload_target", "--config", "target.json", "--termination-log", last_words_path(folder, "target").name),
        *("--sshd", str(SSHD_PATH), "--listen-address", LOOPBACK, "--stats-host", LOOPBACK),
        *(() if target.system is None else ("--own-namespaces",)),
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
