"""An SFTP server that answers every request with one status: `python answering_sftp_server.py STATUS`.

With the status 255, which there is not, it ends in place of the answer, between two packets.
"""

import struct
import sys

_NO_STATUS = 255
_INIT, _VERSION, _STATUS = 1, 2, 101  # draft-ietf-secsh-filexfer-02 section 3


def serve(status: int) -> None:
    """Answer until the client ends."""
    while len(head := sys.stdin.buffer.read(5)) == 5:
        length, kind = struct.unpack(">IB", head)
        body = sys.stdin.buffer.read(length - 1)
        if kind == _INIT:
            _send(struct.pack(">BI", _VERSION, 3))
        elif status == _NO_STATUS:
            return
        else:
            _send(struct.pack(">B4sIII", _STATUS, body[:4], status, 0, 0))


def _send(packet: bytes) -> None:
    sys.stdout.buffer.write(struct.pack(">I", len(packet)) + packet)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
