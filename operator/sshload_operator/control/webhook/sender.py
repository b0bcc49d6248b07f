"""One attempt to post an event: a CloudEvent in the structured mode, signed as Standard Webhooks specifies.

The signature covers the event's id, the time of the attempt and the body. So a receiver can refuse a body from somebody
else, and a recorded one that is replayed.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum, unique
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

_CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
_ANSWER_LIMIT_S: Final = 10
_TIMEOUT: Final = aiohttp.ClientTimeout(total=_ANSWER_LIMIT_S, connect=5)
_KEY_FILE: Final = "key"
_AUTHORITY_FILE: Final = "ca.crt"
_ENCODED_KEY: Final = b"whsec_"
_SHORTEST_KEY_BYTES: Final = 24
_LARGEST_KEY_BYTES: Final = 4_096


@unique
class Outcome(StrEnum):
    """How an attempt ended. Only DELIVERED is an end: all others are followed by another attempt, until GIVEN_UP."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    UNSIGNED = "unsigned"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt ended, and why in words without the URL's path, which may be a credential."""

    outcome: Outcome
    message: str = ""


class KeyFileError(Exception):
    """The HMAC key cannot be read, or is not a key. The text never contains any part of it."""


class Sender:
    """Posts to one URL. `folder` has the HMAC key, and the certificate of the receiver's authority if there is one.

    Both are read for each attempt, so that a renewed Secret needs no restart.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self.origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))

    async def post(self, event: Mapping[str, Any], now: datetime) -> Attempt:
        """Post an event once. An answer from 200 to 299 within 10 s delivers it; a redirect is not followed."""
        body = json.dumps(event, separators=(",", ":")).encode()
        try:
            key, tls = await asyncio.to_thread(self._read_secret)
        except KeyFileError as error:
            return Attempt(Outcome.UNSIGNED, str(error))
        signed = signed_headers(key, str(event["id"]), int(now.timestamp()), body)
        try:
            return await self._send(body, {"Content-Type": _CONTENT_TYPE, **signed}, tls)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return Attempt(Outcome.UNREACHABLE, f"no answer: {type(error).__name__}")

    async def _send(self, body: bytes, headers: Mapping[str, str], tls: ssl.SSLContext) -> Attempt:
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), timeout=_TIMEOUT) as session,
            session.post(self._url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
                return Attempt(Outcome.DELIVERED)
            return Attempt(Outcome.REFUSED, f"the receiver answered {answer.status}")

    def _read_secret(self) -> tuple[bytes, ssl.SSLContext]:
        authority = self._folder / _AUTHORITY_FILE
        try:
            with (self._folder / _KEY_FILE).open("rb") as file:
                key = read_key(file.read(_LARGEST_KEY_BYTES + 1))
            return key, ssl.create_default_context(cafile=authority if authority.exists() else None)
        except OSError as error:  # ssl.SSLError is one
            problem = (
                f"{type(error).__name__}: it needs the HMAC key in the file key, and CA certificates in ca.crt if it"
                " has that file"
            )
            raise KeyFileError(f"the webhook's Secret in {self._folder} cannot be used: {problem}") from error


def read_key(content: bytes) -> bytes:
    """Return the HMAC key that a file holds: `whsec_` and Base64, or any other bytes as they are.

    A line end after it is removed. Raises KeyFileError for less than 24 bytes, and for more than 4096.
    """
    key = content.rstrip(b"\r\n")
    if len(key) > _LARGEST_KEY_BYTES:
        raise KeyFileError(f"the HMAC key has more than {_LARGEST_KEY_BYTES} bytes")
    if key.startswith(_ENCODED_KEY):
        try:
            key = base64.b64decode(key.removeprefix(_ENCODED_KEY), validate=True)
        except binascii.Error:
            raise KeyFileError("the HMAC key begins with whsec_, and what follows is not Base64") from None
    if len(key) < _SHORTEST_KEY_BYTES:
        raise KeyFileError(f"the HMAC key has less than {_SHORTEST_KEY_BYTES} bytes")
    return key


def signed_headers(key: bytes, event_id: str, unix_s: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of Standard Webhooks: the event's id, the time of the attempt, and the signature of all."""
    digest = hmac.new(key, f"{event_id}.{unix_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(unix_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
