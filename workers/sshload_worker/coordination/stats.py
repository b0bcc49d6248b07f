"""What the master requests from the servers of a run over HTTP: whether they are ready, and their counts."""

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import TypeVar
from urllib.parse import urlsplit

from gevent import Timeout
from sshload_contract.bounds import ContractError
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.ldap import PAUSE_PATH
from sshload_contract.wire.program import ProgramStats

_STATS_TIMEOUT_S = 10.0  # long, because the server is at its limit when this is requested
_LARGEST_ANSWER_BYTES = 65_536
_Stats = TypeVar("_Stats")
log = logging.getLogger(__name__)


class UnresponsiveError(Exception):
    """The HTTP port of a server does not answer as expected. The message says what is wrong."""


def check_ready(stats_url: str, timeout_s: float) -> None:
    """Return if the server at `stats_url` reports that it is ready; raises UnresponsiveError if it does not."""
    _get(urlsplit(stats_url)._replace(path="/readyz").geturl(), timeout_s)


def ask_for_pause(stats_url: str, timeout_s: float) -> None:
    """Have the target at `stats_url` let its directory pause; raises UnresponsiveError if it does not say so."""
    _get(urlsplit(stats_url)._replace(path=PAUSE_PATH).geturl(), timeout_s)


def fetch_stats(kind: type[_Stats], stats_url: str) -> _Stats:
    """Return a server's counts; raises UnresponsiveError if it does not report them."""
    text = _get(stats_url, _STATS_TIMEOUT_S)
    try:
        return from_json(kind, text)
    except ContractError as error:
        raise UnresponsiveError(f"{stats_url}: {error}") from error


def stats_in_path(urls: Mapping[InPath, str]) -> Mapping[InPath, ProgramStats]:
    """Return what the programs in the path have used so far, without those that do not report it."""
    return dict(_reported(urls))


def _reported(urls: Mapping[InPath, str]) -> Iterator[tuple[InPath, ProgramStats]]:
    for part, url in urls.items():
        try:
            yield part, fetch_stats(ProgramStats, url)
        except UnresponsiveError as problem:
            log.warning("no counts from the %s: %s", part, problem)


def _get(url: str, timeout_s: float) -> str:
    """Return the content at an http URL. `timeout_s` limits the whole request: a timeout of each read limits nothing.

    It uses no proxy and follows no redirect, because only the server itself must answer.
    """
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port)
    try:
        with Timeout(timeout_s, TimeoutError(f"no whole answer within {timeout_s:g} s")):
            connection.request("GET", place.path)
            answer = connection.getresponse()
            text = answer.read(_LARGEST_ANSWER_BYTES).decode("utf-8", "replace")
    except (OSError, HTTPException) as error:
        raise UnresponsiveError(f"{url}: {error or type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status != HTTPStatus.OK:
        raise UnresponsiveError(f"{url}: HTTP status {answer.status}")
    return text
