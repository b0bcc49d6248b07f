"""How the workers speak SSH."""

from collections.abc import Mapping
from typing import Any

from sshload_contract.run_config import Auth, Client, Library, Timeouts

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.external import BY_KEY
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import Reader, choice, duration, flag, size
from sshload_operator.api.parse.sshd import read_algorithms

_TIMEOUT = duration("1ms", "1h")
_BUFFER = size("1Ki", "64Mi")
_SIZES = {
    "rekeyLimit": size("64Ki", "1024Gi"),
    "windowSize": size("32Ki", "1Gi"),
    "packetSize": size("1Ki", "1Mi"),
    "readBufferSize": _BUFFER,
    "sftpReadSize": _BUFFER,
    "sftpWriteSize": _BUFFER,
}

# Where a library takes less than the above: nothing at all (None), or a narrower range.
_NARROWER: Mapping[Library, Mapping[str, Reader[int] | None]] = {
    Library.SSH2_PYTHON: {
        "rekeyLimit": None,
        "packetSize": size("1Ki", "32Ki"),
        "readBufferSize": size("1Ki", "16Mi"),
        "sftpReadSize": size("1Ki", "16Mi"),
        "sftpWriteSize": size("1Ki", "16Mi"),
    },
    Library.PARAMIKO: {"packetSize": size("4Ki", "1Mi"), "sftpReadSize": size("1Ki", "255Ki")},
    Library.ASYNCSSH: {"readBufferSize": None},
    Library.OPENSSH: {"windowSize": None, "packetSize": None, "readBufferSize": None},
}


def read_client(value: Any, path: str) -> tuple[Client, Auth]:
    """Read the client, and how it logs in."""
    fields = Fields(value, path)
    auth = Auth(fields.defaulted("auth", choice(*Auth), Auth.PUBLICKEY.value))
    library = Library(fields.defaulted("library", choice(*Library), Library.SSH2_PYTHON.value))
    sizes = {name: _read_size(fields, name, library) for name in _SIZES}
    client = Client(
        library=library,
        control_master=fields.defaulted("controlMaster", flag, default=False),
        kex_algorithms=read_algorithms(fields, "kexAlgorithms"),
        ciphers=read_algorithms(fields, "ciphers"),
        macs=read_algorithms(fields, "macs"),
        host_key_algorithms=read_algorithms(fields, "hostKeyAlgorithms"),
        compression=fields.defaulted("compression", flag, default=False),
        rekey_bytes=sizes["rekeyLimit"],
        window_bytes=sizes["windowSize"],
        packet_bytes=sizes["packetSize"],
        read_buffer_bytes=sizes["readBufferSize"],
        sftp_read_bytes=sizes["sftpReadSize"],
        sftp_write_bytes=sizes["sftpWriteSize"],
        quick_ack=fields.defaulted("quickAck", flag, default=True),
        timeouts=fields.defaulted("timeouts", _read_timeouts, {}),
    )
    fields.end()
    _check_library(client, auth, fields)
    return client, auth


def _read_size(fields: Fields, name: str, library: Library) -> int | None:
    """Read a size that the library takes."""
    found = fields.optional(name, _SIZES[name])
    if found is None or name not in _NARROWER[library]:
        return found
    read = _NARROWER[library][name]
    if read is None:
        raise SpecError(fields.at(name), f"the library {library} has no such setting")
    try:
        return fields.optional(name, read)
    except SpecError as error:
        raise SpecError(error.path, f"{error.problem}, with the library {library}") from error


def _check_library(client: Client, auth: Auth, fields: Fields) -> None:
    """Refuse what the client's library cannot do."""
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
