"""What the master asks a managed target: whether it is ready, and what it has counted."""

import urllib.request
from urllib.parse import urlsplit

from sshload_contract.codec import from_json
from sshload_contract.errors import ContractError
from sshload_contract.target_stats import TargetStats

_READY_TIMEOUT_S = 1.0
_STATS_TIMEOUT_S = 10.0  # patient, because the server is at its limit when it is asked
_LARGEST_ANSWER_BYTES = 65_536


class TargetSilentError(Exception):
    """The target's HTTP port does not answer as it should; the message says how."""


def check_ready(stats_url: str) -> None:
    """Return if the target at `stats_url` says that it is ready; raises TargetSilentError where it does not."""
    _get(urlsplit(stats_url)._replace(path="/readyz").geturl(), _READY_TIMEOUT_S)


def fetch_stats(stats_url: str) -> TargetStats:
    """Return the target's counts; raises TargetSilentError where they cannot be had."""
    text = _get(stats_url, _STATS_TIMEOUT_S)
    try:
        return from_json(TargetStats, text)
    except ContractError as error:
        raise TargetSilentError(f"{stats_url}: {error}") from error


def _get(url: str, timeout_s: float) -> str:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - the operator's own URL
            return str(answer.read(_LARGEST_ANSWER_BYTES).decode("utf-8", "replace"))
    except OSError as error:  # URLError, HTTPError and timeouts are OSErrors
        raise TargetSilentError(f"{url}: {error}") from error
