"""The managed target: a Deployment of one sshd, and the Service in front of it."""

import re
from collections.abc import Iterator
from dataclasses import asdict

from sshload_contract.names import IMAGE_USER, IMAGE_USER_HOME
from sshload_contract.population import POPULATION_FILE, POPULATION_PATTERN
from sshload_contract.wire.target import (
    RepositoryFixture,
    TargetConfig,
    TargetPlaces,
)

from sshload_operator.api.sshd import TARGETS_DIRECTIVES, settings
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.api.targets.system import System
from sshload_operator.manifests.deployment import deployment, service
from sshload_operator.manifests.labels import (
    KDC_PORT,
    KDC_PORT_NAME,
    METRICS_PORT_NAME,
    SSH_PORT,
    SSH_PORT_NAME,
    TARGET_HTTP_PORT,
)
from sshload_operator.manifests.mounts import (
    CONFIG_DIR,
    HOST_CERTIFICATE_FILES,
    HOST_KEY_FILES,
    KEYS_DIR,
    PUBLIC_KEY_FILE,
    ROOT_READS,
    TARGET_FILE,
    USER_CA_FILE,
    config_source,
    config_volume,
    empty_dir,
    run_keys_source,
)
from sshload_operator.manifests.pod import Container
from sshload_operator.manifests.system_target import of_system
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Role

_MIB = 1024 * 1024
_FILE_OVERHEAD_BYTES = 4096
_REPOSITORY_OVERHEAD_BYTES = 256 * 1024
_HOME_OWN_MIB = 1
_ACCOUNT_BYTES = 4 * 4096
"""What a home takes before anybody has logged in: two folders, a key, and a block to spare."""
_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def cluster_target_places(target: ManagedTarget) -> TargetPlaces:
    """Return the places of a target in a cluster, where the image has a user for one without accounts of its own."""
    user, home = (IMAGE_USER, IMAGE_USER_HOME) if target.system is None else target.system.first_user
    return TargetPlaces(
        user=user,
        home=home,
        keys_dir=KEYS_DIR,
        sshd_port=SSH_PORT,
        stats_port=TARGET_HTTP_PORT,
        kdc_port=KDC_PORT if target.has_kdc else 0,
    )


def target_config(target: ManagedTarget, places: TargetPlaces) -> TargetConfig:
    """Return the configuration of the target's PID 1."""
    return TargetConfig(
        **asdict(places),
        sshd_config=sshd_config(target, places.user),
        files=target.fixtures.files,
        directories=target.fixtures.directories,
        repositories=target.fixtures.repositories,
        system=None if target.system is None else target.system.wire,
        revoked_keys=target.sshd.revoked_keys,
    )


def target_objects(plan: Plan, target: ManagedTarget) -> tuple[Manifest, Manifest]:
    """Return the Service through which workers reach sshd, and the master the target's counts, and the Deployment."""
    ports = {SSH_PORT_NAME: SSH_PORT, METRICS_PORT_NAME: TARGET_HTTP_PORT}
    if target.has_kdc:
        ports[KDC_PORT_NAME] = KDC_PORT
    of_population = () if target.system is None else (POPULATION_FILE,)
    certificates = HOST_CERTIFICATE_FILES if target.sshd.host_certificates else ()
    keys = run_keys_source(plan, (PUBLIC_KEY_FILE, USER_CA_FILE, *HOST_KEY_FILES, *of_population, *certificates))
    config = config_source(plan, TARGET_FILE)
    container = Container(
        role=Role.TARGET,
        command=("python", "-m", "sshload_target", "--config", f"{CONFIG_DIR}/{TARGET_FILE}"),
        ports=ports,
        readiness_port=METRICS_PORT_NAME,
        mounts=({"name": "home", "mountPath": "/home"},),
        volumes=(
            config_volume(plan, config, keys, mode=None if target.system is None else ROOT_READS),
            empty_dir("home", f"{_home_mib(target)}Mi"),
        ),
    )
    if target.system is not None:
        container = of_system(plan, container, _home_mib(target), user_namespace=target.system.user_namespace)
    return service(plan, Role.TARGET, ports), deployment(plan, target, container)


def _home_mib(target: ManagedTarget) -> int:
    """Return the size limit of the home volume: the fixtures with a block for each file, and room to write."""
    content_bytes = sum(file.size_bytes + _FILE_OVERHEAD_BYTES for file in target.fixtures.files)
    entries_bytes = sum((directory.files + 1) * _FILE_OVERHEAD_BYTES for directory in target.fixtures.directories)
    history_bytes = sum(map(_history_bytes, target.fixtures.repositories))
    homes_bytes = 0 if target.system is None else target.system.users * _ACCOUNT_BYTES
    asked_bytes = content_bytes + entries_bytes + history_bytes + homes_bytes + target.fixtures.spare_bytes
    return -(-asked_bytes // _MIB) + _HOME_OWN_MIB


def _history_bytes(repository: RepositoryFixture) -> int:
    """Return the most space that a bare repository takes: its content, and three small objects for each commit."""
    return repository.size_bytes + _REPOSITORY_OVERHEAD_BYTES + 3 * repository.commits * _FILE_OVERHEAD_BYTES


def sshd_config(target: ManagedTarget, user: str = IMAGE_USER) -> str:
    """Return the text of sshd_config, without Port, PidFile and the paths of keys, which the target adds.

    An extra directive replaces ours of the same name; it also comes first, because sshd uses the first value that it
    reads: so it also wins where a directive has two names. Raises ValueError for a directive that is reserved, or that
    would not stay in its line.
    """
    extra = {keyword.lower() for keyword in target.sshd.extra_config}
    lines = [_extra_line(keyword, value) for keyword, value in sorted(target.sshd.extra_config.items())]
    lines += [_line(keyword, value) for keyword, value in _directives(target, user) if keyword.lower() not in extra]
    return "".join(f"{line}\n" for line in lines)


def _directives(target: ManagedTarget, user: str) -> Iterator[tuple[str, str]]:
    yield from _of_one_user(user) if target.system is None else _of_system(target.system)
    yield "StrictModes", "yes"
    yield from settings(target.sshd)


def _of_one_user(user: str) -> Iterator[tuple[str, str]]:
    yield "AllowUsers", user
    yield "PubkeyAuthentication", "yes"
    yield "PasswordAuthentication", "no"
    yield "KbdInteractiveAuthentication", "no"
    yield "UsePAM", "no"


def _of_system(system: System) -> Iterator[tuple[str, str]]:
    """Yield what distributions have, and that nobody but the accounts of the run logs in."""
    yield "AllowUsers", POPULATION_PATTERN
    yield "PubkeyAuthentication", "yes"
    yield "PasswordAuthentication", "yes"
    yield "KbdInteractiveAuthentication", "yes"
    yield "UsePAM", "yes"
    yield "PrintMotd", "no"  # PAM prints it
    if system.ldap is not None:
        yield "AuthorizedKeysFile", "none"
        yield "AuthorizedKeysCommand", "/usr/bin/sss_ssh_authorizedkeys"
        yield "AuthorizedKeysCommandUser", "nobody"
    if system.kerberos is not None:
        yield "GSSAPIAuthentication", "yes"
        yield "GSSAPIStrictAcceptorCheck", "no"  # clients know the server by the name of a Service, not by its own
    if system.second_factor is not None:
        yield "AuthenticationMethods", "publickey,keyboard-interactive"
    if system.pam.lastlog is False:
        yield "PrintLastLog", "no"


def _extra_line(keyword: str, value: str) -> str:
    if _KEYWORD.fullmatch(keyword) is None:
        raise ValueError(f"{keyword!r} is not the name of an sshd_config directive")
    if keyword.lower() in TARGETS_DIRECTIVES:
        raise ValueError(f"the directive {keyword} belongs to the target and cannot be set")
    return _line(keyword, value)


def _line(keyword: str, value: str) -> str:
    if not value.strip():
        raise ValueError(f"the directive {keyword} has no value")
    if _CONTROL_CHARACTER.search(value):
        raise ValueError(f"the value of {keyword} holds a control character or a line break")
    return f"{keyword} {value}"
