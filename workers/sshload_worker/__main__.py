"""`python -m sshload_worker --role master|worker --config FILE`: one process of a run, or all workers of a pod."""

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from sshload_contract.bounds import ContractError
from sshload_contract.image_user import name_own_user
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.run_config import RunConfig

_USAGE_ERROR = 2
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


def main(arguments: list[str]) -> int:
    """Run one process of a run, or all processes of a pod, and return the exit code."""
    signal.signal(signal.SIGTERM, _terminate)  # a process without a handler ignores it if it is PID 1
    options = _parse(arguments)
    try:
        name_own_user()
        config = from_json(RunConfig, options.config.read_text(encoding="utf-8"))
    except (OSError, ContractError) as error:
        print(f"{options.config}: {error}", file=sys.stderr)  # noqa: T201 - before there is anything to log
        return _USAGE_ERROR
    if options.role == "worker" and config.processes_per_pod > 1 and options.process is None:
        from sshload_worker.coordination.processes import run_processes  # noqa: PLC0415 - most pods have one process

        return run_processes(config.processes_per_pod, arguments)
    _import_locust(options.role, config)
    from sshload_worker.coordination.messages import read_token  # noqa: PLC0415 - likewise
    from sshload_worker.coordination.roles import run_master, run_worker  # noqa: PLC0415 - likewise

    try:
        token = read_token(Path(config.token_path))
    except (OSError, ValueError) as error:
        print(f"the run's token: {error}", file=sys.stderr)  # noqa: T201 - before there is anything to log
        return _USAGE_ERROR
    run = run_master if options.role == "master" else run_worker
    return run(config, token, options)


def _import_locust(role: str, config: RunConfig) -> None:
    from sshload_worker.locust_runner import locust_import  # noqa: PLC0415 - the parent of several processes has none

    if role == "worker" and config.scenario.locustfile_path:
        locust_import.import_whole()
    else:
        locust_import.import_runner()


def _terminate(number: int, _: FrameType | None) -> None:
    """Exit, while nothing has begun. The roles replace this handler as soon as they have something to end."""
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
        help=f"worker: which pod of all this is, from 0 (default: ${_INDEX_VARIABLE}, else 0)",
    )
    parser.add_argument(
        "--process", type=int, help="worker: which process of its pod this is, from 0 (default: start all of them)"
    )
    parser.add_argument("--board", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.role == "worker" and not options.master_host:
        parser.error("--role worker needs --master-host")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
