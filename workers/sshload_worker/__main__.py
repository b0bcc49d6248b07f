"""`python -m sshload_worker --role master|worker --config FILE`: one process of a run."""

import gc

gc.disable()  # until all is imported: nothing turns to garbage before, and the walks are a tenth of the start's CPU

from gevent import monkey  # noqa: E402 - likewise

monkey.patch_all()

import argparse  # noqa: E402 - nothing may be imported before the patch
import logging  # noqa: E402
import os  # noqa: E402
import resource  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from types import FrameType  # noqa: E402

import gevent  # noqa: E402
from sshload_contract.codec import from_json  # noqa: E402
from sshload_contract.errors import ContractError  # noqa: E402
from sshload_contract.run_config import RunConfig  # noqa: E402

_USAGE_ERROR = 2
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


def main(arguments: list[str]) -> int:
    """Run one process of a run and return its exit code."""
    signal.signal(signal.SIGTERM, _terminate)  # as PID 1, a process without a handler is deaf to it
    options = _parse(arguments)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    try:
        config = from_json(RunConfig, options.config.read_text(encoding="utf-8"))
    except (OSError, ContractError) as error:
        print(f"{options.config}: {error}", file=sys.stderr)  # noqa: T201 - before there is anything to log
        return _USAGE_ERROR
    return _run_master(config, options) if options.role == "master" else _run_worker(config, options)


def _run_master(config: RunConfig, options: argparse.Namespace) -> int:
    from sshload_worker.coordination.http_server import serve  # noqa: PLC0415 - the worker needs neither
    from sshload_worker.coordination.master import Master  # noqa: PLC0415

    gc.enable()
    master = Master(config)
    gevent.signal_handler(signal.SIGTERM, master.stop, "told to terminate")
    gevent.signal_handler(signal.SIGINT, master.stop, "interrupted")
    master.listen(options.bind_host, options.bind_port)
    serve(master, options.bind_host, options.http_port)
    master.run()
    return 0


def _run_worker(config: RunConfig, options: argparse.Namespace) -> int:
    from sshload_worker.coordination.worker import Worker  # noqa: PLC0415 - the master needs no SSH

    gc.enable()
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    worker = Worker(config, options.index)
    gevent.signal_handler(signal.SIGTERM, worker.leave, "told to terminate")
    gevent.signal_handler(signal.SIGINT, worker.leave, "interrupted")
    return worker.run(options.master_host, options.master_port)


def _terminate(number: int, _: FrameType | None) -> None:
    """End while nothing has begun yet; the roles take the signal over once they have something to end."""
    sys.exit(128 + number)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sshload_worker", description=__doc__)
    parser.add_argument("--role", choices=("master", "worker"), required=True)
    parser.add_argument("--config", type=Path, required=True, help="the run as JSON (RunConfig)")
    parser.add_argument("--bind-host", default="*", help="master: the address to listen on (default: all)")
    parser.add_argument("--bind-port", type=int, default=5557, help="master: the port for workers")
    parser.add_argument("--http-port", type=int, default=9201, help="master: the port for probes and metrics")
    parser.add_argument("--master-host", help="worker: where the master is")
    parser.add_argument("--master-port", type=int, default=5557, help="worker: the master's port")
    parser.add_argument(
        "--index",
        type=int,
        default=int(os.environ.get(_INDEX_VARIABLE, "0")),
        help=f"worker: which one of all this is, from 0 (default: ${_INDEX_VARIABLE}, else 0)",
    )
    options = parser.parse_args(arguments)
    if options.role == "worker" and not options.master_host:
        parser.error("--role worker needs --master-host")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
