"""An SFTP server that answers every request with one status: `python answering_sftp_server.py STATUS`.

With two that there are not, it ends in place of the answer: with 254 in the middle of its packet, with 255 before it.
"""

import struct
import sys

_ENDS_WITHIN, _ENDS_BEFORE = 254, 255
_INIT, _VERSION, _STATUS = 1, 2, 101  # draft-ietf-secsh-filexfer-02 section 3


def serve(status: int) -> None:
    """Answer until the client ends."""
    while len(head := sys.stdin.buffer.read(5)) == 5:
        length, kind = struct.unpack(">IB", head)
        body = sys.stdin.buffer.read(length - 1)
        if kind == _INIT:
            _send(struct.pack(">BI", _VERSION, 3))
        elif status == _ENDS_BEFORE:
            return
        elif status == _ENDS_WITHIN:
            _write(struct.pack(">IBB", 17, _STATUS, body[0]))
            return
        else:
            _send(struct.pack(">B4sIII", _STATUS, body[:4], status, 0, 0))


def _send(packet: bytes) -> None:
    _write(struct.pack(">I", len(packet)) + packet)


def _write(octets: bytes) -> None:
    sys.stdout.buffer.write(octets)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
