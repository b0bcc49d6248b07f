"""Where the metrics are pushed to, and how often. Imported by every operator, so it has none of OTLP's messages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

LEAST_INTERVAL_S: Final = 5
MOST_INTERVAL_S: Final = 3_600
_PATH: Final = "/v1/metrics"


@dataclass(frozen=True, slots=True)
class OtlpOptions:
    """Where to push the metrics and how often. `secret` is the folder of headers and certificates, None for none.

    Raises ValueError for a Secret with an http URL: anybody on the network could read the headers.
    """

    url: str
    interval_s: int
    secret: Path | None

    def __post_init__(self) -> None:
        if self.secret is not None and not self.is_tls:
            raise ValueError("headers and certificates of a Secret are for https only")

    @property
    def is_tls(self) -> bool:
        """Whether the collector is reached over TLS."""
        return self.url.lower().startswith("https:")


def metrics_url(endpoint: str) -> str:
    """Return the URL for metrics of an endpoint of OTLP over HTTP: `http://collector:4318` takes them at /v1/metrics.

    Raises ValueError unless it is an http or https URL, and for a URL with user, password, query or fragment: logs and
    the list of processes would show them.
    """
    try:
        url = urlsplit(endpoint)
        is_url = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_url = False
    if not is_url or not all("!" <= character <= "~" for character in endpoint):
        raise ValueError("must be a URL of http or https with a host, such as http://collector.monitoring:4318")
    if "@" in url.netloc or "?" in endpoint or "#" in endpoint:
        raise ValueError("must have no user, password, query or fragment: put credentials into headers of the Secret")
    return endpoint.rstrip("/") + _PATH


def interval_s(text: str) -> int:
    """Return the seconds between two pushes; raises ValueError for a text that is not a number, or out of bounds."""
    seconds = int(text) if text.isdecimal() else 0
    if not LEAST_INTERVAL_S <= seconds <= MOST_INTERVAL_S:
        raise ValueError(f"must be from {LEAST_INTERVAL_S} to {MOST_INTERVAL_S} seconds")
    return seconds
