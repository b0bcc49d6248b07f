"""The two roles of a process. Everything that they need is imported here, after gevent has patched the process."""

import argparse
import gc
import logging
import resource
import signal
import sys
from typing import TYPE_CHECKING

import gevent
from gevent.socket import wait_read
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.coordination.messages import encrypt_lines
from sshload_worker.coordination.processes import PortBoard

if TYPE_CHECKING:
    from sshload_worker.coordination.worker import Worker

_FILES_OF_MASTER = 2_048
"""Room for the most workers that a run may have, and a bound of the connections of strangers: ZeroMQ has none."""


def run_master(config: RunConfig, token: str, options: argparse.Namespace) -> int:
    """Run the master; return the exit code."""
    from sshload_worker.coordination.http_server import serve  # noqa: PLC0415 - the worker needs neither
    from sshload_worker.coordination.master import Master  # noqa: PLC0415

    _set_up_process(token)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES_OF_MASTER, most_files), most_files))
    master = Master(config, token)
    gevent.signal_handler(signal.SIGTERM, master.stop, "told to terminate")
    gevent.signal_handler(signal.SIGINT, master.stop, "interrupted")
    master.listen(options.bind_host, options.bind_port)
    serve(master, options.bind_host, options.http_port)
    master.run()
    return 0


def run_worker(config: RunConfig, token: str, options: argparse.Namespace) -> int:
    """Run one worker process; return the exit code."""
    from sshload_worker.coordination.worker import Worker  # noqa: PLC0415 - the master needs no SSH

    _set_up_process(token)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    process = options.process or 0
    worker = Worker(config, options.index * config.processes_per_pod + process, PortBoard(options.board, process))
    gevent.signal_handler(signal.SIGTERM, worker.leave, "told to terminate")
    gevent.signal_handler(signal.SIGINT, worker.leave, "interrupted")
    if options.process is not None:
        gevent.spawn(_watch_parent, worker)
    return worker.run(options.master_host, options.master_port)


def _watch_parent(worker: "Worker") -> None:
    """Leave when the pipe from the parent closes. Nobody writes to it."""
    wait_read(sys.stdin.fileno())
    worker.leave("the pod's parent process is gone")


def _set_up_process(token: str) -> None:
    gc.freeze()  # collections leave out what was imported
    encrypt_lines(token)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")  # warnings and worse, on stderr
