"""The certificate of the operator's metrics and pages: from a mounted Secret, or self-signed."""

import asyncio
import logging
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from sshload_operator.world.program import program

_LOG = logging.getLogger(__name__)
_LOOK_EVERY_S: Final = 30.0
_END_OF_KEY: Final = b"-----END PRIVATE KEY-----"


class CertificateError(Exception):
    """There is no certificate to serve with."""


def _tell_nobody(_end_s: float) -> None:
    """Nobody asks when the certificate ends."""


class ServingCertificate:
    """The certificate of TLS connections. `folder` has tls.crt and tls.key; None: a self-signed certificate.

    `tell_end` is told when each certificate of the folder ends, in Unix time.
    """

    def __init__(
        self,
        folder: Path | None,
        look_every_s: float = _LOOK_EVERY_S,
        tell_end: Callable[[float], None] = _tell_nobody,
    ) -> None:
        self._folder = folder
        self._tell_end = tell_end
        self._look_every_s = look_every_s
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._loaded = b""

    async def context(self) -> ssl.SSLContext:
        """Return the one context, with the certificate; raises CertificateError where there is none."""
        if self._folder is not None:
            await self._take(self._folder)
        elif not self._loaded:
            self._loaded = await self._sign()
        return self._context

    async def follow(self) -> None:
        """Load each renewed certificate of the folder, for later connections. Never returns."""
        while True:
            await asyncio.sleep(self._look_every_s)
            if self._folder is not None:
                try:
                    await self._take(self._folder)
                except CertificateError as error:
                    _LOG.warning("serves with the certificate that it has: %s", error)

    async def _take(self, folder: Path) -> None:
        """Load the certificate if it is a new one, and tell when it ends."""
        before = self._loaded
        self._load(folder)
        if self._loaded != before and self._tell_end is not _tell_nobody:
            module = "sshload_operator.control.metrics.certificate_end"
            async with program(sys.executable, "-m", module, str(folder / "tls.crt")) as reading:
                printed, _ = await reading.communicate()
            if not reading.returncode:  # otherwise its log says why
                self._tell_end(float(printed))

    def _load(self, folder: Path) -> None:
        chain, key = folder / "tls.crt", folder / "tls.key"
        try:
            read = chain.read_bytes() + key.read_bytes()
            if read != self._loaded:
                # Tried in a new context first: a context drops its old certificate before it refuses a key that does
                # not match.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key)
                self._context.load_cert_chain(chain, key)
        except OSError as error:  # ssl.SSLError is one
            raise CertificateError(f"{folder} has no certificate and key that belong together: {error}") from error
        self._loaded = read

    async def _sign(self) -> bytes:
        """Make and load a self-signed certificate, and return it."""
        async with program(sys.executable, "-m", "sshload_operator.control.metrics.self_signed") as signing:
            made, _ = await signing.communicate()
        if signing.returncode:
            raise CertificateError("no certificate could be made: the log of its process is above")
        with NamedTemporaryFile() as file:  # of mode 600; load_cert_chain reads only files
            file.write(made)
            file.flush()
            self._context.load_cert_chain(file.name)
        return made.partition(_END_OF_KEY)[2]
