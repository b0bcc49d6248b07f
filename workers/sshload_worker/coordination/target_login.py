"""From a RunConfig to a Login: files read, host resolved, algorithms checked, once and before the start."""

import socket
from collections.abc import Callable
from pathlib import Path

import gevent
from ssh2.exceptions import SSH2Error
from sshload_contract.run_config import Endpoint, Library, RunConfig

from sshload_worker.clients.ssh2.session import new_session
from sshload_worker.login.known_hosts import ANY_HOST_KEY, HostKeys, KnownHostsError, read_known_hosts
from sshload_worker.login.login import Address, Credentials, Login

_RESOLVE_PAUSE_S = 0.2


class GeneratorFaultError(Exception):
    """The worker cannot generate this load; the message says what to change."""


def prepare_login(config: RunConfig, address: Address) -> Login:
    """Return the Login of the configured target at `address`; raises GeneratorFaultError where it cannot be made."""
    target = config.target
    credentials = Credentials(
        auth=target.auth,
        private_key=_read(target.private_key_path) if target.private_key_path else b"",
        certificate=_read(target.certificate_path) if target.certificate_path else b"",
        password=_read(target.password_path).decode().rstrip("\r\n") if target.password_path else "",
        agent_socket="",
    )
    login = Login(
        address=address,
        host=target.host,
        port=target.port,
        user=target.user,
        credentials=credentials,
        host_keys=_host_keys(target),
        client=config.client,
        via=(),
    )
    if not credentials.private_key and not credentials.password:
        raise GeneratorFaultError("the target's credentials hold neither a private key nor a password")
    try:
        new_session(login.client, login.host_keys)
    except SSH2Error as error:
        raise GeneratorFaultError(
            f"an algorithm list holds nothing that {Library.SSH2_PYTHON} knows ({type(error).__name__})"
        ) from error
    return login


def resolve(target: Endpoint, on_problem: Callable[[str], None]) -> Address:
    """Return the target's first address, as soon as its name has one; tell each problem meanwhile."""
    while True:
        try:
            found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except OSError as error:
            on_problem(f"{target.host}: {error.strerror}")
            gevent.sleep(_RESOLVE_PAUSE_S)
        else:
            family, _, _, _, address = found[0]
            return family, address


def _host_keys(target: Endpoint) -> HostKeys:
    if not target.known_hosts_path:
        return ANY_HOST_KEY
    text = _read(target.known_hosts_path).decode("utf-8", "replace")
    try:
        return read_known_hosts(text, target.host, target.port)
    except KnownHostsError as error:
        raise GeneratorFaultError(str(error)) from error


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise GeneratorFaultError(f"{Path(path).name} cannot be read: {error.strerror}") from error
