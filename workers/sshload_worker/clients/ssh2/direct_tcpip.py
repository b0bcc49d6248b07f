"""What a request for a forwarded connection says (direct-tcpip, RFC 4254 section 7.2)."""

import struct

_ORIGIN_HOST = b"127.0.0.1"
_ORIGIN_PORT = 0


def direct_tcpip_message(host: str, port: int) -> bytes:
    """Return the packet's part that is the kind's own: where to, and where from."""
    return _string(host.encode()) + struct.pack(">I", port) + _string(_ORIGIN_HOST) + struct.pack(">I", _ORIGIN_PORT)


def _string(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text
