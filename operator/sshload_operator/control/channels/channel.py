"""What a channel answers, and one attempt to tell its receiver of an end. What the receiver answers is not read."""

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from sshload_operator.control.channels.ends import Notification, WantedEnds
from sshload_operator.control.posting import Attempt, Posted, SecretError, is_taken

_TIMEOUT: Final = aiohttp.ClientTimeout(total=10, connect=5)
_AUTHORITY_FILE: Final = "ca.crt"
URL_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Request:
    """One POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel(WantedEnds, ABC):
    """Where ends of runs are told, as the installation declares it."""

    @property
    @abstractmethod
    def receiver(self) -> str:
        """The receiver as logs name it, without what may be a credential."""

    @abstractmethod
    def request(self, ended: Notification, secret: Path, now: datetime) -> Request:
        """Return the request that tells of an end; `secret` is the folder of the channel's Secret.

        It is read each time, so that a renewed Secret needs no restart. Raises SecretError, and OSError where a file
        cannot be read.
        """


class Sender:
    """Posts to one channel. `secret` is the folder of its Secret, with the certificate of the receiver's authority too.

    That certificate is in `ca.crt`, if there is one.
    """

    def __init__(self, channel: Channel, secret: Path) -> None:
        self._channel = channel
        self._secret = secret

    async def post(self, ended: Notification, now: datetime) -> Attempt:
        """Post an end once. An answer from 200 to 299 within 10 s delivers it; a redirect is not followed."""
        try:
            request, tls = await asyncio.to_thread(self._prepare, ended, now)
        except SecretError as error:
            return Attempt(Posted.UNREADABLE, str(error))
        except OSError as error:  # ssl.SSLError is one
            what = f"{type(error).__name__} at {Path(error.filename or _AUTHORITY_FILE).name}"
            return Attempt(Posted.UNREADABLE, f"the Secret in {self._secret} cannot be used: {what}")
        try:
            return await _send(request, tls)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return Attempt(Posted.UNREACHABLE, f"no answer: {type(error).__name__}")

    def _prepare(self, ended: Notification, now: datetime) -> tuple[Request, ssl.SSLContext]:
        authority = self._secret / _AUTHORITY_FILE
        request = self._channel.request(ended, self._secret, now)
        return request, ssl.create_default_context(cafile=authority if authority.exists() else None)


async def _send(request: Request, tls: ssl.SSLContext) -> Attempt:
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), timeout=_TIMEOUT) as session,
        session.post(request.url, data=request.body, headers=request.headers, allow_redirects=False) as answer,
    ):
        if is_taken(answer.status):
            return Attempt(Posted.DELIVERED)
        return Attempt(Posted.REFUSED, f"the receiver answered {answer.status}")


def is_url(text: str) -> bool:
    """Return whether a text is a URL that can be posted to, without the user and password that logs would show."""
    try:
        url = urlsplit(text)
        has_port = url.port != 0
    except ValueError:
        return False
    is_printable = all("!" <= character <= "~" for character in text)
    return (
        is_printable and url.scheme in ("http", "https") and bool(url.hostname) and has_port and "@" not in url.netloc
    )
