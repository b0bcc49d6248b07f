"""The HTTP side of a target, and of a program in the path: health, /stats, and a target's /metrics and /pause."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Protocol

from sshload_contract.front.text_port import TEXT, Answer, TextPort
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.ldap import PAUSE_PATH

from sshload_target.errors import TargetError
from sshload_target.observer import Observer


class Observed(Protocol):
    """A server whose state and counts are answered, from any thread."""

    @property
    def ready(self) -> bool:
        """Whether it listens."""
        ...

    def stats(self) -> object:
        """Return its counts by now, a value of the contract."""
        ...


def serve(host: str, port: int, observed: Observed) -> TextPort:
    """Answer in a thread of its own until the port is closed. An empty `host` means every address, IPv6 and IPv4.

    Raises TargetError if the port cannot be had.
    """
    try:
        return TextPort(host, port, _pages(observed))
    except OSError as error:
        raise TargetError(f"HTTP cannot be served on {host or 'any address'} port {port}: {error}") from error


def _pages(observed: Observed) -> dict[str, Callable[[], Answer]]:

    def readyz() -> Answer:
        if observed.ready:
            return Answer(HTTPStatus.OK, TEXT, b"ok\n")
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, b"it does not listen yet\n")

    pages: dict[str, Callable[[], Answer]] = {
        "/healthz": lambda: Answer(HTTPStatus.OK, TEXT, b"ok\n"),
        "/readyz": readyz,
        "/stats": lambda: Answer(HTTPStatus.OK, "application/json", to_json(observed.stats()).encode()),
    }
    if isinstance(observed, Observer):
        pages["/metrics"] = partial(_metrics, observed)
        pages[PAUSE_PATH] = partial(_pause, observed)
    return pages


def _pause(observer: Observer) -> Answer:
    if observer.directory is None or not observer.directory.pauses:
        return Answer(HTTPStatus.NOT_FOUND, TEXT, b"this target has no directory that pauses\n")
    observer.directory.pause()
    return Answer(HTTPStatus.OK, TEXT, b"ok\n")


def _metrics(observer: Observer) -> Answer:
    from sshload_target import metrics  # noqa: PLC0415 - few targets are asked for them

    return Answer(HTTPStatus.OK, metrics.CONTENT_TYPE, metrics.metrics(observer))
