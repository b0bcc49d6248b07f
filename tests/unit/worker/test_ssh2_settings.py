from dataclasses import replace
from typing import Any

import pytest
from run_configs import client
from sshload_worker.clients.ssh2.settings import check_client
from sshload_worker.outcomes import UnsupportedSettingError


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kex_algorithms": ("sntrup761x25519-sha512",)}, "kexAlgorithms"),
        ({"ciphers": ("aes128-ctr", "rot13")}, "ciphers"),
        ({"macs": ("none",)}, "macs"),
        ({"host_key_algorithms": ("ssh-unknown",)}, "hostKeyAlgorithms"),
        ({"rekey_bytes": 1_000_000}, "rekeyLimit"),
        ({"control_master": True}, "controlMaster"),
        ({"window_bytes": 0}, "windowSize"),
        ({"window_bytes": 2**32}, "windowSize"),
        ({"packet_bytes": 32_769}, "packetSize"),
        ({"read_buffer_bytes": 0}, "readBufferSize"),
        ({"sftp_read_bytes": 2**30}, "sftpReadSize"),
        ({"sftp_write_bytes": 0}, "sftpWriteSize"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_libssh2_cannot_do_is_refused_by_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(UnsupportedSettingError, match=rf"^spec\.client\.{field}: ssh2-python "):
        check_client(replace(client(), **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"compression": True},
        {"kex_algorithms": ("curve25519-sha256",), "ciphers": ("aes128-gcm@openssh.com",), "macs": ("hmac-sha2-256",)},
        {"window_bytes": 65_536, "packet_bytes": 16_384},
        {"window_bytes": 38_000_000, "sftp_read_bytes": 1_048_576, "read_buffer_bytes": 8_388_608},
    ],
)
def test_what_libssh2_can_do_is_let_through(changes: dict[str, Any]) -> None:
    check_client(replace(client(), **changes))
