"""The Secret of a collector: headers with credentials, and certificates. No message contains any part of them."""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sshload_operator.control.otlp.options import OtlpOptions
from sshload_operator.control.posting import SecretError

_HEADERS: Final = "headers"
_AUTHORITY: Final = "ca.crt"
_CERTIFICATE: Final = "tls.crt"
_KEY: Final = "tls.key"
_LARGEST_BYTES: Final = 16_384
_MOST_HEADERS: Final = 50
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE: Final = re.compile(r"[\x20-\x7e]+")
_OWN: Final = frozenset(
    {"connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"}
)


@dataclass(frozen=True, slots=True)
class Access:
    """The headers that a collector wants, and how its TLS is checked; None without TLS."""

    headers: Mapping[str, str]
    tls: ssl.SSLContext | None


def read_access(options: OtlpOptions) -> Access:
    """Return the content of the Secret's folder, in which any file may be missing; raises SecretError.

    `headers` has a header in each line, as HTTP writes it. `ca.crt` has the certificates of the collector's authority,
    `tls.crt` and `tls.key` a certificate of the operator's own and its key.
    """
    folder = options.secret
    if folder is None:
        return Access({}, ssl.create_default_context() if options.is_tls else None)
    try:
        return Access(_read_headers(folder / _HEADERS), _tls(folder))
    except OSError as error:  # ssl.SSLError is one
        raise SecretError(f"the Secret in {folder} cannot be read: {type(error).__name__}") from error


def _tls(folder: Path) -> ssl.SSLContext:
    authority = folder / _AUTHORITY
    found = ssl.create_default_context(cafile=authority if authority.exists() else None)
    if (folder / _CERTIFICATE).exists():
        found.load_cert_chain(folder / _CERTIFICATE, folder / _KEY, password=_no_password)
    return found


def _no_password() -> str:
    """Refuse a key that is encrypted: OpenSSL would ask for its password at the terminal."""
    raise SecretError("tls.key is encrypted: store it without a password")


def _read_headers(path: Path) -> Mapping[str, str]:
    if not path.exists():
        return {}
    with path.open("rb") as file:
        content = file.read(_LARGEST_BYTES + 1)
    if len(content) > _LARGEST_BYTES:
        raise SecretError(f"the headers have more than {_LARGEST_BYTES} bytes")
    return headers_of(content.decode("latin-1"))


def headers_of(text: str) -> Mapping[str, str]:
    """Return the headers that a text has, one in each line that is not blank; raises SecretError."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or _NAME.fullmatch(name) is None or _VALUE.fullmatch(value.strip()) is None:
            raise SecretError(f"line {number} of the headers is not a header such as Authorization: Bearer TOKEN")
        if name.lower() in _OWN:
            raise SecretError(f"line {number} of the headers sets one that the operator sets itself")
        found[name] = value.strip()
    if len(found) > _MOST_HEADERS:
        raise SecretError(f"there are more than {_MOST_HEADERS} headers")
    return found
