"""The life cycle of a target: prepare, run sshd, observe it, and end every process."""

import signal
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from sshload_target.errors import SshdEndedError
from sshload_target.http_server import StatsServer
from sshload_target.observer import Observer
from sshload_target.pid1 import AWAITED_SIGNALS, adopt_orphans, end_descendants, wait_for_end
from sshload_target.prepare import prepare, read_config
from sshload_target.sshd.log import SshdLog
from sshload_target.sshd.program import find_sshd, read_version, start
from sshload_target.usage.resources import Resources, choose_reader

_END_GRACE_S = 3.0
_LOG_DRAIN_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Arguments:
    """The command line. Empty addresses mean every address; `sshd` None means the one on the path."""

    config: Path
    termination_log: Path | None
    stats_host: str
    listen_address: str
    sshd: Path | None


def run(arguments: Arguments) -> None:
    """Run a target until a stop signal comes; raises TargetError where it ends otherwise."""
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED_SIGNALS)
    adopt_orphans()
    config = read_config(arguments.config)
    sshd = arguments.sshd or find_sshd()
    log = SshdLog(config.sshd_port)
    resources = Resources(choose_reader())
    observer = Observer(read_version(sshd), log, resources)
    server = StatsServer(arguments.stats_host, config.stats_port, observer)
    try:
        with tempfile.TemporaryDirectory(prefix="sshload-target-") as private_dir:
            sshd_config = prepare(config, Path(private_dir), sshd, arguments.listen_address)
            _run_sshd(sshd, sshd_config, log, resources)
    finally:
        server.close()


def _run_sshd(sshd: Path, sshd_config: Path, log: SshdLog, resources: Resources) -> None:
    pid, log_fd = start(sshd, sshd_config)
    reader = threading.Thread(target=log.read_from, args=(log_fd,), name="sshd-log", daemon=True)
    reader.start()
    exit_code = wait_for_end(pid, resources.read)
    end_descendants(_END_GRACE_S)
    reader.join(_LOG_DRAIN_TIMEOUT_S)
    if exit_code is not None:
        raise SshdEndedError(f"sshd ended by itself, {_describe_exit(exit_code)}; its last lines:\n{log.tail}")


def _describe_exit(exit_code: int) -> str:
    return f"exit code {exit_code}" if exit_code >= 0 else f"by {signal.Signals(-exit_code).name}"
