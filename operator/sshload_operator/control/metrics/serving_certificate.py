"""The certificate that the operator's metrics are served with: of a mounted Secret, or one that it signs itself."""

import asyncio
import logging
import ssl
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

_LOG = logging.getLogger(__name__)
_LOOK_EVERY_S: Final = 30.0
_END_OF_KEY: Final = b"-----END PRIVATE KEY-----"


class CertificateError(Exception):
    """There is no certificate to serve with."""


class ServingCertificate:
    """What TLS connections are served with. `folder` has tls.crt and tls.key; None: a certificate of its own."""

    def __init__(self, folder: Path | None, look_every_s: float = _LOOK_EVERY_S) -> None:
        self._folder = folder
        self._look_every_s = look_every_s
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._loaded = b""

    async def context(self) -> ssl.SSLContext:
        """Return the one context, with the certificate; raises CertificateError where there is none."""
        if self._folder is not None:
            self._load(self._folder)
        elif not self._loaded:
            self._loaded = await self._sign()
        return self._context

    async def follow(self) -> None:
        """Take in each renewed certificate of the folder, for the connections after it. Never returns."""
        while True:
            await asyncio.sleep(self._look_every_s)
            if self._folder is not None:
                try:
                    self._load(self._folder)
                except CertificateError as error:
                    _LOG.warning("serves with the certificate that it has: %s", error)

    def _load(self, folder: Path) -> None:
        chain, key = folder / "tls.crt", folder / "tls.key"
        try:
            read = chain.read_bytes() + key.read_bytes()
            if read != self._loaded:
                # A key of another certificate is refused only after the context has dropped the one that it had.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key)
                self._context.load_cert_chain(chain, key)
        except OSError as error:  # ssl.SSLError is one
            raise CertificateError(f"{folder} has no certificate and key that belong together: {error}") from error
        self._loaded = read

    async def _sign(self) -> bytes:
        """Take a certificate of its own, and return it."""
        signing = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sshload_operator.control.metrics.self_signed", stdout=asyncio.subprocess.PIPE
        )
        made, _ = await signing.communicate()
        if signing.returncode:
            raise CertificateError("no certificate could be made: the log of its process is above")
        with NamedTemporaryFile() as file:  # of mode 600, for load_cert_chain reads nothing but files
            file.write(made)
            file.flush()
            self._context.load_cert_chain(file.name)
        return made.partition(_END_OF_KEY)[2]
