"""The certificate with which slapd serves sssd: sssd sends a password to no LDAP server without TLS (sssd-ldap(5))."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_VALID: Final = timedelta(days=30)
_CLOCK_STEP: Final = timedelta(days=1)


def make_certificate(address: str, folder: Path) -> tuple[Path, Path]:
    """Make a self-signed certificate for an address in a folder, and return its path and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sshload slapd")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_STEP)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    certificate_path, key_path = folder / "slapd.pem", folder / "slapd.key"
    certificate_path.write_bytes(made.public_bytes(Encoding.PEM))
    key_path.touch(mode=0o600)
    key_path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate_path, key_path
