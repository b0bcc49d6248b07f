"""`python -m sshload_target`."""

import sys
import traceback
from pathlib import Path

from sshload_contract.image_user import name_own_user

from sshload_target.arguments import parse_arguments
from sshload_target.errors import TargetError
from sshload_target.target import run

_TERMINATION_MESSAGE_BYTES = 4_096  # what the kubelet keeps
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h


def main() -> int:
    """Run a target and return the process's exit code: 0 after a stop signal, 78 for a refused configuration."""
    arguments = parse_arguments(sys.argv[1:])
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


if __name__ == "__main__":
    sys.exit(main())
