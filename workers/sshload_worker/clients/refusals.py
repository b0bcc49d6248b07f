"""Refusals of settings that a library does not support. They name a setting as the spec does."""

from typing import NoReturn

from sshload_contract.client import Client, Library

from sshload_worker.outcomes import UnsupportedSettingError

_SPEC_FIELDS = {
    "control_master": "controlMaster",
    "kex_algorithms": "kexAlgorithms",
    "ciphers": "ciphers",
    "macs": "macs",
    "host_key_algorithms": "hostKeyAlgorithms",
    "compression": "compression",
    "rekey_bytes": "rekeyLimit",
    "window_bytes": "windowSize",
    "packet_bytes": "packetSize",
    "read_buffer_bytes": "readBufferSize",
    "sftp_read_bytes": "sftpReadSize",
    "sftp_write_bytes": "sftpWriteSize",
    "quick_ack": "quickAck",
    "prompts": "prompts",
}


def refuse_setting(setting: str, library: Library, why: str) -> NoReturn:
    """Raise UnsupportedSettingError for a field of Client; `why` continues a sentence that begins with the library."""
    raise UnsupportedSettingError(f"spec.client.{_SPEC_FIELDS[setting]}: {library} {why}")


def check_names(client: Client, setting: str, known: tuple[str, ...]) -> None:
    """Raise UnsupportedSettingError if a list of algorithms names one that the library does not know."""
    for name in getattr(client, setting):
        if name not in known:
            refuse_setting(setting, client.library, f"does not know {name}, only {', '.join(known)}")


def check_range(client: Client, setting: str, least: int, most: int) -> None:
    """Raise UnsupportedSettingError if a size is out of the library's range."""
    size = getattr(client, setting)
    if size is not None and not least <= size <= most:
        refuse_setting(setting, client.library, f"accepts {least} to {most} bytes")
