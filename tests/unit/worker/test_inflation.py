"""What a server has compressed, as each library of Python inflates it: it may become a thousand times as large."""

import socket
import zlib
from collections.abc import Callable
from time import thread_time

import pytest
from asyncssh.compression import get_decompressor
from paramiko.compress import ZlibDecompressor
from paramiko.ssh_exception import SSHException
from sshload_worker.clients.asyncssh import settings  # noqa: F401 - bounds asyncssh's
from sshload_worker.clients.inflation import MOST_BYTES
from sshload_worker.clients.paramiko.transport import _Packets

LARGEST_PACKET = 262_144
LARGEST_CONTENT = 9 + 1_048_576  # the head of a channel's data, and as much of it as client.packetSize allows
MOST_CPU_S = 0.5  # 50 ms on a machine ten times as slow
Inflate = Callable[[bytes], bytes | None]


def of_asyncssh(name: bytes) -> Inflate:
    found = get_decompressor(name)
    assert found is not None
    return found.decompress


def of_paramiko(_name: bytes) -> Inflate:
    near, far = socket.socketpair()
    packets = _Packets(near)
    packets.set_inbound_compressor(ZlibDecompressor())
    near.close(), far.close()
    inflate: Inflate = packets._Packetizer__compress_engine_in

    def inflated(packet: bytes) -> bytes | None:
        try:
            return inflate(packet)
        except SSHException:
            return None

    return inflated


@pytest.fixture(params=[of_asyncssh, of_paramiko], ids=["asyncssh", "paramiko"])
def of(request: pytest.FixtureRequest) -> Callable[[bytes], Inflate]:
    made: Callable[[bytes], Inflate] = request.param
    return made


@pytest.mark.parametrize("name", [b"zlib@openssh.com", b"zlib"])
def test_packets_are_inflated_one_after_the_other(of: Callable[[bytes], Inflate], name: bytes) -> None:
    inflate, deflate = of(name), zlib.compressobj()
    for content in (b"first", b"", bytes(32_768), b"last" * 1_000, bytes(LARGEST_CONTENT), bytes(MOST_BYTES)):
        assert inflate(deflate.compress(content) + deflate.flush(zlib.Z_SYNC_FLUSH)) == content


@pytest.mark.slow
@pytest.mark.parametrize("name", [b"zlib@openssh.com", b"zlib"])
def test_a_packet_that_grows_a_thousandfold_is_refused_in_little_time(
    of: Callable[[bytes], Inflate], name: bytes
) -> None:
    bomb = zlib.compress(bytes(1_000 * LARGEST_PACKET))
    assert len(bomb) <= LARGEST_PACKET
    inflate, begun_s = of(name), thread_time()
    assert inflate(bomb) is None
    assert thread_time() - begun_s < MOST_CPU_S


def test_what_is_not_compressed_is_refused(of: Callable[[bytes], Inflate]) -> None:
    assert of(b"zlib")(b"no stream of zlib") is None
