"""The server under test: one that is made, or one that exists."""

import re
from ipaddress import IPv6Address, ip_address
from typing import Any

from sshload_contract.run_config import Auth
from sshload_contract.target_config import DirectoryFixture, FileFixture

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import (
    read_image,
    read_image_pull_secrets,
    read_placement,
    read_reference,
    refuse_repeated,
)
from sshload_operator.api.parse.readers import flag, items, shown, text, whole
from sshload_operator.api.parse.sshd import read_sshd
from sshload_operator.api.quantities import size_bytes
from sshload_operator.api.spec import ExternalTarget, ManagedTarget, Target

_HOST = text(shortest=1, longest=253, pattern=r"[A-Za-z0-9:]([A-Za-z0-9.:-]*[A-Za-z0-9:])?", wanted="a host")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST_NAME = re.compile(rf"{_LABEL}([.]{_LABEL})*")
_USER = text(shortest=1, longest=100, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]*", wanted="a user's name")
_FIXTURE_PATH = text(
    longest=100,
    pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*",
    wanted="a path from the home, whose names begin with a letter, digit or underscore",
)
_FILE_BYTES_MOST = 100 * 2**30


def read_target(value: Any, path: str, auth: Auth) -> Target:
    """Read the target; `auth` is how the client is to log in."""
    fields = Fields(value, path)
    if fields.one_of("managed", "external") == "managed":
        target: Target = fields.required("managed", _read_managed)
    else:
        target = fields.required("external", lambda external, at: _read_external(external, at, auth))
    fields.end()
    return target


def _read_managed(value: Any, path: str) -> ManagedTarget:
    fields = Fields(value, path)
    files, directories = fields.defaulted("fixtures", _read_fixtures, {})
    target = ManagedTarget(
        image=read_image(fields),
        image_pull_secrets=read_image_pull_secrets(fields),
        placement=read_placement(fields),
        sshd=fields.defaulted("sshd", read_sshd, {}),
        files=files,
        directories=directories,
        repositories=(),
        spare_bytes=256 * 2**20,
    )
    fields.end()
    return target


def _read_fixtures(value: Any, path: str) -> tuple[tuple[FileFixture, ...], tuple[DirectoryFixture, ...]]:
    fields = Fields(value, path)
    files = fields.optional("files", items(_read_file, most=20)) or ()
    directories = fields.optional("directories", items(_read_directory, most=20)) or ()
    fields.end()
    refuse_repeated(tuple(file.path for file in files), fields.at("files"))
    refuse_repeated(tuple(directory.path for directory in directories), fields.at("directories"))
    for file in files:
        _refuse_inside(file, tuple(other.path for other in files if other is not file), fields.at("files"))
        _refuse_inside(file, tuple(directory.path for directory in directories), fields.at("directories"))
    return files, directories


def _refuse_inside(file: FileFixture, others: tuple[str, ...], path: str) -> None:
    for other in others:
        if other == file.path or other.startswith(f"{file.path}/"):
            raise SpecError(path, f"{shown(other)} cannot be where the file {shown(file.path)} is")


def _read_file(value: Any, path: str) -> FileFixture:
    fields = Fields(value, path)
    file = FileFixture(path=fields.required("path", _FIXTURE_PATH), size_bytes=fields.required("size", _read_size))
    fields.end()
    return file


def _read_size(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise SpecError(path, f"is {shown(value)}, but must be a size such as 26Ki")
    try:
        size = size_bytes(str(value))
    except ValueError as error:
        raise SpecError(path, f"{value} {error}") from error
    if size > _FILE_BYTES_MOST:
        raise SpecError(path, f"is {value}, but must be at most 100Gi")
    return size


def _read_directory(value: Any, path: str) -> DirectoryFixture:
    fields = Fields(value, path)
    directory = DirectoryFixture(
        path=fields.required("path", _FIXTURE_PATH), files=fields.required("files", whole(0, 100_000))
    )
    fields.end()
    return directory


def _read_external(value: Any, path: str, auth: Auth) -> ExternalTarget:
    fields = Fields(value, path)
    target = ExternalTarget(
        host=fields.required("host", _read_host),
        port=fields.defaulted("port", whole(1, 65_535), 22),
        user=fields.required("user", _USER),
        credentials_secret=fields.required("credentialsSecretRef", read_reference),
        encrypted_key=fields.defaulted("encryptedKey", flag, default=False),
        known_hosts_secret=fields.optional("knownHostsSecretRef", read_reference) or "",
        insecure_ignore_host_key=fields.defaulted("insecureIgnoreHostKey", flag, default=False),
        auth=auth,
    )
    fields.end()
    if bool(target.known_hosts_secret) == target.insecure_ignore_host_key:
        raise SpecError(
            fields.at("knownHostsSecretRef"), "set knownHostsSecretRef, or insecureIgnoreHostKey in its place"
        )
    return target


def _read_host(value: Any, path: str) -> str:
    host = _HOST(value, path)
    if _HOST_NAME.fullmatch(host) is None and not _is_address(host):
        raise SpecError(path, f"is {shown(host)}, but must be a DNS name or an IP address")
    return host


def _is_address(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return not (isinstance(address, IPv6Address) and address.ipv4_mapped is not None)
