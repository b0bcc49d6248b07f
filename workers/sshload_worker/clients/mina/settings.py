"""The settings of a Client that MINA SSHD supports."""

from sshload_contract.client import Client, Library

from sshload_worker.clients.mina.virtual_machine import virtual_machine
from sshload_worker.clients.refusals import check_names, refuse_setting
from sshload_worker.outcomes import UnsupportedSettingError


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if MINA SSHD does not support a setting of `client`."""
    for setting, known in zip(
        ("kex_algorithms", "ciphers", "macs", "host_key_algorithms"), virtual_machine().known(), strict=True
    ):
        check_names(client, setting, known)
    if client.read_buffer_bytes is not None:
        refuse_setting("read_buffer_bytes", Library.MINA_SSHD, "has no setting for the size of reads")
    if client.network_delay_s:
        raise UnsupportedSettingError("spec.client.networkDelay: mina-sshd opens its own connections")
