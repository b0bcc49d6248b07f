"""The server's side of one SSH connection, which exchanges keys in order and may then send any bytes whatever.

It reads what the client encrypts by AES-GCM. References are to RFC 4253 unless another one is named.
"""

import hmac
import os
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.poly1305 import Poly1305

GCM, CHACHA, CTR = "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr"
MAC, ETM = "hmac-sha2-256", "hmac-sha2-256-etm@openssh.com"

IGNORE, SERVICE_ACCEPT, EXT_INFO, KEXINIT, NEWKEYS, KEX_REPLY = 2, 6, 7, 20, 21, 31
GEX_GROUP, GEX_REPLY = 31, 33
USERAUTH_SUCCESS = 52
CHANNEL_CONFIRMATION, CHANNEL_FAILURE, CHANNEL_DATA, CHANNEL_EXTENDED_DATA, CHANNEL_CLOSE = 91, 92, 94, 95, 97
CHANNEL_REQUEST, CHANNEL_SUCCESS = 98, 99

_GROUP14 = "diffie-hellman-group14-sha256"
GROUP_EXCHANGE = "diffie-hellman-group-exchange-sha256"
HYBRID = "mlkem768x25519-sha256"
KEM_KEY_BYTES, CIPHERTEXT_BYTES = 1_184, 1_088
"""Of ML-KEM-768 (FIPS 203 table 3)."""

_EXPONENT = 5
_VERSION = b"SSH-2.0-bare"
_COOKIE_BYTES = 16
_BLOCK_BYTES = 16
_LEAST_PADDING_BYTES = 4
_LENGTH_BYTES = 4
_TAG_BYTES = 16
_RECEIVE_BYTES = 65_536

Seal = Callable[[int, bytes, bytes], bytes]
"""Makes a packet of its sequence number, its length field and all that follows but the MAC."""

Open = Callable[[bytes, bytes], bytes]
"""Returns what a packet holds, of its length field and all that follows."""


def string(value: bytes) -> bytes:
    """Return a string (RFC 4251 section 5)."""
    return struct.pack(">I", len(value)) + value


def mpint(value: int) -> bytes:
    """Return an integer that is not negative (RFC 4251 section 5)."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big") if value else b"")


@dataclass(frozen=True, slots=True)
class _Secrets:
    shared: bytes
    exchange_hash: bytes

    def key(self, letter: bytes, length: int) -> bytes:
        """Return a key (section 7.2)."""
        start = self.shared + self.exchange_hash
        key = sha256(start + letter + self.exchange_hash).digest()
        while len(key) < length:
            key += sha256(start + key).digest()
        return key[:length]


@dataclass(frozen=True, slots=True)
class Exchange:
    """How keys are exchanged.

    `from_client` is the cipher of that direction, where it is another one; `first` are payloads to be sent before all
    others. `method` may be other names for the same. With `dh_value` it is Diffie-Hellman in group 14, in which that
    is the server's value, and the shared secret as well. With `point` that is the server's value of `method`, and the
    shared secret is 0. With `group` it is a group exchange (RFC 4419) in that group: the number that should be a prime,
    and the generator. With `answer` it is mlkem768x25519-sha256, in which the server says what that makes of its value:
    a ciphertext of ML-KEM-768 and a value of curve25519. The `host_key` is a new one unless it is given; with `forged`
    its signature is that of something else.
    """

    cipher: str = GCM
    mac: str = MAC
    from_client: str = ""
    method: str = "curve25519-sha256,curve25519-sha256@libssh.org"
    dh_value: int | None = None
    point: bytes | None = None
    group: tuple[int, int] | None = None
    answer: Callable[[bytes], bytes] | None = None
    first: Sequence[bytes] = ()
    host_key: Ed25519PrivateKey | None = None
    forged: bool = False


class BareServer:
    """One connection of a client."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sequence = count()
        self._seal: Seal = _no_seal
        self._open: Open = _no_opening
        self._opens_next: Open = _no_opening
        self._tag_bytes = 0
        self._aligned_bytes = _LENGTH_BYTES
        self._unread = b""

    def exchange_keys(self, by: Exchange) -> None:
        """Exchange keys: from here on packets are encrypted."""
        client_version, offer = self.offer_keys(by)
        client_offer = self.receive()
        chosen = b"" if by.group is None else self._choose(*by.group)
        client_value = self.receive()[1:]
        if by.group is not None:
            value, shared = _agree_in(*by.group, client_value)
        elif by.dh_value is not None:
            value = shared = mpint(by.dh_value)
        elif by.point is not None:
            value, shared = string(by.point), mpint(0)
        elif by.answer is not None:
            value, shared = _agree_with_kem(client_value, by.answer)
        else:
            value, shared = _agree(client_value)
        key = by.host_key or Ed25519PrivateKey.generate()
        host_key = string(b"ssh-ed25519") + string(key.public_key().public_bytes_raw())
        said = b"".join(map(string, (client_version, _VERSION, client_offer, offer, host_key)))
        secrets = _Secrets(shared, sha256(said + chosen + client_value + value + shared).digest())
        signed = bytes(len(secrets.exchange_hash)) if by.forged else secrets.exchange_hash
        signature = string(b"ssh-ed25519") + string(key.sign(signed))
        self.send(bytes([KEX_REPLY if by.group is None else GEX_REPLY]) + string(host_key) + value + string(signature))
        self.send(bytes([NEWKEYS]))
        self._seal = _SEALS[by.cipher, by.mac](secrets)
        self._aligned_bytes = _LENGTH_BYTES if (by.cipher, by.mac) == (CTR, MAC) else 0
        if (by.from_client or by.cipher) == GCM:
            self._opens_next = _gcm_opening(secrets)

    def offer_keys(self, by: Exchange) -> tuple[bytes, bytes]:
        """Begin a key exchange; return the client's version and what was offered."""
        client_version = self.greet()
        for payload in by.first:
            self.send(payload)
        method = GROUP_EXCHANGE if by.group else HYBRID if by.answer else by.method if by.dh_value is None else _GROUP14
        names = (method, "ssh-ed25519", by.from_client or by.cipher, by.cipher, by.mac, by.mac, "none", "none", "", "")
        lists = b"".join(string(name.encode()) for name in names)
        offer = bytes([KEXINIT]) + os.urandom(_COOKIE_BYTES) + lists + bytes(5)
        self.send(offer)
        return client_version, offer

    def _choose(self, prime: int, generator: int) -> bytes:
        """Hear the request for a group and choose one; return what of both is hashed."""
        sizes, group = self.receive()[1:], mpint(prime) + mpint(generator)
        self.send(bytes([GEX_GROUP]) + group)
        return sizes + group

    def greet(self) -> bytes:
        """Exchange versions; return the client's."""
        self._connection.sendall(_VERSION + b"\r\n")
        while b"\n" not in self._unread:
            self._receive()
        version, _, self._unread = self._unread.partition(b"\n")
        return version.rstrip(b"\r")

    def send(self, payload: bytes) -> None:
        """Send a packet in order."""
        self.send_body(_padded(payload, self._aligned_bytes))

    def send_at_once(self, payloads: Iterable[bytes]) -> None:
        """Send packets in order, with nothing read between them."""
        bodies = (_padded(payload, self._aligned_bytes) for payload in payloads)
        self._connection.sendall(b"".join(self._sealed(body) for body in bodies))

    def send_body(self, body: bytes, length: int | None = None) -> None:
        """Send a packet of any body, and of any length field, which else tells the truth."""
        self._connection.sendall(self._sealed(body, length))

    def send_forged(self, body: bytes) -> None:
        """Send a packet whose last byte, that of its MAC, was changed on the way."""
        sealed = self._sealed(body)
        self._connection.sendall(sealed[:-1] + bytes([sealed[-1] ^ 1]))

    def receive(self) -> bytes:
        """Return the payload of the client's next packet, which is in the clear or encrypted by AES-GCM."""
        field = self._read(_LENGTH_BYTES)
        (length,) = struct.unpack(">I", field)
        body = self._open(field, self._read(length + self._tag_bytes))
        payload = body[1 : length - body[0]]
        if payload[0] == NEWKEYS:
            self._open, self._tag_bytes = self._opens_next, _TAG_BYTES
        return payload

    def await_end(self) -> None:
        """Wait until the client has gone."""
        while self._connection.recv(_RECEIVE_BYTES):
            pass

    def _sealed(self, body: bytes, length: int | None = None) -> bytes:
        field = struct.pack(">I", len(body) if length is None else length)
        return self._seal(next(self._sequence), field, body)

    def _read(self, length: int) -> bytes:
        while len(self._unread) < length:
            self._receive()
        read, self._unread = self._unread[:length], self._unread[length:]
        return read

    def _receive(self) -> None:
        received = self._connection.recv(_RECEIVE_BYTES)
        if not received:
            raise ConnectionResetError("the client has gone")
        self._unread += received


def let_in(server: BareServer) -> None:
    """Send the answers of a login: libssh2 keeps what comes before its question."""
    server.send(bytes([SERVICE_ACCEPT]) + string(b"ssh-userauth"))
    server.send(bytes([USERAUTH_SUCCESS]))


def let_user_in(server: BareServer) -> None:
    """Let the client log in and request a channel."""
    server.exchange_keys(Exchange())
    server.receive()  # NEWKEYS
    server.receive()  # the request for the service
    let_in(server)
    server.receive()  # the request to log in
    server.receive()  # the request for a channel


def begin(server: BareServer) -> None:
    """Let the client log in and begin a command or subsystem."""
    let_user_in(server)
    server.send(struct.pack(">BIIII", CHANNEL_CONFIRMATION, 0, 0, 2**20, 2**15))
    server.receive()  # the request for the command or subsystem
    server.send(struct.pack(">BI", CHANNEL_SUCCESS, 0))


def _padded(payload: bytes, aligned_bytes: int) -> bytes:
    unaligned = aligned_bytes + 1 + len(payload) + _LEAST_PADDING_BYTES
    padding = _LEAST_PADDING_BYTES + -unaligned % _BLOCK_BYTES
    return bytes([padding]) + payload + bytes(padding)


def _agree_in(prime: int, generator: int, client_value: bytes) -> tuple[bytes, bytes]:
    """Return the server's value and the shared secret in a group, with an exponent that takes no time."""
    shared = pow(int.from_bytes(client_value[_LENGTH_BYTES:], "big"), _EXPONENT, prime)
    return mpint(pow(generator, _EXPONENT, prime)), mpint(shared)


def _agree(client_value: bytes) -> tuple[bytes, bytes]:
    """Return the server's value and the shared secret (RFC 8731)."""
    private = X25519PrivateKey.generate()
    shared = private.exchange(X25519PublicKey.from_public_bytes(client_value[_LENGTH_BYTES:]))
    return string(private.public_key().public_bytes_raw()), mpint(int.from_bytes(shared, "big"))


def _agree_with_kem(client_value: bytes, answer: Callable[[bytes], bytes]) -> tuple[bytes, bytes]:
    """Return the server's value and the shared secret (draft-ietf-sshm-mlkem-hybrid-kex section 2.3)."""
    keys = client_value[_LENGTH_BYTES:]
    secret, ciphertext = MLKEM768PublicKey.from_public_bytes(keys[:KEM_KEY_BYTES]).encapsulate()
    private = X25519PrivateKey.generate()
    secret += private.exchange(X25519PublicKey.from_public_bytes(keys[KEM_KEY_BYTES:]))
    return string(answer(ciphertext + private.public_key().public_bytes_raw())), string(sha256(secret).digest())


def _no_seal(sequence: int, field: bytes, body: bytes) -> bytes:
    del sequence
    return field + body


def _gcm(secrets: _Secrets) -> Seal:
    """RFC 5647, whose invocation counter is the nonce's last eight bytes."""
    cipher, nonce = AESGCM(secrets.key(b"D", 16)), secrets.key(b"B", 12)
    counter = count(int.from_bytes(nonce[4:], "big"))

    def seal(sequence: int, field: bytes, body: bytes) -> bytes:
        del sequence
        return field + cipher.encrypt(nonce[:4] + (next(counter) % 2**64).to_bytes(8, "big"), body, field)

    return seal


def _no_opening(field: bytes, body: bytes) -> bytes:
    del field
    return body


def _gcm_opening(secrets: _Secrets) -> Open:
    cipher, nonce = AESGCM(secrets.key(b"C", 16)), secrets.key(b"A", 12)
    counter = count(int.from_bytes(nonce[4:], "big"))
    return lambda field, body: cipher.decrypt(nonce[:4] + (next(counter) % 2**64).to_bytes(8, "big"), body, field)


def _chacha(secrets: _Secrets) -> Seal:
    """OpenSSH's PROTOCOL.chacha20poly1305."""
    key = secrets.key(b"D", 64)

    def stream(key: bytes, sequence: int, block: int, data: bytes) -> bytes:
        nonce = block.to_bytes(8, "little") + sequence.to_bytes(8, "big")
        return Cipher(algorithms.ChaCha20(key, nonce), None).encryptor().update(data)

    def seal(sequence: int, field: bytes, body: bytes) -> bytes:
        packet = stream(key[32:], sequence, 0, field) + stream(key[:32], sequence, 1, body)
        return packet + Poly1305.generate_tag(stream(key[:32], sequence, 0, bytes(32)), packet)

    return seal


def _ctr(secrets: _Secrets) -> Seal:
    """Section 6.4: the MAC is that of the plain packet."""
    encrypt, key = _ctr_stream(secrets), secrets.key(b"F", 32)
    return lambda sequence, field, body: encrypt(field + body) + _hmac(key, sequence, field + body)


def _ctr_etm(secrets: _Secrets) -> Seal:
    """OpenSSH's PROTOCOL, section 1.5: the length is in the clear, and the MAC that of the encrypted packet."""
    encrypt, key = _ctr_stream(secrets), secrets.key(b"F", 32)

    def seal(sequence: int, field: bytes, body: bytes) -> bytes:
        packet = field + encrypt(body)
        return packet + _hmac(key, sequence, packet)

    return seal


def _ctr_stream(secrets: _Secrets) -> Callable[[bytes], bytes]:
    return Cipher(algorithms.AES(secrets.key(b"D", 16)), modes.CTR(secrets.key(b"B", 16))).encryptor().update


def _hmac(key: bytes, sequence: int, packet: bytes) -> bytes:
    return hmac.digest(key, struct.pack(">I", sequence) + packet, "sha256")


_SEALS = {(GCM, MAC): _gcm, (CHACHA, MAC): _chacha, (CTR, MAC): _ctr, (CTR, ETM): _ctr_etm}
