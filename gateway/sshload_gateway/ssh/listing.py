"""The entries of a directory, by SFTP, in pages."""

import asyncio
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import asyncssh

from sshload_gateway.ssh.failures import ServerError, SessionRefusedError
from sshload_gateway.ssh.lean import lean_channel

_CLOSE_S: Final = 1.0
_LONGEST_NAME: Final = 1_024
"""In bytes: no file system has longer ones, and a page's cursor holds no longer one."""
_NOT_AS_EXPECTED: Final = "the server does not speak SFTP as expected"
Kind = Literal["file", "directory", "symlink", "other", "unknown"]
_TYPES: Final[tuple[tuple[Callable[[int], bool], Kind], ...]] = (
    (stat.S_ISDIR, "directory"),
    (stat.S_ISREG, "file"),
    (stat.S_ISLNK, "symlink"),
)


asyncssh.sftp.MAX_SFTP_PACKET_LEN = 256 * 1024  # as OpenSSH has it; one of 4 MiB could have 350,000 names to read


class ListingError(Exception):
    """The directory cannot be listed, with a sentence for the caller."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. What the server does not say is None; the time is in seconds since 1970."""

    name: bytes
    kind: Kind
    size_bytes: int | None
    permissions: int | None
    modified_at: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in the order of their names' bytes, and whether there are more behind them."""

    entries: tuple[Entry, ...]
    has_more: bool


@dataclass(frozen=True, slots=True)
class Request:
    """Which page: at most `limit` entries whose names come after `after`."""

    path: str
    after: bytes
    limit: int
    most_entries: int
    timeout_s: float


class PageOf:
    """Finds the page of a request among entries that come in any order, and keeps no more than it needs for that."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._kept: list[Entry] = []
        self._read = 0

    def add(self, entry: Entry) -> None:
        """Look at one more entry; raises ListingError if there are too many."""
        self._read += 1
        if self._read > self._request.most_entries + 2:  # . and ..
            raise ListingError(f"the directory has more than {self._request.most_entries} entries")
        if entry.name in (b".", b"..") or entry.name <= self._request.after:
            return
        self._kept.append(entry)
        if len(self._kept) >= 2 * (self._request.limit + 1):
            self._keep_first()

    def page(self) -> Page:
        """Return the page, once all entries were added."""
        self._keep_first()
        limit = self._request.limit
        return Page(tuple(self._kept[:limit]), has_more=len(self._kept) > limit)

    def _keep_first(self) -> None:
        """Drop what is behind the page, but for one entry that tells that there is more."""
        self._kept.sort(key=lambda one: one.name)
        del self._kept[self._request.limit + 1 :]


class Listing:
    """One try to list a directory on a connection."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._is_open = False

    @property
    def is_sound(self) -> bool:
        """Whether no channel is left open."""
        return not self._is_open

    async def run(self, ssh: asyncssh.SSHClientConnection) -> Page:
        """Return the page; raises SessionRefusedError, ServerError and ListingError."""
        try:
            async with asyncio.timeout(self._request.timeout_s):
                sftp = await self._open(ssh)
                try:
                    return await self._page(sftp)
                finally:
                    await self._close(sftp)
        except TimeoutError:
            raise ServerError(f"the server did not list the directory in {self._request.timeout_s:g} s") from None

    async def _close(self, sftp: asyncssh.SFTPClient) -> None:
        """Close the channel; one that does not close in time stays open, and its connection is not given to others."""
        sftp.exit()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await sftp.wait_closed()
                self._is_open = False

    async def _open(self, ssh: asyncssh.SSHClientConnection) -> asyncssh.SFTPClient:
        self._is_open = True
        try:
            sftp = await ssh.start_sftp_client(path_encoding=None)
        except asyncssh.ChannelOpenError as error:
            self._is_open = False
            if error.code == asyncssh.OPEN_REQUEST_SESSION_FAILED:
                raise ServerError("the server has no SFTP") from None
            raise SessionRefusedError from None
        except (asyncssh.Error, OSError, ValueError):  # ValueError where a packet cannot be read
            raise ServerError(_NOT_AS_EXPECTED) from None
        for channel in ssh._channels.values():  # noqa: SLF001 - see `lean`
            lean_channel(channel)
        return sftp

    async def _page(self, sftp: asyncssh.SFTPClient) -> Page:
        found = PageOf(self._request)
        try:
            async for name in sftp.scandir(self._request.path.encode()):
                found.add(_entry(name))
        except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath, asyncssh.SFTPNotADirectory):
            raise ListingError("there is no such directory") from None
        except asyncssh.SFTPPermissionDenied:
            raise ListingError("the user may not read this directory") from None
        except asyncssh.SFTPError as error:
            raise ServerError(f"the server's SFTP failed with code {error.code}") from None
        except (asyncssh.Error, OSError, ValueError):
            raise ServerError(_NOT_AS_EXPECTED) from None
        return found.page()


def _entry(name: asyncssh.SFTPName) -> Entry:
    attributes = name.attrs
    mode = attributes.permissions
    kind: Kind = "other" if mode is not None else "unknown"
    if mode is not None:
        kind = next((word for is_one, word in _TYPES if is_one(mode)), kind)
    raw = name.filename if isinstance(name.filename, bytes) else name.filename.encode()
    if len(raw) > _LONGEST_NAME:
        raise ServerError(f"the server lists a name of more than {_LONGEST_NAME} bytes")
    permissions = None if mode is None else stat.S_IMODE(mode)
    return Entry(raw, kind, attributes.size, permissions, attributes.mtime)
