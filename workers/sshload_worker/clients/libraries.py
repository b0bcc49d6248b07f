"""The client libraries by name. Only a run that uses a library imports it.

The package of each library has the functions of `LibraryPackage`.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from sshload_contract.client import Client, Library

from sshload_worker.clients.interface import Connection
from sshload_worker.login.login import Login


class LibraryPackage(Protocol):
    """The functions of each library's package."""

    def prepare(self) -> None:
        """Do what must be done once in a process, and not while something is measured."""

    def check_client(self, client: Client) -> None:
        """Raise UnsupportedSettingError if the library does not support a setting of `client`."""

    def known_algorithms(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of all algorithms that the library has, by the setting of a Client."""

    def new_connection(self, login: Login, through: Connection | None, *, shared: bool) -> Connection:
        """Return a connection that is not connected yet; raises OSError if the process has no file descriptor left."""


def prepare_library(library: Library) -> None:
    """Import a library, and prepare it for connections."""
    _package(library).prepare()


def check_client(client: Client) -> None:
    """Raise UnsupportedSettingError if the client's library does not support a setting of `client`."""
    _package(client.library).check_client(client)


def known_algorithms(library: Library) -> Mapping[str, tuple[str, ...]]:
    """Return the names of all algorithms that a library has, by the setting of a Client."""
    return _package(library).known_algorithms()


def new_connection(login: Login, through: Connection | None = None, *, shared: bool = False) -> Connection:
    """Return a connection that is not connected yet, direct or through the connection to a jump host.

    Several greenlets may use a `shared` connection at once, each with its own channels. Raises OSError if the process
    has no file descriptor left.
    """
    return _package(login.client.library).new_connection(login, through, shared=shared)


@cache
def _package(library: Library) -> LibraryPackage:
    # Imported here because each import takes up to half a second and megabytes, and a run needs one of them.
    package: Any = import_module(f"sshload_worker.clients.{library.traits.package}")
    found: LibraryPackage = package
    return found
