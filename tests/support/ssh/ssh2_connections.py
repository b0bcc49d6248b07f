"""Connections of the ssh2-python client to a test's server, without a scenario around them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gevent
from run_configs import client
from ssh_server import SshServer
from sshload_contract.client import Auth, Client
from sshload_worker.clients.ssh2.connection import SSH2Connection
from sshload_worker.login.known_hosts import ANY_HOST_KEY
from sshload_worker.login.login import Credentials, Login

LIMIT_S = 300.0


def credentials(auth: Auth, **changes: Any) -> Credentials:
    """Return credentials that hold nothing but what is given."""
    nothing = Credentials(auth=auth, private_key=b"", public_key=b"", certificate=None, password="", agent_socket="")
    return replace(nothing, **changes)


def key_credentials(private_key: Path) -> Credentials:
    """Return the credentials of a key beside which its public half lies, as ssh-keygen leaves it."""
    public_key = private_key.with_name(f"{private_key.name}.pub").read_bytes()
    return credentials(Auth.PUBLICKEY, private_key=private_key.read_bytes(), public_key=public_key)


def login_at(port: int, user: str, known: Credentials, settings: Client | None = None) -> Login:
    """Return a Login at a port of loopback that takes any host key."""
    return Login(
        address=(socket.AF_INET, ("127.0.0.1", port)),
        host="127.0.0.1",
        port=port,
        user=user,
        credentials=known,
        host_keys=ANY_HOST_KEY,
        client=settings or client(),
        via=(),
        turns=None,
    )


def login_to(server: SshServer, settings: Client | None = None) -> Login:
    """Return a Login with the key that may log in."""
    return login_at(server.port, server.user, key_credentials(server.keys.user), settings)


@contextmanager
def logged_in(login: Login) -> Iterator[SSH2Connection]:
    """Log in, and close at the end of the block, which must come within five minutes."""
    connection = SSH2Connection(login)
    try:
        with gevent.Timeout(LIMIT_S, AssertionError("took longer than five minutes")):
            for part in (connection.connect, connection.banner, connection.kex, connection.auth):
                part()
            yield connection
    finally:
        connection.close()
