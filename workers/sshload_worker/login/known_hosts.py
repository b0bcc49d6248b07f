"""Which host keys a server may show: OpenSSH's known_hosts format (sshd(8)), hashed names and markers included."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

_SSH_PORT = 22
_HASH_MARK = "|1|"
_CERTIFICATE_AUTHORITY = "@cert-authority"
_REVOKED = "@revoked"
_RSA_SIGNATURES = ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")
_FIELDS = 3


class KnownHostsError(ValueError):
    """A known_hosts line cannot be read; the message names its number."""


@dataclass(frozen=True, slots=True)
class HostKeys:
    """The keys that one host may show, by their wire form. With `any_key`, every key is accepted.

    `algorithms` are those that the known keys can answer, so that the server is asked for a key that can be checked.
    """

    any_key: bool
    accepted: frozenset[bytes]
    revoked: frozenset[bytes]
    algorithms: tuple[str, ...]

    def accepts(self, blob: bytes) -> bool:
        """Tell whether the host may show this key."""
        return self.any_key or (blob in self.accepted and blob not in self.revoked)


ANY_HOST_KEY = HostKeys(any_key=True, accepted=frozenset(), revoked=frozenset(), algorithms=())


@dataclass(frozen=True, slots=True)
class _Entry:
    marker: str
    patterns: str
    key_type: str
    blob: bytes


def read_known_hosts(text: str, host: str, port: int) -> HostKeys:
    """Return the keys that `text` knows of `host` at `port`; raises KnownHostsError at a line that cannot be read."""
    name = host.lower() if port == _SSH_PORT else f"[{host.lower()}]:{port}"
    entries = [entry for entry in _entries(text) if _matches(entry.patterns, name)]
    plain = [entry for entry in entries if not entry.marker]
    return HostKeys(
        any_key=False,
        accepted=frozenset(entry.blob for entry in plain),
        revoked=frozenset(entry.blob for entry in entries if entry.marker == _REVOKED),
        algorithms=tuple(dict.fromkeys(name for entry in plain for name in _signatures(entry.key_type))),
    )


def _entries(text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if marker not in ("", _REVOKED, _CERTIFICATE_AUTHORITY) or len(words) < _FIELDS:
            raise KnownHostsError(f"known_hosts line {number}: expected [marker] hosts key-type key")
        try:
            blob = base64.b64decode(words[2], validate=True)
        except binascii.Error as error:
            raise KnownHostsError(f"known_hosts line {number}: the key is no base64") from error
        yield _Entry(marker=marker, patterns=words[0], key_type=words[1], blob=blob)


def _matches(patterns: str, name: str) -> bool:
    if patterns.startswith(_HASH_MARK):
        return _matches_hash(patterns, name)
    matched = False
    for pattern in patterns.lower().split(","):
        if pattern.startswith("!") and _matches_glob(pattern[1:], name):
            return False
        matched = matched or _matches_glob(pattern, name)
    return matched


def _matches_glob(pattern: str, name: str) -> bool:
    literal = pattern.replace("[", "[[]")  # OpenSSH knows * and ? only; brackets belong to [host]:port
    return fnmatchcase(name, literal)


def _matches_hash(pattern: str, name: str) -> bool:
    salt, _, digest = pattern.removeprefix(_HASH_MARK).partition("|")
    try:
        expected = base64.b64decode(digest, validate=True)
        key = base64.b64decode(salt, validate=True)
    except binascii.Error:
        return False
    return hmac.compare_digest(hmac.new(key, name.encode(), hashlib.sha1).digest(), expected)


def _signatures(key_type: str) -> tuple[str, ...]:
    return _RSA_SIGNATURES if key_type == "ssh-rsa" else (key_type,)
