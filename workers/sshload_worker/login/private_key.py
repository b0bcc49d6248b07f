"""Private keys, checked and decrypted once before the start, and the worker's own ssh-agent, which has few of them.

A login with an encrypted key would cost 300 ms of CPU. Every client library gets the same format: OpenSSH's own,
without encryption. A key in this format is only checked. `cryptography` reads all others, and is imported only for
them.
"""

import atexit
import binascii
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from sshload_contract.error_text import reason_of
from sshload_contract.private_key_text import DamagedKeyError, private_key_text

from sshload_worker.login.wire import WireError, WireReader, wire_string
from sshload_worker.outcomes import GeneratorFaultError

_OPENSSH_BEGIN = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_OPENSSH_END = b"-----END OPENSSH PRIVATE KEY-----"
_OPENSSH_MAGIC = b"openssh-key-v1\0"
_PUTTY_BEGIN = b"PuTTY-User-Key-File"
_NOT_ENCRYPTED = "none"
_CHECK_BYTES = 8
_LINE_CHARACTERS = 70  # as OpenSSH writes them; libssh2 takes no longer ones than 128
_PADDED_TO_BYTES = 8
"""What is private of a key that is not encrypted is padded to a multiple of this (PROTOCOL.key section 3)."""
_PRIVATE_STRINGS = {"ssh-ed25519": 2, "ecdsa": 3, "ssh-rsa": 6}
_PUBLIC_STRINGS = {"ssh-ed25519": (0,), "ecdsa": (0, 1), "ssh-rsa": (1, 0)}
"""Which strings of a private key are its public half, in that one's order: RSA's modulus and exponent change places."""

_KNOWN_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
_SECURITY_KEY = "sk-"
_PUBLIC_BEGINS = tuple(name.encode() for name in (*_KNOWN_TYPES, "ssh-dss", _SECURITY_KEY))

_MOST_ROUNDS = 500
"""Of bcrypt for one key: four seconds. ssh-keygen's default is 16 or 24."""

_MOST_ITERATIONS = 10_000_000
_MOST_WORK = 2**27
"""Of PBKDF2 or scrypt for one key: the product of all numbers that they are given."""

_MOST_RSA_BYTES = 1_025
"""Of a modulus: 8,192 bits and a zero. A signature by a larger one occupies a worker for more than 50 ms."""

_SEQUENCE, _INTEGER = 0x30, 0x02

_SOCKET_PATH_LIMIT_BYTES = 107  # sun_path of unix(7) holds 108 with the closing zero
_AGENT_COMPANION = 'echo "$SSH_AGENT_PID"; exec cat'
_ADD_IDENTITY = b"\x11"
_AGENT_SUCCESS = b"\x06"
_AGENT_ANSWER_BYTES = 5
_AGENT_TIMEOUT_S = 10.0
_AGENT_ENVIRONMENT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A private key in OpenSSH's format, not encrypted, and its public half in wire form (RFC 4253 section 6.6)."""

    openssh: bytes
    public_blob: bytes

    @property
    def public_line(self) -> bytes:
        """The public half as a line as ssh-keygen writes it, without a comment."""
        return WireReader(self.public_blob).string() + b" " + b64encode(self.public_blob)


def read_private_key(data: bytes, passphrase: str, role: str) -> PrivateKey:
    """Return the key in a file's content; raises GeneratorFaultError, which calls the file `role`."""
    text = data.strip()
    if not text:
        raise GeneratorFaultError(f"{role} is empty")
    if text.startswith(_PUTTY_BEGIN):
        raise GeneratorFaultError(f"{role} is in PuTTY's format: convert it with `puttygen -O private-openssh`")
    if text.startswith(_PUBLIC_BEGINS):
        raise GeneratorFaultError(f"{role} holds a public key: the private one is needed")
    try:
        text = private_key_text(text)
    except DamagedKeyError as error:
        raise GeneratorFaultError(f"{role} {error}") from None
    key = _read_openssh(text, role) if text.startswith(_OPENSSH_BEGIN) else None
    return key or _decrypted(text, passphrase, role)


def ed25519_key(seed: bytes) -> PrivateKey:
    """Return the Ed25519 key with this seed, the 32 bytes of RFC 8032 section 5.1.5."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - few runs need it

    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    kind = wire_string(b"ssh-ed25519")
    public_blob = kind + wire_string(public)
    private = bytes(_CHECK_BYTES) + public_blob + wire_string(seed + public) + wire_string(b"")
    private += bytes(range(1, -len(private) % _PADDED_TO_BYTES + 1))
    none = wire_string(_NOT_ENCRYPTED.encode())
    one_key = none + none + wire_string(b"") + b"\0\0\0\1" + wire_string(public_blob) + wire_string(private)
    text = b64encode(_OPENSSH_MAGIC + one_key)
    lines = (text[at : at + _LINE_CHARACTERS] for at in range(0, len(text), _LINE_CHARACTERS))
    return PrivateKey(b"\n".join((_OPENSSH_BEGIN, *lines, _OPENSSH_END, b"")), public_blob)


def new_keys(number: int) -> tuple[PrivateKey, ...]:
    """Return so many new Ed25519 keys, which no server knows."""
    if not number:
        return ()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - few runs need it
        Ed25519PrivateKey,
    )

    return tuple(_written(Ed25519PrivateKey.generate()) for _ in range(number))


def agent_identity(key: PrivateKey) -> bytes:
    """Return the key in the form for adding it to an agent (draft-ietf-sshm-ssh-agent section 3.2.1), uncommented."""
    reader = WireReader(_container(key.openssh.strip()))
    for read in (reader.string, reader.string, reader.string, reader.uint32, reader.string):
        read()
    private = WireReader(reader.string())
    private.fixed(_CHECK_BYTES)
    name = private.text()
    return wire_string(name.encode()) + b"".join(map(wire_string, _private_fields(private, name))) + wire_string(b"")


def _private_fields(private: WireReader, name: str) -> list[bytes]:
    """Return the fields of a private key of this type; raises WireError if there are fewer."""
    return [private.string() for _ in range(_PRIVATE_STRINGS[name.partition("-sha2-")[0]])]


def _is_half_of(public_blob: bytes, private: WireReader) -> bool:
    """Return whether a private part, from its check numbers on, has this public half; raises WireError."""
    public = WireReader(public_blob)
    name = public.text()
    is_decrypted = private.uint32() == private.uint32()
    if not is_decrypted or private.text() != name:
        return False
    fields = _private_fields(private, name)
    half = [fields[at] for at in _PUBLIC_STRINGS[name.partition("-sha2-")[0]]]
    return b"".join(map(wire_string, half)) == public.rest and _ends_alike(name, fields)


def _ends_alike(name: str, fields: list[bytes]) -> bool:
    """Return whether the secret of Ed25519 ends with its public key, as OpenSSH has it; true of other types."""
    return name != "ssh-ed25519" or fields[1][len(fields[0]) :] == fields[0]


def _container(text: bytes) -> bytes:
    """Return the data after the magic word of OpenSSH's format; raises WireError or binascii.Error."""
    body = text.removeprefix(_OPENSSH_BEGIN).partition(_OPENSSH_END)[0]
    packed = b64decode(b"".join(body.split()), validate=True)
    if not packed.startswith(_OPENSSH_MAGIC):
        raise WireError("it is incomplete")
    return packed.removeprefix(_OPENSSH_MAGIC)


def _read_openssh(text: bytes, role: str) -> PrivateKey | None:
    """Return the key, None if it is encrypted."""
    try:
        reader = WireReader(_container(text))
        cipher, derivation, options, _ = reader.text(), reader.text(), reader.string(), reader.uint32()
        public_blob = reader.string()
        _check_type(WireReader(public_blob).text(), role)
        _check_size(public_blob, role)
        if cipher != _NOT_ENCRYPTED:
            _check_rounds(derivation, options, role)
            return None
        is_whole = _is_half_of(public_blob, WireReader(reader.string()))
    except (WireError, binascii.Error) as error:
        raise GeneratorFaultError(f"{role} is damaged: {error}") from None
    if not is_whole:
        raise GeneratorFaultError(f"{role} is damaged: its private part does not match its public part")
    return PrivateKey(openssh=text, public_blob=public_blob)


def _check_rounds(derivation: str, options: bytes, role: str) -> None:
    if derivation != "bcrypt":
        return
    reader = WireReader(options)
    reader.string()  # the salt
    rounds = reader.uint32()
    if rounds > _MOST_ROUNDS:
        raise GeneratorFaultError(
            f"{role} takes {rounds} rounds of bcrypt to decrypt, and at most {_MOST_ROUNDS} are done: write it again"
            " with `ssh-keygen -p -a 24`"
        )


def _check_iterations(text: bytes, role: str) -> None:
    """Check how much work it is to decrypt a key in PKCS #8 (RFC 8018, RFC 7914)."""
    content = text.partition(b"-----\n")[2].rpartition(b"-----END ")[0]
    try:
        numbers = _numbers(b64decode(content.rpartition(b"\n\n")[2]))  # after headers (RFC 1421), if there are any
    except IndexError:
        return  # whoever reads it will say so
    work = prod(max(number, 1) for number in numbers)
    if work > _MOST_WORK or max(numbers, default=0) > _MOST_ITERATIONS:
        raise GeneratorFaultError(
            f"{role} takes too much work to decrypt: write it again with fewer iterations, such as by"
            " `openssl pkcs8 -topk8 -iter 100000`"
        )


def _numbers(der: bytes) -> list[int]:
    """Return all integers of DER (X.690) that are in no string."""
    numbers, position = [], 0
    while position < len(der):
        tag, length = der[position], der[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[position : position + size], "big")
            position += size
        if tag == _INTEGER:
            numbers.append(int.from_bytes(der[position : position + min(length, 16)], "big"))
        if tag != _SEQUENCE:
            position += length
    return numbers


def _check_size(public_blob: bytes, role: str) -> None:
    reader = WireReader(public_blob)
    if reader.text() != "ssh-rsa":
        return
    reader.string()  # the exponent
    if len(reader.string()) > _MOST_RSA_BYTES:
        raise GeneratorFaultError(
            f"{role} is an RSA key of more than 8,192 bits, whose signatures would take the load generator's time: use"
            " a smaller one, or ed25519"
        )


def _check_type(name: str, role: str) -> None:
    if name not in _KNOWN_TYPES:
        known = ", ".join(_KNOWN_TYPES)
        if name.startswith(_SECURITY_KEY):
            raise GeneratorFaultError(
                f"{role} is of a security key ({name[:64]}), which somebody has to touch at each login: use one of"
                f" {known}"
            )
        raise GeneratorFaultError(f"{role} is of the type {name[:64]!r}, which cannot be used: use one of {known}")


def _decrypted(text: bytes, passphrase: str, role: str) -> PrivateKey:
    key = _load(text, passphrase, role)
    try:
        written = _written(key)
    except (ValueError, TypeError, AttributeError):  # a curve or a type of key that SSH has no name for
        raise GeneratorFaultError(
            f"{role} is of a type that SSH does not support: use one of {', '.join(_KNOWN_TYPES)}"
        ) from None
    _check_type(WireReader(written.public_blob).text(), role)
    _check_size(written.public_blob, role)
    return written


def _written(key: Any) -> PrivateKey:
    """Return a key of `cryptography` in OpenSSH's format; raises ValueError, TypeError or AttributeError."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - few runs need it

    openssh = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return PrivateKey(openssh=openssh, public_blob=b64decode(public.split()[1]))


def _load(text: bytes, passphrase: str, role: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - likewise
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - likewise

    openssh = text.startswith(_OPENSSH_BEGIN)
    load: Any = serialization.load_ssh_private_key if openssh else serialization.load_pem_private_key
    encrypted = openssh or b"ENCRYPTED" in text
    if encrypted and not passphrase:
        raise GeneratorFaultError(f"{role} is encrypted: its passphrase is needed, or the key without encryption")
    if b"ENCRYPTED PRIVATE KEY" in text:
        _check_iterations(text, role)
    try:
        return load(text, passphrase.encode() if encrypted else None)
    except UnsupportedAlgorithm:
        raise GeneratorFaultError(f"{role} is of a type, or encrypted in a way, that cannot be used") from None
    except (ValueError, TypeError):
        if encrypted:
            raise GeneratorFaultError(
                f"{role} cannot be decrypted: the passphrase is wrong, or the file is damaged"
            ) from None
        raise GeneratorFaultError(f"{role} is damaged, or not a private key") from None


class Agent:
    """An ssh-agent at `socket_path`. `pid` is 0 before its start and after its end.

    It listens in a directory that only this user may enter, and gets keys over its socket, never as an argument or
    in the environment. It ends with this process. If this process is killed, the pipe to the agent's companion (`cat`)
    closes, which ends the companion, and the agent checks every ten seconds whether its companion still runs.

    Raises GeneratorFaultError if there is no place for its socket.
    """

    def __init__(self) -> None:
        try:
            self._folder = tempfile.mkdtemp(prefix="sshload-")
        except OSError as error:
            raise GeneratorFaultError(f"no ssh-agent: $TMPDIR cannot be written to ({reason_of(error)})") from None
        self.socket_path = str(Path(self._folder) / "agent")
        self._companion: subprocess.Popen[bytes] | None = None
        self.pid = 0
        atexit.register(self.end)

    def start(self) -> None:
        """Start the agent and wait until it listens; raises GeneratorFaultError if this fails."""
        if len(os.fsencode(self.socket_path)) > _SOCKET_PATH_LIMIT_BYTES:
            raise GeneratorFaultError(f"no ssh-agent: $TMPDIR is too long for a socket's path ({self.socket_path})")
        command = ["ssh-agent", "-a", self.socket_path, "sh", "-c", _AGENT_COMPANION]
        environment = {name: os.environ[name] for name in _AGENT_ENVIRONMENT if name in os.environ}
        try:
            self._companion = subprocess.Popen(  # noqa: S603 - no part of the command is user input
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
            )
        except OSError as error:
            raise GeneratorFaultError(
                f"ssh-agent cannot be started: {reason_of(error)} (the worker's image needs openssh-client)"
            ) from None
        line = self._companion.stdout.readline().decode("utf-8", "replace").strip() if self._companion.stdout else ""
        if not line.isdecimal():
            raise GeneratorFaultError(f"ssh-agent cannot be started: {line or 'it printed nothing'}")
        self.pid = int(line)

    def add(self, key: PrivateKey) -> None:
        """Add a key to the agent; raises GeneratorFaultError if the agent does not accept it."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_AGENT_TIMEOUT_S)
            try:
                connection.connect(self.socket_path)
                connection.sendall(wire_string(_ADD_IDENTITY + agent_identity(key)))
                answer = connection.recv(_AGENT_ANSWER_BYTES)
            except OSError as error:
                raise GeneratorFaultError(f"ssh-agent does not answer: {error}") from None
        if not answer.endswith(_AGENT_SUCCESS):
            raise GeneratorFaultError("ssh-agent does not accept the private key")

    def end(self) -> None:
        """End the agent and remove its directory. Does nothing if this was done already."""
        atexit.unregister(self.end)
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            self.pid = 0
        if self._companion is not None:
            self._companion.communicate()  # closes its input, which ends it
            self._companion = None
        shutil.rmtree(self._folder, ignore_errors=True)


def start_agent(keys: Iterable[PrivateKey]) -> Agent:
    """Return an agent with the keys, in this order; raises GeneratorFaultError if it cannot be started."""
    agent = Agent()
    try:
        agent.start()
        for key in keys:
            agent.add(key)
    except GeneratorFaultError:
        agent.end()
        raise
    return agent
