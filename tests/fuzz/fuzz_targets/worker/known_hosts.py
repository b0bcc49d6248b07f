"""known_hosts files, which people bring in a Secret, as `read_known_hosts` reads them, and what is made of them.

Input: a host, a blank, a port and a line end, then the file.
Oracle: only KnownHostsError is raised. A key that is accepted is answered for by its refusal, and stands in the file.
What is written of the keys for OpenSSH's programs knows the same ones.
"""

import base64
from collections.abc import Iterator

from sshload_worker.clients.openssh.settings import known_hosts_text
from sshload_worker.login.known_hosts import HostKeys, KnownHostsError, read_known_hosts

_KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + b"k" * 32).decode()
_RSA = base64.b64encode(b"\0\0\0\x07ssh-rsa\0\0\0\x03\1\0\1\0\0\0\x04nnnn").decode()
_HASHED = "|1|MDEyMzQ1Njc4OWFiY2RlZmdoaWo=|MDEyMzQ1Njc4OWFiY2RlZmdoaWo="


def seeds() -> Iterator[bytes]:
    """Yield a file with lines of each kind, for hosts that it has and has not."""
    lines = (
        "# a comment",
        f"server,*.example.org,!a.example.org ssh-ed25519 {_KEY} who@where",
        f"[server]:2222 ssh-rsa {_RSA}",
        f"@cert-authority * ssh-ed25519 {_KEY}",
        f"@revoked * ssh-rsa {_RSA}",
        f"{_HASHED} ssh-ed25519 {_KEY}",
    )
    for host in ("server 22", "server 2222", "a.example.org 22", "::1 22"):
        yield "\n".join((host, *lines)).encode()
    for line in lines:
        yield f"server 22\n{line}\n".encode()


def check(data: bytes) -> None:
    """Read the file for the host."""
    first, _, text = data.decode("utf-8", "replace").partition("\n")
    host, _, port = first.partition(" ")
    try:
        keys = read_known_hosts(text, host, 2222 if port == "2222" else 22)
    except KnownHostsError:
        return
    for blob in keys.accepted:
        assert any(_decoded(word) == blob for word in text.split())
        assert keys.accepts(blob) == (blob not in keys.revoked)
    _assert_written_again(keys)


def _assert_written_again(keys: HostKeys) -> None:
    written = read_known_hosts(known_hosts_text("other", keys), "other", 22)
    assert (written.accepted, written.authorities, written.revoked) == (keys.accepted, keys.authorities, keys.revoked)


def _decoded(word: str) -> bytes:
    """Return what a word says in base64, in which the last bits may be written in several ways."""
    try:
        return base64.b64decode(word.encode(), validate=True)
    except ValueError:
        return b""
