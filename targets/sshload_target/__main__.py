"""`python -m sshload_target`."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from sshload_contract.image_user import name_own_user

from sshload_target.errors import TargetError
from sshload_target.target import Arguments, run

_TERMINATION_MESSAGE_BYTES = 4_096  # what the kubelet keeps
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h


def main() -> int:
    """Run a target and return the process's exit code: 0 after a stop signal, 78 for a refused configuration."""
    arguments = _parse(sys.argv[1:])
    try:
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
        termination_log.write_bytes(reason.encode()[-_TERMINATION_MESSAGE_BYTES:])
    return exit_code


def _parse(argv: Sequence[str]) -> Arguments:
    """Return the arguments; end the process with a usage message where they are wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m sshload_target",
        description="Runs an sshd that is to be measured, with its keys and fixtures, and counts what it sees.",
    )
    parser.add_argument("--config", type=Path, required=True, help="TargetConfig as JSON")
    parser.add_argument("--termination-log", type=Path, help="file that takes the reason of a failure")
    parser.add_argument("--stats-host", default="", help="address of the HTTP server, all by default")
    parser.add_argument("--listen-address", default="", help="address of sshd, all by default")
    parser.add_argument("--sshd", type=Path, help="the sshd to run, by default the one on the path")
    given = parser.parse_args(argv)
    return Arguments(
        config=given.config,
        termination_log=given.termination_log,
        stats_host=given.stats_host,
        listen_address=given.listen_address,
        sshd=given.sshd,
    )


if __name__ == "__main__":
    sys.exit(main())
