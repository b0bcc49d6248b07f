"""OpenSSH certificates (PROTOCOL.certkeys): their untrusted fields, and the rules for user and host certificates.

A host certificate is accepted by the rules of OpenSSH's client. `cryptography` checks its signature. It is imported
when the first certificate needs it, and checks each certificate once, because a server sends the same one at every
login.
"""

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum, unique
from fnmatch import fnmatchcase
from functools import lru_cache

from sshload_contract.vocabulary import Outcome

from sshload_worker.login.wire import WireError, WireReader, wire_string
from sshload_worker.outcomes import GeneratorFaultError, StepFailure

CERTIFICATE_SUFFIX = "-cert-v01@openssh.com"
_KEY_STRINGS = {  # how many strings of a certificate form its public key
    "ssh-ed25519": 1,
    "ecdsa-sha2-nistp256": 2,
    "ecdsa-sha2-nistp384": 2,
    "ecdsa-sha2-nistp521": 2,
    "ssh-rsa": 2,
}
_FIELDS = 2
_LAST_INSTANT_UNIX_S = 253_402_300_799  # the end of the year 9999; certificates may have more
_BAD_SIGNATURE_ALGORITHMS = ("ssh-rsa", "ssh-dss")  # SHA-1
_TYPE_LIMIT_BYTES = 64
_CACHED_SIGNATURES = 64
_CLOCKS_DIFFER_S = 300


@unique
class CertificateKind(IntEnum):
    """Whether a certificate is for users or hosts."""

    USER = 1
    HOST = 2


@dataclass(frozen=True, slots=True)
class CertificateFields:
    """The fields of a certificate. `public_blob` is the certified key."""

    key_type: str
    public_blob: bytes
    serial: int
    kind: CertificateKind
    key_id: str
    principals: tuple[str, ...]
    valid_after_unix_s: int
    valid_before_unix_s: int
    has_critical_options: bool
    authority: bytes
    signature: bytes


def read_certificate_fields(blob: bytes) -> CertificateFields:
    """Return the fields of a certificate in wire form; raises WireError if it is not a certificate."""
    reader = WireReader(blob)
    name = reader.text()
    key_type = name.removesuffix(CERTIFICATE_SUFFIX)
    if key_type == name or key_type not in _KEY_STRINGS:
        raise WireError(f"its type is {name[:64]!r}")
    reader.string()  # the nonce
    key = b"".join(wire_string(reader.string()) for _ in range(_KEY_STRINGS[key_type]))
    serial = reader.uint64()
    kind = reader.uint32()
    if kind not in list(CertificateKind):
        raise WireError(f"its kind is {kind}, which is neither user nor host")
    key_id = reader.string().decode("utf-8", "replace")
    principals = _strings(reader.string())
    valid_after, valid_before = reader.uint64(), reader.uint64()
    critical_options = reader.string()
    reader.string()  # extensions, which may be ignored
    reader.string()  # reserved
    return CertificateFields(
        key_type=key_type,
        public_blob=wire_string(key_type.encode()) + key,
        serial=serial,
        key_id=key_id,
        kind=CertificateKind(kind),
        principals=principals,
        valid_after_unix_s=valid_after,
        valid_before_unix_s=valid_before,
        has_critical_options=bool(critical_options),
        authority=reader.string(),
        signature=reader.string(),
    )


def _strings(packed: bytes) -> tuple[str, ...]:
    reader = WireReader(packed)
    found = []
    while reader.rest:
        found.append(reader.text())
    return tuple(found)


@dataclass(frozen=True, slots=True)
class UserCertificate:
    """A certificate as a line that ssh-keygen writes, and when it is valid by its own fields."""

    line: bytes
    valid_after_unix_s: int
    valid_before_unix_s: int

    def explain(self, refusal: StepFailure, now_unix_s: float) -> StepFailure:
        """Return a refused login's failure with what the certificate's times say of it, and nothing else.

        A server does not tell a client why it refuses a certificate, and whether its clock is this machine's is not
        known here.
        """
        if refusal.outcome is not Outcome.AUTH_REJECTED:
            return refusal
        began_s, ends_s = now_unix_s - self.valid_after_unix_s, self.valid_before_unix_s - now_unix_s
        if ends_s <= 0:
            ended = f"{_instant(self.valid_before_unix_s)}, {-ends_s:.0f} s ago"
            return StepFailure(Outcome.CERTIFICATE_EXPIRED, f"{refusal.message}; its certificate ended at {ended}")
        if min(began_s, ends_s) > _CLOCKS_DIFFER_S:
            return refusal
        skew = f"more than {began_s:.0f} s behind this worker's or {ends_s:.0f} s ahead of it"
        return StepFailure(refusal.outcome, f"{refusal.message}; a clock {skew} is outside its certificate's validity")


def check_user_certificate(data: bytes, public_blob: bytes, now_unix_s: float, role: str) -> UserCertificate:
    """Return the certificate in a file, if it belongs to the key `public_blob` and is valid now.

    Raises GeneratorFaultError, which calls the file `role`, if not.
    """
    words = data.split()
    if len(words) < _FIELDS:
        raise GeneratorFaultError(f"{role} is not a certificate: a line as ssh-keygen writes to *-cert.pub is needed")
    try:
        fields = read_certificate_fields(b64decode(words[1], validate=True))
    except (WireError, binascii.Error) as error:
        raise GeneratorFaultError(f"{role} is not a certificate: {error}") from None
    if fields.kind is not CertificateKind.USER:
        raise GeneratorFaultError(f"{role} is a host's certificate: a user certificate is needed")
    if fields.public_blob != public_blob:
        raise GeneratorFaultError(f"{role} belongs to another private key")
    if now_unix_s >= fields.valid_before_unix_s:
        raise GeneratorFaultError(f"{role} expired at {_instant(fields.valid_before_unix_s)}: have a new one signed")
    if now_unix_s < fields.valid_after_unix_s:
        raise GeneratorFaultError(f"{role} is valid only from {_instant(fields.valid_after_unix_s)} on")
    return UserCertificate(data, fields.valid_after_unix_s, fields.valid_before_unix_s)


def _instant(unix_s: int) -> str:
    return f"{datetime.fromtimestamp(min(unix_s, _LAST_INSTANT_UNIX_S), tz=UTC):%Y-%m-%dT%H:%M:%SZ}"


def is_certificate(blob: bytes) -> bool:
    """Return whether a host key in wire form claims to be a certificate."""
    try:
        return WireReader(blob[: _TYPE_LIMIT_BYTES + 4]).text().endswith(CERTIFICATE_SUFFIX)
    except WireError:
        return False


def certificate_refusal(
    blob: bytes, host: str, authorities: frozenset[bytes], revoked: frozenset[bytes], now_unix_s: float
) -> str:
    """Return the reason to refuse a certificate of `host` (in lower case), "" if it is valid."""
    try:
        fields = read_certificate_fields(blob)
        algorithm = WireReader(fields.signature).text()
    except WireError as error:
        return f"the server's host certificate cannot be read: {error}"
    in_time = fields.valid_after_unix_s <= now_unix_s < fields.valid_before_unix_s
    for is_bad, why in (
        (fields.authority not in authorities, "is signed by an authority that known_hosts does not name"),
        (fields.authority in revoked or fields.public_blob in revoked, "has a key that is revoked in known_hosts"),
        (fields.kind is not CertificateKind.HOST, "is a user's"),
        (not in_time, "is not valid now"),
        (not _names(fields.principals, host), f"is not for {host}"),
        (fields.has_critical_options, "has critical options, and none are known"),
        (algorithm in _BAD_SIGNATURE_ALGORITHMS, f"is signed by {algorithm}, which is too weak"),
    ):
        if is_bad:
            return f"the server's host certificate {why}"
    return "" if _signature_is_good(blob) else "the server's host certificate has a bad signature"


def _names(principals: tuple[str, ...], host: str) -> bool:
    """Return whether one of the principals matches the host. They may have * and ?. No principals match every host."""
    return not principals or any(fnmatchcase(host, principal.replace("[", "[[]")) for principal in principals)


@lru_cache(maxsize=_CACHED_SIGNATURES)
def _signature_is_good(blob: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm  # noqa: PLC0415 - few runs need it
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - likewise
        SSHCertificate,
        load_ssh_public_identity,
    )

    line = WireReader(blob).string() + b" " + b64encode(blob)
    try:
        certificate = load_ssh_public_identity(line)
        if not isinstance(certificate, SSHCertificate):
            return False
        certificate.verify_cert_signature()
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, AssertionError):  # it asserts what a server sent
        return False
    return True
