"""Where the metrics are pushed to: a URL without credentials, and headers over TLS only."""

import subprocess
import sys
from pathlib import Path

import pytest
from sshload_operator.control.otlp.options import OtlpOptions, interval_s, metrics_url

REFUSED = [
    "", "collector:4318", "ftp://collector", "http://", "http://collector:0", "http://collector:99999", "http://[::1",
    "http://collector:x", "http://col lector", "http://user:hush@collector", "http://hush@collector",
    "https://collector?token=hush", "https://collector#hush", "https://collector?", "https://collector/\nhush",
]  # fmt: skip


def test_metrics_go_to_the_path_that_otlp_has_for_them() -> None:
    assert metrics_url("http://collector.monitoring:4318") == "http://collector.monitoring:4318/v1/metrics"
    assert metrics_url("https://[::1]:4318/") == "https://[::1]:4318/v1/metrics"
    assert metrics_url("https://otlp.example.com/prefix") == "https://otlp.example.com/prefix/v1/metrics"


@pytest.mark.parametrize("endpoint", REFUSED)
def test_what_is_no_endpoint_is_refused_in_words_without_it(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"^must ") as refused:
        metrics_url(endpoint)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("text", ["4", "3601", "-60", "60s", "", "1e2"])
def test_an_interval_is_a_number_of_seconds_within_its_bounds(text: str) -> None:
    assert (interval_s("5"), interval_s("3600")) == (5, 3_600)
    with pytest.raises(ValueError, match="from 5 to 3600"):
        interval_s(text)


def test_headers_are_sent_over_tls_only() -> None:
    assert OtlpOptions("https://collector/v1/metrics", 60, Path("/secret")).is_tls
    with pytest.raises(ValueError, match="https only"):
        OtlpOptions("http://collector/v1/metrics", 60, Path("/secret"))


@pytest.mark.slow
def test_an_operator_that_pushes_nothing_has_none_of_otlps_messages_in_memory() -> None:
    program = (
        "import sys, sshload_operator.__main__;"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'google.protobuf'))])"
    )
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout == b"[]\n"


@pytest.mark.slow
def test_an_operator_with_an_endpoint_that_is_none_says_so_and_does_not_begin() -> None:
    arguments = ["-m", "sshload_operator", "--installation=/dev/null", "--otlp-endpoint=http://user:hush@collector"]
    ended = subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "must have no user" in ended.stderr
    assert "hush" not in ended.stderr
