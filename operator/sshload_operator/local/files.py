"""What the processes of a local run are given: ports on loopback, a private folder of files, and their commands."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from sshload_contract.client import Library
from sshload_contract.wire.codec import to_json

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.local.config_map_files import file_paths
from sshload_operator.local.credentials import Credentials, target_endpoint, via_endpoints
from sshload_operator.local.ports import free_ports
from sshload_operator.local.process import LOOPBACK, LocalProcess, python, require_libraries, write_secret
from sshload_operator.local.process_tree import at_real_time, may_run_at_real_time
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.local.target import LocalTarget, managed_target
from sshload_operator.manifests import Places, run_config
from sshload_operator.manifests.mounts import TOKEN_FILE
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

MASTER: Final = "master"
"""The name of the process that adds up what the workers report."""

OWN_SSH2 = "1.2.0.post1+sshload.4"
"""The version of the SSH library that the workers need: the last line of ssh-library/versions."""

LIBRARIES = ("gevent", "locust", "prometheus_client", "ssh2")
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
class LocalPlan:
    """All processes of a run, in the order of their start, and what a reader should know of how they differ."""

    processes: tuple[LocalProcess, ...]
    notes: tuple[str, ...]


async def prepare(plan: Plan, own: OwnFiles, folder: Path) -> LocalPlan:
    """Write keys and configurations into `folder`, which must be private; raises LocalRunError, KeysError, OSError."""
    spec = plan.spec
    check_libraries(spec)
    free = iter(free_ports(9))
    locust_port, master_port = next(free), next(free)
    if spec.target.managed is not None:
        target = await managed_target(plan, spec.target, free, folder)
    else:
        target = LocalTarget(target_endpoint(spec.target, own.target))
    run_places = Places(
        target=target.endpoint,
        via=via_endpoints(spec.via, own.via, own.target.known_hosts),
        allow_list=None,  # its user dials from a machine of his own
        stats_url=target.stats_url,
        files=file_paths(spec.files, own.files, own.test, plan.test.namespace, folder),
        token_path=str(folder / TOKEN_FILE),
        in_path=target.in_path,
        kdc=target.kdc,
    )
    write_secret(folder / TOKEN_FILE, secrets.token_hex(32))
    (folder / "run.json").write_text(to_json(run_config(plan, run_places)), encoding="utf-8")
    workers = tuple(_worker(index, locust_port) for index in range(spec.workers.replicas))
    notes = target.notes
    if may_run_at_real_time():
        workers = tuple(replace(worker, command=at_real_time(worker.command)) for worker in workers)
    else:
        notes = (*notes, "the workers run at ordinary priority: as root they would not have to wait for a CPU")
    processes = (*target.processes, _master(locust_port, master_port), *workers)
    return LocalPlan(processes, notes)


def _master(locust_port: int, http_port: int) -> LocalProcess:
    command = python(
        *("sshload_worker", "--role", "master", "--config", "run.json", "--bind-host", LOOPBACK),
        *("--bind-port", str(locust_port), "--http-port", str(http_port)),
    )
    return LocalProcess(name=MASTER, role=Role.MASTER, command=command, ready_port=http_port)


def _worker(index: int, locust_port: int) -> LocalProcess:
    command = python(
        *("sshload_worker", "--role", "worker", "--config", "run.json", "--index", str(index)),
        *("--master-host", LOOPBACK, "--master-port", str(locust_port)),
    )
    return LocalProcess(name=f"worker-{index}", role=Role.WORKER, command=command, ready_port=None)


def check_libraries(spec: LoadTestSpec) -> None:
    """Raise LocalRunError if a library is missing here that the processes of a test import."""
    require_libraries("the workers and the target need", (*LIBRARIES, *spec.client.library.traits.imports))
    check_ssh2_build(spec, version("ssh2-python"))


def check_ssh2_build(spec: LoadTestSpec, version: str) -> None:
    """Raise LocalRunError if the test needs ssh2-python, and this version of it is not the build that sshload needs."""
    is_used = spec.target.access.speaks_ssh and spec.client.library is Library.SSH2_PYTHON
    if is_used and version != OWN_SSH2:
        raise LocalRunError(
            f"spec.client.library: ssh2-python is {version} and has to be {OWN_SSH2}, the build with what the workers "
            f"call and with fixes against hostile servers: {_COMPILE}, or name another library in spec.client.library"
        )
