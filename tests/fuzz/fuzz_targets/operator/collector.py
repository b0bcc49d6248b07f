"""What a collector of metrics answers, and the headers that a person writes for it.

Input: an answer, which is read as a file of headers too.
Oracle: an answer is a number of points, 0 or more. Headers are refused, or have names and values that end no line of
HTTP and set none that the operator sets itself.
"""

from collections.abc import Iterator

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)
from sshload_operator.control.otlp.messages import rejected_points
from sshload_operator.control.otlp.secret import headers_of
from sshload_operator.control.posting import SecretError


def seeds() -> Iterator[bytes]:
    """Yield answers of each kind, and headers of each kind."""
    for rejected in (0, 7, -1, 2**63 - 1):
        said = ExportMetricsPartialSuccess(rejected_data_points=rejected, error_message="why")
        yield ExportMetricsServiceResponse(partial_success=said).SerializeToString()
    yield b"Authorization: Bearer a:b\r\n\nX-Scope-OrgID: 7\n"
    yield b"Host: elsewhere\n"
    yield b"no header"


def check(data: bytes) -> None:
    """Read an answer, and headers."""
    assert rejected_points(data) >= 0
    try:
        headers = headers_of(data.decode("latin-1"))
    except SecretError:
        return
    for name, value in headers.items():
        assert name.lower() not in {"host", "content-length", "content-type", "content-encoding", "transfer-encoding"}
        assert all("!" <= character <= "~" for character in name)
        assert all(" " <= character <= "~" for character in value)
