"""A size that a client library does not take is refused when a test is applied, and no other."""

from dataclasses import replace
from typing import Any

import pytest
from specs.small import SMALL
from specs.spec import changed
from sshload_contract.client import Library
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_worker.clients.libraries import check_client
from sshload_worker.outcomes import UnsupportedSettingError

FIELDS = {
    "rekeyLimit": "rekey_bytes",
    "windowSize": "window_bytes",
    "packetSize": "packet_bytes",
    "readBufferSize": "read_buffer_bytes",
    "sftpReadSize": "sftp_read_bytes",
    "sftpWriteSize": "sftp_write_bytes",
}
KIB, MIB, GIB = 2**10, 2**20, 2**30
EDGES = (KIB, 4 * KIB - 1, 4 * KIB, 32 * KIB, 32 * KIB + 1, 64 * KIB, 255 * KIB, 255 * KIB + 1, MIB, 16 * MIB,
         16 * MIB + 1, 64 * MIB, GIB, 1024 * GIB)  # fmt: skip


def asked_for(library: Library, field: str, size: int) -> dict[str, Any]:
    return changed(SMALL, "client", {"library": library.value, field: size})


def is_taken_by_some_library(field: str, size: int) -> bool:
    return any(is_accepted(asked_for(library, field, size)) for library in Library)


def is_accepted(spec: dict[str, Any]) -> bool:
    try:
        parse(spec)
    except SpecError:
        return False
    return True


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("library", [Library.SSH2_PYTHON, Library.PARAMIKO, Library.ASYNCSSH])
def test_the_api_takes_the_sizes_that_the_library_takes(library: Library, field: str) -> None:
    plain = parse(changed(SMALL, "client.library", library.value)).client
    for size in (edge for edge in EDGES if is_taken_by_some_library(field, edge)):
        try:
            check_client(replace(plain, **{FIELDS[field]: size}))
        except UnsupportedSettingError:
            takes = False
        else:
            takes = True
        assert is_accepted(asked_for(library, field, size)) == takes, size
