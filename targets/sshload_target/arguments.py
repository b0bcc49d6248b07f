"""The command line of `python -m sshload_target`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the command line says. Empty addresses mean every address; `sshd` is None for the one on the path."""

    config: Path
    termination_log: Path | None
    stats_host: str
    listen_address: str
    sshd: Path | None


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Return the arguments; ends the process with a usage message where they are wrong."""
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
