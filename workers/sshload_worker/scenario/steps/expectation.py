"""Expectation: what a file that is read has to be."""

import hashlib


class Expectation:
    """Checks a file by its size and its SHA-256 (hexadecimal), each where given, while it is read."""

    __slots__ = ("_bytes", "_count", "_digest", "_sha256")

    def __init__(self, expect_bytes: int | None, expect_sha256: str) -> None:
        self._bytes = expect_bytes
        self._sha256 = expect_sha256.lower()
        self._digest = hashlib.sha256()
        self._count = 0

    def take(self, piece: bytes) -> None:
        """Take the next piece of the file."""
        self._count += len(piece)
        if self._sha256:
            self._digest.update(piece)

    def objection(self) -> str:
        """Return how the file is not as expected, once all of it was taken; empty where it is."""
        if self._bytes is not None and self._count != self._bytes:
            return f"{self._count} bytes, expected {self._bytes}"
        if self._sha256 and self._digest.hexdigest() != self._sha256:
            return f"SHA-256 {self._digest.hexdigest()}, expected {self._sha256}"
        return ""
