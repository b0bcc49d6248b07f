"""How the workers speak SSH."""

from typing import Any

from sshload_contract.run_config import Auth, Client, Library, Timeouts

from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import choice, duration, flag
from sshload_operator.api.parse.sshd import read_algorithms

_TIMEOUT = duration("1ms", "1h")


def read_client(value: Any, path: str) -> tuple[Client, Auth]:
    """Read the client, and how it logs in."""
    fields = Fields(value, path)
    auth = Auth(fields.defaulted("auth", choice(*Auth), Auth.PUBLICKEY.value))
    client = Client(
        library=Library(fields.defaulted("library", choice("ssh2-python"), "ssh2-python")),
        control_master=False,
        kex_algorithms=read_algorithms(fields, "kexAlgorithms"),
        ciphers=read_algorithms(fields, "ciphers"),
        macs=read_algorithms(fields, "macs"),
        host_key_algorithms=read_algorithms(fields, "hostKeyAlgorithms"),
        compression=False,
        rekey_bytes=None,
        window_bytes=None,
        packet_bytes=None,
        read_buffer_bytes=None,
        sftp_read_bytes=None,
        sftp_write_bytes=None,
        quick_ack=fields.defaulted("quickAck", flag, default=True),
        timeouts=fields.defaulted("timeouts", _read_timeouts, {}),
    )
    fields.end()
    return client, auth


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
