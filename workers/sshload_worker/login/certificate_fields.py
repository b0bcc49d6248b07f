"""What an OpenSSH certificate says (PROTOCOL.certkeys), read without believing any of it."""

from dataclasses import dataclass
from enum import IntEnum, unique

from sshload_worker.login.wire import WireError, WireReader, wire_string

CERTIFICATE_SUFFIX = "-cert-v01@openssh.com"
_KEY_STRINGS = {  # how many strings of a certificate are its public key
    "ssh-ed25519": 1,
    "ecdsa-sha2-nistp256": 2,
    "ecdsa-sha2-nistp384": 2,
    "ecdsa-sha2-nistp521": 2,
    "ssh-rsa": 2,
}


@unique
class CertificateKind(IntEnum):
    """Whom a certificate is for."""

    USER = 1
    HOST = 2


@dataclass(frozen=True, slots=True)
class CertificateFields:
    """The fields of a certificate. `public_blob` is the key that it certifies, `signed` what its signature covers."""

    key_type: str
    public_blob: bytes
    kind: CertificateKind
    principals: tuple[str, ...]
    valid_after_unix_s: int
    valid_before_unix_s: int
    critical_options: tuple[str, ...]
    authority: bytes
    signature: bytes
    signed: bytes


def read_certificate_fields(blob: bytes) -> CertificateFields:
    """Return the fields of a certificate in wire form; raises WireError where it is none."""
    reader = WireReader(blob)
    name = reader.text()
    key_type = name.removesuffix(CERTIFICATE_SUFFIX)
    if key_type == name or key_type not in _KEY_STRINGS:
        raise WireError(f"its type is {name[:64]!r}")
    reader.string()  # the nonce
    key = b"".join(wire_string(reader.string()) for _ in range(_KEY_STRINGS[key_type]))
    reader.uint64()  # the serial number
    kind = reader.uint32()
    if kind not in list(CertificateKind):
        raise WireError(f"it is neither for a user nor for a host, but of kind {kind}")
    reader.string()  # the key's id
    principals = _strings(reader.string())
    valid_after, valid_before = reader.uint64(), reader.uint64()
    critical_options = _strings(reader.string())[::2]
    reader.string()  # extensions, which may be ignored
    reader.string()  # reserved
    authority = reader.string()
    signed = blob[: reader.position]
    return CertificateFields(
        key_type=key_type,
        public_blob=wire_string(key_type.encode()) + key,
        kind=CertificateKind(kind),
        principals=principals,
        valid_after_unix_s=valid_after,
        valid_before_unix_s=valid_before,
        critical_options=critical_options,
        authority=authority,
        signature=reader.string(),
        signed=signed,
    )


def _strings(packed: bytes) -> tuple[str, ...]:
    reader = WireReader(packed)
    found = []
    while reader.rest:
        found.append(reader.text())
    return tuple(found)
