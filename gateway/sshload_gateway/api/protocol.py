"""HTTP/1.1 by uvicorn and h11, with each answer in one write."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from sshload_gateway.gathering import GatheringTransport


class HttpProtocol(H11Protocol):
    """One connection of a client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to serve a client."""
        self._gathering = GatheringTransport(transport)
        super().connection_made(self._gathering)

    def on_response_complete(self) -> None:
        """Send an answer whose last part was written."""
        self._gathering.flush()
        super().on_response_complete()
