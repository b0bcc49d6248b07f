"""`python -m sshload_target.in_path`: run a program in the path, answer what it uses, and end every process."""

import argparse
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from sshload_target.errors import ProgramEndedError, TargetError
from sshload_target.http_server import serve
from sshload_target.in_path.observer import ProgramObserver
from sshload_target.in_path.program import make_ready, read_config, start
from sshload_target.pid1 import AWAITED_SIGNALS, adopt_orphans, end_descendants, exit_in_words, wait_for_end

_END_GRACE_S = 1.5  # of the 2 s that a pod in the path is given
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h


def run(config_file: Path, host: str) -> None:
    """Run the program until a stop signal comes; raises TargetError if it ends otherwise.

    It, and the HTTP server beside it, listen on `host`: an address, or every one where it is empty.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED_SIGNALS)
    adopt_orphans()
    config = read_config(config_file)
    observer = ProgramObserver(config.port)
    server = serve(host, config.stats_port, observer)
    try:
        with tempfile.TemporaryDirectory(prefix="sshload-program-") as folder:
            pid = start(make_ready(config, host, Path(folder)))
            ended = wait_for_end(pid, observer.stats)
            end_descendants(_END_GRACE_S)
    finally:
        server.close()
    if ended is not None:
        raise ProgramEndedError(f"{config.command[0]} ended by itself, {exit_in_words(ended.exit_code)}")


def main() -> int:
    """Run the program and return the process's exit code: 0 after a stop signal, 78 where its configuration is refused.

    The reason of a failure goes to standard error, after what the program said there.
    """
    parser = argparse.ArgumentParser(
        prog="python -m sshload_target.in_path",
        description="Runs a program in the path to a server that is measured, and counts what it uses.",
    )
    parser.add_argument("--config", type=Path, required=True, help="ProgramConfig as JSON")
    parser.add_argument("--host", default="", help="address to listen on, all by default")
    given = parser.parse_args()
    try:
        run(given.config, given.host)
    except TargetError as error:
        sys.stderr.write(f"sshload: {error}\n")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 -- the process's edge: whatever it is, the container has to say it
        traceback.print_exc()
        sys.stderr.write(f"sshload: {type(error).__name__}: {error}\n")
        return _INTERNAL_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
