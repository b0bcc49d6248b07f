"""The GSS-API of a client (RFC 2744), and MIT Kerberos' credential stores: the calls of the system's own library.

It is the library that ssh uses, so whoever has ssh has it: nothing needs to be compiled. Every call may wait for a KDC,
so all of them belong into a thread of their own.
"""

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Any, Final

from sshload_worker.outcomes import GeneratorFaultError

_LIBRARY: Final = "libgssapi_krb5.so.2"
_INITIATE: Final = 1
_MUTUAL: Final = 2
_INTEGRITY: Final = 32
_FLAGS: Final = _MUTUAL | _INTEGRITY  # RFC 4462 section 3.4 asks for both; no delegation
_CONTINUE: Final = 1
_ERRORS: Final = 0xFFFF_0000
_OF_MAJOR: Final = 1
_OF_MINOR: Final = 2
_LIMIT_WORDS: Final = 4

MECHANISM: Final = bytes.fromhex("06092a864886f712010202")
"""Kerberos 5 in DER, as RFC 4462 section 3.2 has it in requests."""

_KERBEROS: Final = MECHANISM[2:]
_HOST_BASED: Final = bytes.fromhex("2a864886f71201020104")  # GSS_C_NT_HOSTBASED_SERVICE
_PRINCIPAL: Final = bytes.fromhex("2a864886f71201020201")  # GSS_KRB5_NT_PRINCIPAL_NAME


class GssError(Exception):
    """A call failed. The text is what Kerberos says; `minor` is its own code, `token` what the server is to be sent."""

    def __init__(self, words: str, major: int, minor: int, token: bytes = b"") -> None:
        super().__init__(words)
        self.major = major
        self.minor = minor
        self.token = token


class _Buffer(Structure):
    _fields_ = (("length", c_size_t), ("value", c_void_p))


class _Oid(Structure):
    _fields_ = (("length", c_uint32), ("elements", c_char_p))


class _OidSet(Structure):
    _fields_ = (("count", c_size_t), ("elements", POINTER(_Oid)))


class _Element(Structure):
    _fields_ = (("key", c_char_p), ("value", c_char_p))


class _Store(Structure):
    _fields_ = (("count", c_uint32), ("elements", POINTER(_Element)))


@cache
def _library() -> Any:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError:
        raise GeneratorFaultError(
            f"the worker has no {_LIBRARY} for logins by Kerberos (Debian: libgssapi-krb5-2)"
        ) from None


def fill_by_keytab(cache_path: str, keytab_path: str, principal: str) -> int:
    """Get a ticket for `principal` with its key in a keytab, into a new ticket cache; return for how many seconds.

    Raises GssError.
    """
    store = {"ccache": f"FILE:{cache_path}", "client_keytab": f"FILE:{keytab_path}"}
    with _name(principal, _PRINCIPAL) as name, _credential(name, store) as (_, seconds):
        return seconds


def fill_by_password(cache_path: str, password: str, principal: str) -> int:
    """Get a ticket for `principal` with its password, into a new ticket cache; return for how many seconds.

    Raises GssError.
    """
    minor, credential, seconds = c_uint32(), c_void_p(), c_uint32()
    with _name(principal, _PRINCIPAL) as name:
        secret, kept = _buffer(password.encode())
        major = _library().gss_acquire_cred_with_password(
            byref(minor), name, byref(secret), c_uint32(0), byref(_kerberos_only()), c_int(_INITIATE),
            byref(credential), None, byref(seconds),
        )  # fmt: skip
        del kept
        _check(major, minor)
    try:
        store = _store({"ccache": f"FILE:{cache_path}"})
        major = _library().gss_store_cred_into(
            byref(minor), credential, c_int(_INITIATE), byref(_oid(_KERBEROS)), c_int(1), c_int(0),
            byref(store), None, None,
        )  # fmt: skip
        _check(major, minor)
    finally:
        _library().gss_release_cred(byref(minor), byref(credential))
    return seconds_left(cache_path)


def seconds_left(cache_path: str) -> int:
    """Return for how many seconds the ticket in a cache is good; raises GssError if it has none that is."""
    with _credential(None, {"ccache": f"FILE:{cache_path}"}) as (_, seconds):
        return seconds


class Initiator:
    """The client's side of one security context with the service `host` of a server, by the tickets of a cache."""

    def __init__(self, cache_path: str, host: str) -> None:
        self._cache_path = cache_path
        self._host = host
        self._context = c_void_p()
        self.complete = False

    def step(self, received: bytes = b"") -> bytes:
        """Take the server's token, none at first; return the next one for it, if any. Raises GssError.

        If the cache has no ticket for the server, the first step asks the KDC for one, which the cache keeps.
        """
        store = {"ccache": f"FILE:{self._cache_path}"}
        with _name(f"host@{self._host}", _HOST_BASED) as target, _credential(None, store) as (credential, _):
            minor, sent = c_uint32(), _Buffer()
            taken, kept = _buffer(received)
            major = _library().gss_init_sec_context(
                byref(minor), credential, byref(self._context), target, byref(_oid(_KERBEROS)), c_uint32(_FLAGS),
                c_uint32(0), None, byref(taken), None, byref(sent), None, None,
            )  # fmt: skip
            del kept
            token = _taken(sent)
            _check(major, minor, token)
        self.complete = not major & _CONTINUE
        return token

    def sign(self, data: bytes) -> bytes:
        """Return the message integrity code of `data` (GSS_GetMIC); raises GssError."""
        minor, signed = c_uint32(), _Buffer()
        message, kept = _buffer(data)
        major = _library().gss_get_mic(byref(minor), self._context, c_int(0), byref(message), byref(signed))
        del kept
        _check(major, minor)
        return _taken(signed)

    def close(self) -> None:
        """Free the context."""
        if self._context:
            _library().gss_delete_sec_context(byref(c_uint32()), byref(self._context), None)

    def __del__(self) -> None:
        """Free the context, whoever lost sight of it."""
        self.close()


@contextmanager
def _name(text: str, kind: bytes) -> Iterator[c_void_p]:
    minor, name = c_uint32(), c_void_p()
    given, kept = _buffer(text.encode())
    major = _library().gss_import_name(byref(minor), byref(given), byref(_oid(kind)), byref(name))
    del kept
    _check(major, minor)
    try:
        yield name
    finally:
        _library().gss_release_name(byref(minor), byref(name))


@contextmanager
def _credential(name: c_void_p | None, store: Mapping[str, str]) -> Iterator[tuple[c_void_p, int]]:
    """Yield the credential of a store, and for how many seconds it is good."""
    minor, credential, seconds = c_uint32(), c_void_p(), c_uint32()
    places = _store(store)
    major = _library().gss_acquire_cred_from(
        byref(minor), name, c_uint32(0), byref(_kerberos_only()), c_int(_INITIATE), byref(places),
        byref(credential), None, byref(seconds),
    )  # fmt: skip
    _check(major, minor)
    try:
        yield credential, seconds.value
    finally:
        _library().gss_release_cred(byref(minor), byref(credential))


def _check(major: int, minor: c_uint32, token: bytes = b"") -> None:
    """Raise GssError if a call failed; in the thread of the call, because Kerberos keeps its words there."""
    if major & _ERRORS:
        words = _words(minor.value, _OF_MINOR) if minor.value else _words(major, _OF_MAJOR)
        raise GssError(words, major & 0xFFFF_FFFF, minor.value, token)


def _words(status: int, kind: int) -> str:
    minor, more, parts = c_uint32(), c_uint32(), []
    for _ in range(_LIMIT_WORDS):
        text = _Buffer()
        major = _library().gss_display_status(
            byref(minor), c_uint32(status), c_int(kind), byref(_oid(_KERBEROS)), byref(more), byref(text)
        )
        if major & _ERRORS:
            break
        parts.append(_taken(text).decode("utf-8", "replace").strip())
        if not more:
            break
    return "; ".join(filter(None, parts)) or f"code {status:#x}"


def _buffer(data: bytes) -> tuple[_Buffer, object]:
    """Return a buffer, and what has to live as long as it."""
    kept = ctypes.create_string_buffer(data, len(data) or 1)
    return _Buffer(len(data), ctypes.cast(kept, c_void_p)), kept


def _taken(buffer: _Buffer) -> bytes:
    """Return the content of a buffer that the library made, and free it."""
    content = ctypes.string_at(buffer.value, buffer.length) if buffer.length else b""
    _library().gss_release_buffer(byref(c_uint32()), byref(buffer))
    return content


def _oid(content: bytes) -> _Oid:
    return _Oid(len(content), content)


def _kerberos_only() -> _OidSet:
    return _OidSet(1, ctypes.pointer(_oid(_KERBEROS)))


def _store(places: Mapping[str, str]) -> _Store:
    elements = [_Element(key.encode(), value.encode()) for key, value in places.items()]
    return _Store(len(elements), (_Element * len(elements))(*elements))
