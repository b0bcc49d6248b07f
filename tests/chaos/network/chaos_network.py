"""Runs a test by each client library through each bad network, and prints a table of how the runs ended.

Exit code 1 says that a run ended otherwise than it should; what was wrong is printed as it is found.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bad_network import NETWORK_FAULTS, bad_network, far_server, problems, run_through
from local_cli import Ended
from lossy_link import Passed
from ssh_server import Keys, SshServer, make_keys
from sshload_contract.client import Library
from statuses import steps_of


def main() -> int:
    """Run what the command line asks for, and return the exit code."""
    libraries = [str(library) for library in Library]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", choices=[*libraries, []], help="the client libraries (all)")
    parser.add_argument("--only", default="", help="only networks whose name has this text")
    arguments = parser.parse_args()
    began = time.monotonic()
    chosen = [name for name in NETWORK_FAULTS if arguments.only in name]
    if not chosen:
        parser.error(f"ONLY: no network has {arguments.only!r} in its name: {'; '.join(NETWORK_FAULTS)}")
    with tempfile.TemporaryDirectory(prefix="sshload-network-") as folder:
        keys = make_keys(Path(folder))
        wrong = [
            _run(Library(library), name, keys, Path(folder))
            for library in arguments.libraries or libraries
            for name in chosen
        ]
    print(f"{len(wrong)} runs, {sum(wrong)} wrong ends, in {time.monotonic() - began:.0f} s")
    return 1 if any(wrong) else 0


def _run(library: Library, name: str, keys: Keys, folder: Path) -> bool:
    fault = NETWORK_FAULTS[name]
    with bad_network() as network, far_server(network, folder, keys) as server:
        ended, passed = run_through(network, server, folder, fault, library)
        found = list(problems(fault, ended))
        _print(library, name, ended, passed, server)
    for problem in found:
        print(f"    wrong: {problem}", flush=True)
    return bool(found)


def _print(library: Library, name: str, ended: Ended, passed: Passed, server: SshServer) -> None:
    results = ended.status.get("results", {}) if ended.out.startswith("{") else {}
    outcomes: dict[str, int] = {}
    for error in results.get("errors", ()):
        outcomes[error["outcome"]] = outcomes.get(error["outcome"], 0) + error["count"]
    well = results.get("iterations", 0) - results.get("failures", 0)
    did = ", ".join(f"{count} {outcome}" for outcome, count in {"ok": well, **outcomes}.items())
    connect = steps_of({"results": results}).get("connect")
    packets = f"{passed.passed} packets through, {passed.lost} lost, {passed.reordered} early, {passed.reset} reset"
    mean = f"connect {'-' if connect is None else connect.mean_ms} ms on average"
    print(f"{library:12} {name:40} {did}; {mean}; {packets}; {server.accepted()} logins", flush=True)


if __name__ == "__main__":
    sys.exit(main())
