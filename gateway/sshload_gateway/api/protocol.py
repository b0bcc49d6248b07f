"""HTTP/1.1 by uvicorn and h11, with each answer in one write, and no more time for it than a client may take."""

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from sshload_gateway.gathering import GatheringTransport

_TAKEN_WITHIN_S: Final = 30.0
"""How long a client may take to take an answer."""


class HttpProtocol(H11Protocol):
    """One connection of a client."""

    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Begin to serve a client."""
        transport.set_write_buffer_limits(0)  # whatever waits to be taken is told by pause_writing
        self._gathering = GatheringTransport(transport)
        super().connection_made(self._gathering)

    def connection_lost(self, exc: Exception | None) -> None:
        """Hear that the client is gone."""
        self._keep()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give the client up unless it takes in time what was sent."""
        super().pause_writing()
        self._giving_up = self.loop.call_later(_TAKEN_WITHIN_S, self._gathering.abort)

    def resume_writing(self) -> None:
        """Hear that the client has taken all."""
        self._keep()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Send an answer whose last part was written."""
        self._gathering.flush()
        super().on_response_complete()

    def _keep(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
