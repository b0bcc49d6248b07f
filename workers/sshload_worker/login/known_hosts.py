"""Which host keys a server may have: OpenSSH's known_hosts format (sshd(8)), including hashed names and markers."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from time import time

from sshload_worker.login.certificate import CERTIFICATE_SUFFIX, certificate_refusal, is_certificate
from sshload_worker.login.wire import WireError, WireReader

_SSH_PORT = 22
_HASH_MARK = "|1|"
_CERTIFICATE_AUTHORITY = "@cert-authority"
_REVOKED = "@revoked"
_RSA_SIGNATURES = ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")
_CERTIFIED_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
_PREFERRED = (*_CERTIFIED_TYPES, "ssh-rsa")
_FIELDS = 3
_ANY_HOST = "*"
_BYTE_ORDER_MARK = "\ufeff"
_MOST_SHOWN = 2
_TYPE_CHARACTERS = 40


class KnownHostsError(ValueError):
    """A known_hosts line of the host cannot be read. The message has its number."""


@dataclass(frozen=True, slots=True)
class HostKeys:
    """The keys that one host may have, in wire form. With `any_key`, every key is accepted.

    `algorithms` are those of the known keys, so that the server is asked for a key that can be checked. They have the
    order in which OpenSSH prefers them: that of the lines is chance, and would decide what a login costs. `authorities`
    are the keys whose certificates for `host` are accepted too. Libraries that can check certificates request one first
    (`algorithms_with_certificates`). Algorithms are empty if all are acceptable.
    """

    any_key: bool
    accepted: frozenset[bytes]
    revoked: frozenset[bytes]
    algorithms: tuple[str, ...]
    host: str = ""
    authorities: frozenset[bytes] = frozenset()

    @property
    def algorithms_with_certificates(self) -> tuple[str, ...]:
        """The algorithms to request if the library can check certificates."""
        if not self.authorities or not self.algorithms:
            return self.algorithms
        return (*(f"{name}{CERTIFICATE_SUFFIX}" for name in _CERTIFIED_TYPES), *self.algorithms)

    def accepts(self, blob: bytes) -> bool:
        """Return whether the host may have this key or certificate."""
        return not self.refusal(blob)

    def refusal(self, blob: bytes) -> str:
        """Return the reason to refuse this key or certificate, "" if the host may have it."""
        if self.any_key:
            return ""
        if blob in self.revoked:
            return "the server's host key is revoked in known_hosts"
        if blob in self.accepted:
            return ""
        if self.authorities and is_certificate(blob):
            return certificate_refusal(blob, self.host, self.authorities, self.revoked, time())
        return self.mismatch(shown_key(blob))

    def mismatch(self, presented: str) -> str:
        """Return that the server's key, as `shown_key` writes it, is not a known one, and which are."""
        known = ", ".join(shown_key(blob) for blob in sorted(self.accepted)[:_MOST_SHOWN]) or "only authorities"
        more = f" and {len(self.accepted) - _MOST_SHOWN} more" if len(self.accepted) > _MOST_SHOWN else ""
        return f"the server's host key is {presented}, and known_hosts has {known}{more}"


ANY_HOST_KEY = HostKeys(any_key=True, accepted=frozenset(), revoked=frozenset(), algorithms=())


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line. `problem` says why it cannot be read, and is empty if it can."""

    marker: str
    patterns: str
    key_type: str = ""
    blob: bytes = b""
    problem: str = ""


def shown_key(blob: bytes) -> str:
    """Return the type and the fingerprint of a key in wire form, as `ssh-keygen -l` prints them."""
    try:
        kind = WireReader(blob).text()[:_TYPE_CHARACTERS]
    except WireError:
        kind = ""
    if not (kind and kind.isascii() and kind.isprintable()):
        kind = "of an unknown type,"
    return f"{kind} SHA256:{base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip('=')}"


def read_known_hosts(text: str, host: str, port: int) -> HostKeys:
    """Return the keys that `text` has for `host` at `port`.

    For ports other than 22 it does as OpenSSH does: it uses lines with the port first. Of lines without a port it uses
    keys of types that the former do not have, and all authorities. A key that any of these lines revokes is revoked.
    Lines that cannot be read are skipped, as OpenSSH does. It raises KnownHostsError if one of them is for this host,
    and may revoke a key or is the only one.
    """
    every = list(_entries(text))
    entries = _of_name(every, host.lower() if port == _SSH_PORT else f"[{host.lower()}]:{port}")
    if port != _SSH_PORT:
        known_types = {entry.key_type for entry in entries if not entry.marker}
        without_port = _of_name(every, host.lower())
        entries += [entry for entry in without_port if entry.marker or entry.key_type not in known_types]
    legible = [entry for entry in entries if not entry.problem]
    plain = [entry for entry in legible if not entry.marker]
    authorities = frozenset(entry.blob for entry in legible if entry.marker == _CERTIFICATE_AUTHORITY)
    for entry in entries:
        if entry.problem and (entry.marker not in ("", _CERTIFICATE_AUTHORITY) or not (plain or authorities)):
            raise KnownHostsError(entry.problem)
    known = {name for entry in plain for name in _signatures(entry.key_type)}
    return HostKeys(
        any_key=False,
        accepted=frozenset(entry.blob for entry in plain),
        revoked=frozenset(entry.blob for entry in legible if entry.marker == _REVOKED),
        algorithms=tuple(name for name in _PREFERRED if name in known),
        host=host.lower(),
        authorities=authorities,
    )


def _entries(text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.removeprefix(_BYTE_ORDER_MARK).splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield _entry(words, f"known_hosts line {number}")


def _entry(words: list[str], where: str) -> _Entry:
    marker = words.pop(0) if words[0].startswith("@") else ""
    patterns = words[0] if words else _ANY_HOST
    if marker not in ("", _REVOKED, _CERTIFICATE_AUTHORITY) or len(words) < _FIELDS:
        return _Entry(marker, patterns, problem=f"{where}: expected [marker] hosts key-type key")
    try:
        blob = base64.b64decode(words[2].encode(), validate=True)
    except binascii.Error:
        return _Entry(marker, patterns, problem=f"{where}: the key is not base64")
    if not _is_of_type(blob, words[1]):
        return _Entry(marker, patterns, problem=f"{where}: the key is not of the type that the line states")
    return _Entry(marker, patterns, key_type=words[1], blob=blob)


def _of_name(entries: list[_Entry], name: str) -> list[_Entry]:
    return [entry for entry in entries if _matches(entry.patterns, name)]


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
    literal = pattern.replace("[", "[[]")  # OpenSSH has only * and ?; brackets belong to [host]:port
    return fnmatchcase(name, literal)


def _matches_hash(pattern: str, name: str) -> bool:
    salt, _, digest = pattern.removeprefix(_HASH_MARK).partition("|")
    try:
        expected = base64.b64decode(digest.encode(), validate=True)
        key = base64.b64decode(salt.encode(), validate=True)
    except binascii.Error:
        return False
    return hmac.compare_digest(hmac.new(key, name.encode(), hashlib.sha1).digest(), expected)


def _is_of_type(blob: bytes, key_type: str) -> bool:
    """Return whether a key in wire form begins with the name of its type, as OpenSSH requires."""
    try:
        return WireReader(blob).string() == key_type.encode()
    except WireError:
        return False


def _signatures(key_type: str) -> tuple[str, ...]:
    if key_type == "ssh-rsa":
        return _RSA_SIGNATURES
    return (key_type,) if key_type in _CERTIFIED_TYPES else ()
