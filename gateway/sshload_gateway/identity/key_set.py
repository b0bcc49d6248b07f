"""The issuer's keys: a JWKS from a file or from a URL, read again when it is old or lacks a key."""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import jwt

from sshload_gateway.bounded import joined

_LOG: Final = logging.getLogger(__name__)
_LARGEST_BYTES: Final = 256 * 1024
_FETCH_S: Final = 5.0
_OLD_S: Final = 300.0
_AT_MOST_EVERY_S: Final = 5.0
"""Tokens with made-up key ids let the set be read no more often than this."""

Source = Callable[[], Awaitable[bytes]]
"""Reads a JWKS; raises OSError, or ValueError where what it reads cannot be one."""


class KeySetUnavailableError(Exception):
    """There are no keys of the issuer yet: its key set cannot be read."""


class JwksKeys:
    """Keys of a JWKS. Where it cannot be read again, the keys of the last time are used on."""

    def __init__(self, source: Source, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._keys: Mapping[str, jwt.PyJWK] | None = None
        self._fresh_until_s = float("-inf")
        self._tried_at_s = float("-inf")
        self._reading = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the key of this id, None if there is none; raises KeySetUnavailableError."""
        await self.check()
        if self._keys is not None and key_id not in self._keys:
            await self._read_again()
        return self._keys.get(key_id) if self._keys is not None else None

    async def check(self) -> None:
        """Raise KeySetUnavailableError where there are no keys. Old ones are used while they are read again."""
        if self._keys is None:
            await self._read_again()
        elif self._clock() >= self._fresh_until_s and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.create_task(self._read_again())
        if self._keys is None:
            raise KeySetUnavailableError("the issuer's key set cannot be read")

    async def _read_again(self) -> None:
        """Read the key set, but not so soon after the last time; those that ask meanwhile wait for the same answer."""
        async with self._reading:
            if self._clock() - self._tried_at_s >= _AT_MOST_EVERY_S:
                await self._read()

    async def _read(self) -> None:
        try:
            self._keys = parse_key_set(await self._source())
            self._fresh_until_s = self._clock() + _OLD_S
        except (OSError, ValueError, jwt.PyJWTError) as error:
            _LOG.warning("the issuer's key set cannot be read: %s", type(error.__cause__ or error).__name__)
        self._tried_at_s = self._clock()

    async def close(self) -> None:
        """Give up what is being read."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait((self._renewing,))


def from_file(path: Path) -> Source:
    """Return what reads a JWKS from a file."""

    async def read() -> bytes:
        return await asyncio.to_thread(_bounded, path)

    return read


def from_url(url: str) -> Source:
    """Return what fetches a JWKS from a URL. Redirects are not followed."""
    import aiohttp  # noqa: PLC0415

    limits = aiohttp.ClientTimeout(total=_FETCH_S)

    async def fetch() -> bytes:
        try:
            async with (
                aiohttp.ClientSession(timeout=limits) as session,
                session.get(url, allow_redirects=False) as answer,
            ):
                if answer.status != 200:  # noqa: PLR2004 - OK
                    raise ValueError(f"the answer is {answer.status}")
                return await joined(answer.content.iter_chunked(_LARGEST_BYTES), _LARGEST_BYTES, "the key set")
        except aiohttp.ClientError as error:
            raise OSError("the issuer does not answer") from error

    return fetch


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST_BYTES + 1)
    if len(content) > _LARGEST_BYTES:
        raise ValueError("the key set is too large")
    return content


def parse_key_set(content: bytes) -> Mapping[str, jwt.PyJWK]:
    """Return the keys that have an id and can verify signatures; raises ValueError if there is none."""
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("the key set is nested too deeply") from None
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise ValueError("the key set is no JWKS")  # noqa: TRY004 - as for every other fault of it
    found = {}
    for entry in keys:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or not isinstance(entry.get("kid"), str):
            continue
        try:
            found[entry["kid"]] = jwt.PyJWK(entry)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue  # of a kind that is not known here
    if not found:
        raise ValueError("the key set has no key that can be used")
    return found
