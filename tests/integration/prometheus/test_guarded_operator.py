"""A real Prometheus scrapes guarded metrics of an operator: over TLS, with the token of a service account."""

import socket
from pathlib import Path
from typing import Any

from live_cluster import LiveCluster
from metrics_readers import certificate_folder, token_of, token_of_reader
from operator_process import OperatorProcess
from prometheus_server import prometheus


def _over_tls(certificate: Path, credentials: Path, token: str) -> dict[str, Any]:
    credentials.touch(mode=0o600)
    credentials.write_text(token, encoding="ascii")
    return {
        "scheme": "https",
        "authorization": {"credentials_file": str(credentials)},
        "tls_config": {"ca_file": str(certificate / "tls.crt"), "server_name": socket.gethostname()},
    }


def test_prometheus_scrapes_guarded_metrics_with_a_token_that_may_and_with_no_other(
    operator: OperatorProcess, cluster: LiveCluster, tmp_path: Path
) -> None:
    certificate = certificate_folder(tmp_path / "certificate")
    operator.more_arguments = ("--metrics-secure", f"--metrics-certificate={certificate}")
    operator.start()
    with token_of_reader(cluster, "prometheus") as reader:
        tokens = {"reader": reader, "stranger": token_of(cluster, "stranger")}
        jobs = {job: _over_tls(certificate, tmp_path / job, token) for job, token in tokens.items()}
        with prometheus(tmp_path, dict.fromkeys(jobs, operator.metrics_port), jobs) as server:
            server.wait_for('up{job="reader"}', 1)
            server.wait_for('min(sshload_operator_api_requests_total{job="reader"}) > bool 0', 1)
            server.wait_for_refusal("stranger", "403 Forbidden")
            server.wait_for('max_over_time(up{job="stranger"}[5m])', 0)
