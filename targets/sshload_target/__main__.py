"""`python -m sshload_target`: prepare, run sshd, observe it, and end every process."""

import argparse
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sshload_contract.image_user import name_own_user

from sshload_target.errors import DaemonEndedError, SshdEndedError, TargetError
from sshload_target.facts import read_facts
from sshload_target.http_server import serve
from sshload_target.observer import Observer
from sshload_target.pid1 import (
    AWAITED_SIGNALS,
    adopt_orphans,
    end_descendants,
    exit_in_words,
    wait_for_end,
)
from sshload_target.prepare import prepare, read_config
from sshload_target.sshd.listen_queue import ListenQueue
from sshload_target.sshd.log import SshdLog
from sshload_target.sshd.program import find_sshd, read_version, start
from sshload_target.system.daemons import RunningDaemon, daemons_of, start_daemons
from sshload_target.system.namespace import enter
from sshload_target.usage.process_tree import ProcessTreeReader
from sshload_target.usage.resources import Resources, choose_reader

if TYPE_CHECKING:
    from sshload_target.ldap.running import Directory
    from sshload_target.system.make import MadeSystem

_END_GRACE_S = 3.0
_LOG_DRAIN_TIMEOUT_S = 1.0

_TERMINATION_MESSAGE_BYTES = 4_096  # what the kubelet keeps
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h


@dataclass(frozen=True, slots=True)
class Arguments:
    """The command line. Empty addresses mean every address; `sshd` None means the one on the path.

    `own_namespaces` is for a machine that is not the target's own: see system/namespace.py.
    """

    config: Path
    termination_log: Path | None
    stats_host: str
    listen_address: str
    sshd: Path | None
    own_namespaces: bool = False


def run(arguments: Arguments) -> None:
    """Run a target until a stop signal comes; raises TargetError if it ends otherwise."""
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED_SIGNALS)
    adopt_orphans()
    config = read_config(arguments.config)
    sshd = arguments.sshd or find_sshd()
    log = SshdLog(config.sshd_port)
    resources = Resources(ProcessTreeReader() if arguments.own_namespaces else choose_reader())
    observer = Observer(read_version(sshd), log, ListenQueue(config.sshd_port, arguments.listen_address), resources)
    server = serve(arguments.stats_host, config.stats_port, observer)
    try:
        with tempfile.TemporaryDirectory(prefix="sshload-target-") as private_dir:
            own = Path(private_dir)
            prepared = prepare(config, own, sshd, arguments.listen_address)
            daemons = start_daemons(daemons_of(config, prepared.system, own, arguments.listen_address), own)
            observer.directory = _running_directory(prepared.system, daemons)
            observer.facts = read_facts(prepared.effective, config.user)
            _run_sshd(sshd, prepared.sshd_config, log, resources, daemons)
    finally:
        server.close()


def _running_directory(system: "MadeSystem | None", daemons: Sequence[RunningDaemon]) -> "Directory | None":
    if system is None or system.ldap is None:
        return None
    from sshload_target.ldap.running import running_directory  # noqa: PLC0415 - other targets have none

    return running_directory(system.ldap, system.accounts, daemons)


def _run_sshd(
    sshd: Path, sshd_config: Path, log: SshdLog, resources: Resources, daemons: Sequence[RunningDaemon]
) -> None:
    pid, log_fd = start(sshd, sshd_config)
    reader = threading.Thread(target=log.read_from, args=(log_fd,), name="sshd-log", daemon=True)
    reader.start()
    ended = wait_for_end(pid, resources.read, [daemon.pid for daemon in daemons])
    end_descendants(_END_GRACE_S)
    reader.join(_LOG_DRAIN_TIMEOUT_S)
    if ended is None:
        return
    if ended.pid == pid:
        raise SshdEndedError(f"sshd ended by itself, {exit_in_words(ended.exit_code)}; its last lines:\n{log.tail}")
    raise DaemonEndedError(next(one for one in daemons if one.pid == ended.pid).end_in_words(ended.exit_code))


def main() -> int:
    """Run a target and return the process's exit code: 0 after a stop signal, 78 for a refused configuration."""
    arguments = _parse(sys.argv[1:])
    try:
        if arguments.own_namespaces:
            enter(Path.cwd())
        name_own_user()
        run(arguments)
    except TargetError as error:
        return _fail(str(error), error.exit_code, arguments.termination_log)
    except Exception as error:  # noqa: BLE001 -- the process's edge: whatever it is, the container has to say it
        traceback.print_exc()
        return _fail(f"{type(error).__name__}: {error}", _INTERNAL_ERROR, arguments.termination_log)
    return 0


def _fail(reason: str, exit_code: int, termination_log: Path | None) -> int:
    sys.stderr.write(f"sshload target: {reason}\n")
    if termination_log is not None and exit_code != 0:
        with suppress(OSError):  # where the namespaces could not be made, and nothing can be written: stderr has it
            termination_log.write_bytes(reason.encode()[-_TERMINATION_MESSAGE_BYTES:])
    return exit_code


def _parse(argv: Sequence[str]) -> Arguments:
    """Return the arguments; end the process with a usage message where they are wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m sshload_target",
        description="Runs an sshd that is to be measured, with its keys and fixtures, and counts what it sees.",
    )
    parser.add_argument("--config", type=Path, required=True, help="TargetConfig as JSON")
    parser.add_argument("--termination-log", type=Path, help="file for the reason of a failure")
    parser.add_argument("--stats-host", default="", help="address of the HTTP server, all by default")
    parser.add_argument("--listen-address", default="", help="address of sshd, all by default")
    parser.add_argument("--sshd", type=Path, help="the sshd to run, by default the one on the path")
    parser.add_argument(
        "--own-namespaces", action="store_true", help="change nothing of this machine: mounts and processes of its own"
    )
    given = parser.parse_args(argv)
    return Arguments(
        config=given.config,
        termination_log=given.termination_log,
        stats_host=given.stats_host,
        listen_address=given.listen_address,
        sshd=given.sshd,
        own_namespaces=given.own_namespaces,
    )


if __name__ == "__main__":
    sys.exit(main())
