"""User certificates (OpenSSH's PROTOCOL.certkeys), looked over before the start."""

import binascii
from base64 import b64decode
from datetime import UTC, datetime

from sshload_worker.login.certificate_fields import CertificateKind, read_certificate_fields
from sshload_worker.login.fault import GeneratorFaultError
from sshload_worker.login.wire import WireError

_FIELDS = 2
_LAST_INSTANT_UNIX_S = 253_402_300_799  # the end of the year 9999; certificates may say more


def check_user_certificate(data: bytes, public_blob: bytes, now_unix_s: float, role: str) -> None:
    """Return where a certificate file is one of the key `public_blob` and is valid now.

    Raises GeneratorFaultError, which calls the file `role`, where it is not.
    """
    words = data.split()
    if len(words) < _FIELDS:
        raise GeneratorFaultError(f"{role} is no certificate: a line as ssh-keygen writes it to *-cert.pub is needed")
    try:
        fields = read_certificate_fields(b64decode(words[1], validate=True))
    except (WireError, binascii.Error) as error:
        raise GeneratorFaultError(f"{role} is no certificate: {error}") from None
    if fields.kind is not CertificateKind.USER:
        raise GeneratorFaultError(f"{role} is a host's certificate: a user's is needed")
    if fields.public_blob != public_blob:
        raise GeneratorFaultError(f"{role} belongs to another private key")
    if now_unix_s >= fields.valid_before_unix_s:
        raise GeneratorFaultError(f"{role} expired at {_instant(fields.valid_before_unix_s)}: have a new one signed")
    if now_unix_s < fields.valid_after_unix_s:
        raise GeneratorFaultError(f"{role} is valid only from {_instant(fields.valid_after_unix_s)} on")


def _instant(unix_s: int) -> str:
    return f"{datetime.fromtimestamp(min(unix_s, _LAST_INSTANT_UNIX_S), tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
