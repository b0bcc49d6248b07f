"""`python -m sshload_operator`: the operator's process."""

import argparse
import logging
from pathlib import Path

import prometheus_client

from sshload_operator.control.handlers import Operator, Options
from sshload_operator.planning.installation import read_installation


def main() -> None:
    """Run the operator until it is told to stop."""
    arguments = _parser().parse_args()
    logging.basicConfig(level=arguments.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it unannotated
    installation = read_installation(arguments.installation.read_text(encoding="utf-8"))
    options = Options(
        namespaces=tuple(arguments.namespace),
        installation=installation,
        metrics_port=arguments.metrics_port,
        liveness_url=f"http://0.0.0.0:{arguments.liveness_port}/healthz",
    )
    Operator(options).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sshload-operator", description="Runs the SSHLoadTests of a cluster.")
    parser.add_argument(
        "--namespace", action="append", default=[], help="watch this namespace only; may be given again; default: all"
    )
    parser.add_argument(
        "--installation", type=Path, default=Path("/etc/sshload/installation.yaml"), help="images and allowed targets"
    )
    parser.add_argument("--metrics-port", type=int, default=9100, help="for /metrics and /readyz")
    parser.add_argument("--liveness-port", type=int, default=8080, help="for /healthz")
    parser.add_argument("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    return parser


if __name__ == "__main__":
    main()
