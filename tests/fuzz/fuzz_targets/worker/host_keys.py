"""Host keys and certificates in wire form, which a server shows, as `HostKeys.refusal` judges them.

Input: the blob. Where it is a certificate, its own authority is the one that known_hosts names, so that all that comes
after that question is asked too.
Oracle: nothing is raised. What is no certificate, and no known key, is refused, and so is a certificate whose authority
is not known, or which is none of the host's.
"""

import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

from sshload_worker.login.certificate import is_certificate, read_certificate_fields
from sshload_worker.login.known_hosts import HostKeys
from sshload_worker.login.wire import WireError

_HOST = "server.example.org"


def seeds() -> Iterator[bytes]:
    """Yield host certificates as ssh-keygen signs them, and a key without one."""
    with tempfile.TemporaryDirectory() as folder:
        authority, key = Path(folder) / "ca", Path(folder) / "key"
        for kind in ("ed25519", "ecdsa", "rsa"):
            for path in (authority, key):
                path.unlink(missing_ok=True)
                _keygen("-t", kind, "-N", "", "-f", str(path))
            for principals in (_HOST, "*.example.org", "other"):
                _keygen("-s", str(authority), "-I", "id", "-h", "-n", principals, str(key) + ".pub")
                yield b64decode((Path(folder) / "key-cert.pub").read_bytes().split()[1])
        yield b64decode((Path(folder) / "key.pub").read_bytes().split()[1])


def _keygen(*arguments: str) -> None:
    subprocess.run(["ssh-keygen", "-q", *arguments], check=True, capture_output=True)


def check(data: bytes) -> None:
    """Let a server show the blob: to who trusts its authority, and to who trusts nobody."""
    assert _trusting(frozenset()).refusal(data)
    try:
        fields = read_certificate_fields(data)
    except WireError:
        assert _trusting(frozenset({b"another"})).refusal(data)
        return
    assert is_certificate(data)
    assert _trusting(frozenset({fields.authority + b"x"})).refusal(data)
    if not _trusting(frozenset({fields.authority})).refusal(data):
        assert not fields.principals or any(
            name in {_HOST, "*.example.org"} or "*" in name for name in fields.principals
        )


def _trusting(authorities: frozenset[bytes]) -> HostKeys:
    return HostKeys(
        any_key=False,
        accepted=frozenset(),
        revoked=frozenset(),
        algorithms=(),
        host=_HOST,
        authorities=authorities,
    )
