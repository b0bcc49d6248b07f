"""Which build of ssh2-python the workers of a local run have, and what the package index's must not be used for.

The package index's libssh2 lacks security fixes that ours has (patches/README.md). By the worst of its flaws a server
writes into the worker's memory before its host key is checked. They need a cipher other than AES-GCM.
"""

from sshload_contract.client import Library

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.target import ExternalTarget
from sshload_operator.local.sshd import LocalRunError

_OWN_VERSION = "+sshload"  # what scripts/ssh2-wheel adds to the release's version
_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
_COMPILE = "install cmake, gcc, libc6-dev, make, patch, python3-dev and zlib1g-dev, and run `make venv` again"


def ssh2_build_notes(spec: LoadTestSpec, version: str) -> tuple[str, ...]:
    """Return what a reader should know of this version of ssh2-python.

    Raises LocalRunError where it is not our build, and the test would expose the worst of its flaws to an external
    server.
    """
    if spec.client.library is not Library.SSH2_PYTHON or _OWN_VERSION in version:
        return ()
    is_external = isinstance(spec.target, ExternalTarget) or bool(spec.via)
    if is_external and not (spec.client.ciphers and set(spec.client.ciphers) <= set(_CIPHERS)):
        raise LocalRunError(
            f"spec.client.ciphers: ssh2-python {version} is the package index's, whose memory a server can overwrite "
            f"by chacha20-poly1305 and others, and a server of this test is external: name {' or '.join(_CIPHERS)} and "
            f"no other, or {_COMPILE}"
        )
    return (f"ssh2-python {version} is the package index's, slower and without our security fixes: {_COMPILE}",)
