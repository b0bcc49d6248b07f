"""`python -m sshload_operator`: the operator's process."""

import argparse
import asyncio
import gc
import os
import socket
from pathlib import Path

import prometheus_client
from sshload_contract.image_user import name_own_user

from sshload_operator.control.api_server.lease import Terms
from sshload_operator.control.channels import read_channels
from sshload_operator.control.handlers import Operator, Options, PagesOptions
from sshload_operator.control.logs import FORMATS, set_up_log
from sshload_operator.control.metrics.serving_certificate import CertificateError
from sshload_operator.control.otlp.options import OtlpOptions, interval_s, metrics_url
from sshload_operator.planning.installation import read_installation


def main() -> None:
    """Run the operator until it is told to stop."""
    parser = _parser()
    arguments = parser.parse_args()
    otlp = _otlp(parser, arguments)
    set_up_log(arguments.log_level, arguments.log_format)
    name_own_user()
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves it unannotated
    installation = read_installation(arguments.installation.read_text(encoding="utf-8"))
    options = Options(
        namespaces=tuple(arguments.namespace),
        installation=installation,
        metrics_port=arguments.metrics_port,
        secure_metrics=arguments.metrics_secure,
        metrics_certificate=arguments.metrics_certificate,
        channels=read_channels(installation.channels),
        channel_secrets=arguments.channel_secrets,
        pages=PagesOptions(arguments.ui_port, arguments.ui_certificate) if arguments.ui else None,
        otlp=otlp,
        health_port=arguments.health_port,
        lease_namespace=arguments.lease_namespace,
        lease=Terms(arguments.identity, arguments.lease_duration),
    )
    gc.freeze()  # collections of garbage, which hold up the event loop, leave out what was imported
    try:
        asyncio.run(Operator(options).run())
    except CertificateError as error:
        raise SystemExit(f"sshload-operator: metrics or pages cannot be served over TLS: {error}") from None


def _otlp(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> OtlpOptions | None:
    if not arguments.otlp_endpoint:
        return None
    try:
        url, every_s = metrics_url(arguments.otlp_endpoint), interval_s(arguments.otlp_interval)
        return OtlpOptions(url, every_s, arguments.otlp_secret)
    except ValueError as error:  # without the value, which may have a password
        parser.error(f"--otlp-endpoint, --otlp-interval and --otlp-secret: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sshload-operator", description="Runs the SSHLoadTests of a cluster.")
    parser.add_argument(
        "--namespace", action="append", default=[], help="watch this namespace only; may be given again; default: all"
    )
    parser.add_argument(
        "--installation", type=Path, default=Path("/etc/sshload/installation.yaml"), help="images and allowed targets"
    )
    parser.add_argument("--metrics-port", type=int, default=9100, help="for /metrics")
    parser.add_argument(
        "--metrics-secure",
        action="store_true",
        help="serve /metrics over TLS, only to users whom RBAC allows to get it",
    )
    parser.add_argument(
        "--metrics-certificate", type=Path, help="folder with tls.crt and tls.key for that; default: self-signed"
    )
    parser.add_argument(
        "--channel-secrets",
        type=Path,
        default=Path("/etc/sshload-channels"),
        help="folder that has, for each channel of the installation, a folder with its Secret",
    )
    parser.add_argument(
        "--ui",
        action="store_true",
        help="serve pages over TLS, only to users whom RBAC allows to get /ui or /ui/NAMESPACE",
    )
    parser.add_argument("--ui-port", type=int, default=8443, help="for the pages")
    parser.add_argument(
        "--ui-certificate", type=Path, help="folder with tls.crt and tls.key for that; default: self-signed"
    )
    parser.add_argument(
        "--otlp-endpoint", default="", help="push the metrics by OTLP over HTTP to the path /v1/metrics of this URL"
    )
    parser.add_argument("--otlp-interval", default="60", help="seconds from one push to the next")
    parser.add_argument(
        "--otlp-secret",
        type=Path,
        help="folder with headers, ca.crt, tls.crt and tls.key for these pushes; each file is optional",
    )
    parser.add_argument("--health-port", type=int, default=8080, help="for /healthz and /readyz")
    parser.add_argument(
        "--identity",
        default=f"{socket.gethostname()}-{os.getpid()}",
        help="holder of its Lease; default: host name and process id",
    )
    parser.add_argument(
        "--lease-namespace", default="kube-system", help="namespace of its Lease, unless --namespace is given"
    )
    parser.add_argument(
        "--lease-duration", type=int, default=30, help="seconds until another operator may take over the Lease"
    )
    parser.add_argument("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    parser.add_argument("--log-format", default=FORMATS[0], choices=FORMATS)
    return parser


if __name__ == "__main__":
    main()
