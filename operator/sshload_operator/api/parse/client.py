"""How the workers speak SSH."""

from typing import Any

from sshload_contract.run_config import Auth, Client, Library, Timeouts

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.external import BY_KEY
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import choice, duration, flag, size
from sshload_operator.api.parse.sshd import read_algorithms

_TIMEOUT = duration("1ms", "1h")
_REKEY_LIMIT = size("64Ki", "1024Gi")
_WINDOW = size("32Ki", "1Gi")
_PACKET = size("1Ki", "1Mi")
_BUFFER = size("1Ki", "64Mi")
_PARAMIKO_PACKET_LEAST_BYTES = 4096

# What a library has no setting for, by the field's name.
_UNSUPPORTED = {
    Library.SSH2_PYTHON: ("rekeyLimit", "packetSize"),
    Library.PARAMIKO: (),
    Library.ASYNCSSH: (),
    Library.OPENSSH: ("windowSize", "packetSize", "readBufferSize"),
}


def read_client(value: Any, path: str) -> tuple[Client, Auth]:
    """Read the client, and how it logs in."""
    fields = Fields(value, path)
    auth = Auth(fields.defaulted("auth", choice(*Auth), Auth.PUBLICKEY.value))
    client = Client(
        library=Library(fields.defaulted("library", choice(*Library), Library.SSH2_PYTHON.value)),
        control_master=fields.defaulted("controlMaster", flag, default=False),
        kex_algorithms=read_algorithms(fields, "kexAlgorithms"),
        ciphers=read_algorithms(fields, "ciphers"),
        macs=read_algorithms(fields, "macs"),
        host_key_algorithms=read_algorithms(fields, "hostKeyAlgorithms"),
        compression=fields.defaulted("compression", flag, default=False),
        rekey_bytes=fields.optional("rekeyLimit", _REKEY_LIMIT),
        window_bytes=fields.optional("windowSize", _WINDOW),
        packet_bytes=fields.optional("packetSize", _PACKET),
        read_buffer_bytes=fields.optional("readBufferSize", _BUFFER),
        sftp_read_bytes=fields.optional("sftpReadSize", _BUFFER),
        sftp_write_bytes=fields.optional("sftpWriteSize", _BUFFER),
        quick_ack=fields.defaulted("quickAck", flag, default=True),
        timeouts=fields.defaulted("timeouts", _read_timeouts, {}),
    )
    fields.end()
    _check_library(client, auth, fields)
    return client, auth


def _check_library(client: Client, auth: Auth, fields: Fields) -> None:
    """Refuse what the client's library cannot do."""
    given = {
        "rekeyLimit": client.rekey_bytes,
        "windowSize": client.window_bytes,
        "packetSize": client.packet_bytes,
        "readBufferSize": client.read_buffer_bytes,
    }
    for name in _UNSUPPORTED[client.library]:
        if given[name] is not None:
            raise SpecError(fields.at(name), f"the library {client.library} has no such setting")
    packet_bytes = client.packet_bytes
    if client.library is Library.PARAMIKO and packet_bytes is not None and packet_bytes < _PARAMIKO_PACKET_LEAST_BYTES:
        raise SpecError(fields.at("packetSize"), "the library paramiko takes no packet size below 4Ki")
    if client.control_master and client.library is not Library.OPENSSH:
        raise SpecError(fields.at("controlMaster"), "only the library openssh has a ControlMaster")
    if client.library is Library.OPENSSH and auth not in BY_KEY:
        raise SpecError(fields.at("auth"), "the library openssh takes publickey, certificate or agent")


def _read_timeouts(value: Any, path: str) -> Timeouts:
    fields = Fields(value, path)
    timeouts = Timeouts(
        connect_s=fields.defaulted("connect", _TIMEOUT, "10s"),
        banner_s=fields.defaulted("banner", _TIMEOUT, "10s"),
        kex_s=fields.defaulted("kex", _TIMEOUT, "20s"),
        auth_s=fields.defaulted("auth", _TIMEOUT, "20s"),
        channel_s=fields.defaulted("channel", _TIMEOUT, "10s"),
        step_s=fields.defaulted("step", _TIMEOUT, "1m"),
    )
    fields.end()
    return timeouts
