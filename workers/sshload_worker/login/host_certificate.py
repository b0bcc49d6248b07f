"""Host certificates (PROTOCOL.certkeys): whether one that a server shows is good, by the rules of OpenSSH's client.

The signature is checked by `cryptography`, which is imported at the first certificate that gets so far, and checked
once for each certificate: a server shows the same one at every login.
"""

from base64 import b64encode
from fnmatch import fnmatchcase
from functools import lru_cache

from sshload_worker.login.certificate_fields import CERTIFICATE_SUFFIX, CertificateKind, read_certificate_fields
from sshload_worker.login.wire import WireError, WireReader

_BAD_SIGNATURE_ALGORITHMS = ("ssh-rsa", "ssh-dss")  # SHA-1
_TYPE_LIMIT_BYTES = 64
_CACHED_SIGNATURES = 64


def is_certificate(blob: bytes) -> bool:
    """Tell whether a host key in wire form claims to be a certificate."""
    try:
        return WireReader(blob[: _TYPE_LIMIT_BYTES + 4]).text().endswith(CERTIFICATE_SUFFIX)
    except WireError:
        return False


def certificate_refusal(
    blob: bytes, host: str, authorities: frozenset[bytes], revoked: frozenset[bytes], now_unix_s: float
) -> str:
    """Return why a certificate is not to be taken from `host` (in lower case), empty where it is good."""
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
        (bool(fields.critical_options), "has critical options, and none are known"),
        (algorithm in _BAD_SIGNATURE_ALGORITHMS, f"is signed by {algorithm}, which is too weak"),
    ):
        if is_bad:
            return f"the server's host certificate {why}"
    return "" if _signature_is_good(blob) else "the server's host certificate has a bad signature"


def _names(principals: tuple[str, ...], host: str) -> bool:
    """Tell whether one of the principals is the host; they may have * and ?, and none at all means every host."""
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
