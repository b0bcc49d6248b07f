"""The settings of a Client that MINA SSHD supports."""

from collections.abc import Mapping

from sshload_contract.client import Client, Library

from sshload_worker.clients.mina.virtual_machine import virtual_machine
from sshload_worker.clients.refusals import check_names, refuse_setting
from sshload_worker.outcomes import UnsupportedSettingError

_SETTINGS = ("kex_algorithms", "ciphers", "macs", "host_key_algorithms")


def known_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Return the names of all algorithms that MINA SSHD has, by the setting of a Client."""
    return dict(zip(_SETTINGS, virtual_machine().known(), strict=True))


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if MINA SSHD does not support a setting of `client`."""
    for setting, known in known_algorithms().items():
        check_names(client, setting, known)
    if client.read_buffer_bytes is not None:
        refuse_setting("read_buffer_bytes", Library.MINA_SSHD, "has no setting for the size of reads")
    if client.prompts:
        refuse_setting("prompts", Library.MINA_SSHD, "cannot answer prompts")
    if client.network_delay_s:
        raise UnsupportedSettingError("spec.client.networkDelay: mina-sshd opens its own connections")
