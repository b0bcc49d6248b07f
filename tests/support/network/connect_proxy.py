"""An HTTP proxy on loopback through which connections are made by CONNECT, as companies have them."""

import asyncio
import base64
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

_PIECE_BYTES = 65_536
_END_LIMIT_S = 60


@dataclass(slots=True)
class ConnectProxy:
    """A proxy for those who log in as "user:password", "" for everybody.

    `asked_for` are the servers that it has connected to, as URLs, each once.
    """

    login: str
    port: int = 0
    asked_for: list[str] = field(default_factory=list)

    def url(self, login: str) -> str:
        """Return its URL, as somebody writes it who has this login."""
        return f"http://{f'{login}@' if login else ''}127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect one client to what it asks for."""
        request = await reader.readuntil(b"\r\n\r\n")
        method, where, _ = request.split(b"\r\n", 1)[0].decode().split(" ")
        assert method == "CONNECT"
        if base64.b64encode(self.login.encode()) not in request:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        server = f"https://{where}"
        if server not in self.asked_for:
            self.asked_for.append(server)
        host, _, port = where.rpartition(":")
        behind_reader, behind_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pump(reader, behind_writer), _pump(behind_reader, writer))


@contextlib.contextmanager
def connect_proxy(login: str = "") -> Iterator[ConnectProxy]:
    """Run a proxy, which ends with its connections."""
    proxy, loop = ConnectProxy(login), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(proxy.serve, "127.0.0.1", 0))
    proxy.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result(timeout=_END_LIMIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=_END_LIMIT_S)
        loop.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await source.read(_PIECE_BYTES):
            sink.write(piece)
            await sink.drain()
    sink.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
