"""`python -m sshload_operator.control.metrics.certificate_end FILE`: prints when a certificate ends, in Unix time.

It is a process of its own, for the reason that `self_signed` is one.
"""

import sys
from pathlib import Path

from cryptography import x509


def end_of(pem: bytes) -> float:
    """Return when the first certificate of a file ends, in Unix time."""
    return x509.load_pem_x509_certificates(pem)[0].not_valid_after_utc.timestamp()


if __name__ == "__main__":
    print(end_of(Path(sys.argv[1]).read_bytes()))  # noqa: T201 - the operator reads it
