"""From a RunConfig to a Login: resolves names, reads files and checks the client, once, before the start.

If a name has several addresses, connections use them in turn. Each worker begins with a different one, so that a load
test of a round-robin name loads every server behind it equally. All have one family, because those of the other one are
other ways to the same servers: the first family at which the server accepts a connection, as ssh would find it. A
refusal by one of the addresses is counted like any refusal. A jump host is resolved by the one before it, and so is the
target behind it.

If the run has an allow-list, all hosts and the addresses are checked against it here, and every connection is to one of
these addresses. No name is resolved a second time, so none can lead elsewhere later.
"""

import socket
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from itertools import cycle
from typing import TYPE_CHECKING

import gevent
from sshload_contract.allow_list import address_refusal, host_refusal, lookup_name
from sshload_contract.client import Client, Library
from sshload_contract.kerberos import Kdc, Kerberos
from sshload_contract.wire.run_config import Endpoint, RunConfig, TargetEndpoint

from sshload_worker.clients.delay import prepare_delay
from sshload_worker.clients.libraries import check_client, prepare_library
from sshload_worker.login.known_hosts import ANY_HOST_KEY, HostKeys, KnownHostsError, read_known_hosts
from sshload_worker.login.login import NOBODYS, Address, Login, read_credentials, read_file, read_user_ca
from sshload_worker.login.population import prepare_population
from sshload_worker.login.private_key import PrivateKey, new_keys
from sshload_worker.login.tickets import use_realms
from sshload_worker.outcomes import GeneratorFaultError, TargetNotAllowedError, UnsupportedSettingError
from sshload_worker.scenario.first_login import dial_until_accepted

if TYPE_CHECKING:
    from sshload_worker.login.issuer import Issuer

_RESOLVE_PAUSE_S = 0.2
_ACCEPT_S = 1.0
_SIGNED_AHEAD = 5_000
"""Of more users than these, each has a certificate signed right before their first login: all would take seconds."""


def first_hop(config: RunConfig) -> TargetEndpoint:
    """Return the server that the workers connect to: the first jump host, or the target if there is none."""
    return config.via[0] if config.via else config.target


def prepare_login(config: RunConfig, addresses: tuple[Address, ...]) -> Login:
    """Return the Login of the configured target, whose first hop is at `addresses`.

    Raises GeneratorFaultError if it cannot be prepared, or the target is no SSH server.
    """
    if not isinstance(config.target, Endpoint):
        raise GeneratorFaultError("the target is no SSH server: workers do not log in to it")
    login = prepare_login_at(config.target, config.via, config.client, addresses, config.workers)
    if login.population is not None and config.scenario.names_users:
        login.population.check_names()
    return login


def wait_for_kdcs(config: RunConfig, on_problem: Callable[[str], None]) -> None:
    """Return once the KDCs of a managed target accept connections: they begin with it, maybe after the workers.

    Report each problem until then. There is no limit, because the master limits how long the target may take.
    """
    if not config.is_managed or config.client.kerberos is None:
        return
    for kdc in (kdc for realm in config.client.kerberos.realms for kdc in realm.kdcs):
        dial_until_accepted(kdc.host, kdc.port, lambda problem: on_problem(f"the KDC at {problem}"))


def prepare_login_at(
    target: Endpoint, via: tuple[Endpoint, ...], client: Client, addresses: tuple[Address, ...], workers: int = 1
) -> Login:
    """Return the Login of a target behind the jump hosts `via`, for each of so many `workers`.

    Raises GeneratorFaultError if it cannot be prepared. Prompts are answered for the target only.
    """
    try:
        prepare_library(client.library)
        check_client(client)
        prepare_delay(client)
    except UnsupportedSettingError as error:
        raise GeneratorFaultError(str(error)) from error
    jumps = tuple(
        _login(jump, replace(client, prompts=()), addresses if number == 1 else (), f"jump host {number}")
        for number, jump in enumerate(via, start=1)
    )
    extra_keys = new_keys(client.extra_keys or 0)
    login = _login(target, client, () if jumps else addresses, "the target", extra_keys, workers=workers)
    return replace(login, via=jumps, issuer=_issuer(target, client, login))


def _issuer(target: Endpoint, client: Client, login: Login) -> "Issuer | None":
    """Return what signs the certificates of those who log in to the target, where the workers do that."""
    if client.certificates is None or not target.user_ca_path:
        return None
    from sshload_worker.login.issuer import Issuer  # noqa: PLC0415 - few runs need it

    issuer = Issuer(read_user_ca(target, "the target"), client.certificates)
    if login.population is None:
        issuer.sign_ahead([(login.user, login.credentials.public_key)])
    elif len(login.population) <= _SIGNED_AHEAD:
        issuer.sign_ahead(login.population.keys())
    return issuer


def resolve_first_hop(config: RunConfig, on_problem: Callable[[str], None], first: int = 0) -> tuple[Address, ...]:
    """Return the addresses of the server that the workers connect to, as `resolve` does, if all of them are allowed.

    Raises TargetNotAllowedError if one of them, or another host on the way to the target, is not allowed.
    """
    server, allow_list = first_hop(config), config.allow_list
    if config.client.kerberos is not None:
        _use_realms(config, config.client.kerberos, on_problem)
    if allow_list is None:
        return resolve(server, on_problem, first)
    listed = config.via if config.is_managed else (*config.via, config.target)
    for host in listed:
        _refuse(host, "", host_refusal(allow_list, host.host, host.port))

    def refusal(address: Address) -> str:
        why = address_refusal(allow_list, ip_address(str(address[1][0])), server.port) if server in listed else ""
        return why and f"resolves to {address[1][0]}, which {why}"

    addresses = resolve(server, on_problem, first, name=lookup_name(server.host), refusal=refusal)
    for address in addresses:
        _refuse(server, "", refusal(address))
    return addresses


def _use_realms(config: RunConfig, kerberos: Kerberos, on_problem: Callable[[str], None]) -> None:
    """Find the KDCs, and let Kerberos know no others; raises TargetNotAllowedError if one of them is not allowed.

    That of a managed target is the target's own.
    """
    allow_list = None if config.is_managed else config.allow_list
    found = {}
    for kdc in (kdc for realm in kerberos.realms for kdc in realm.kdcs):
        if allow_list is not None:
            _refuse(kdc, "", host_refusal(allow_list, kdc.host, kdc.port))
        name = kdc.host if allow_list is None else lookup_name(kdc.host)
        addresses = _looked_up(name, kdc.host, kdc.port, on_problem)
        for address in addresses:
            why = "" if allow_list is None else address_refusal(allow_list, ip_address(str(address[1][0])), kdc.port)
            _refuse(kdc, f"resolves to {address[1][0]}, which ", why)
        found[kdc.host, kdc.port] = [str(address[1][0]) for address in addresses]
    use_realms(kerberos, found)


def resolve(
    server: TargetEndpoint,
    on_problem: Callable[[str], None],
    first: int = 0,
    name: str = "",
    refusal: Callable[[Address], str] = lambda _: "",
) -> tuple[Address, ...]:
    """Return a server's addresses, as soon as its name has one. Report each problem until then.

    They have one family, and are in the resolver's order, rotated so that they begin with the one at index `first`. If
    the server accepts a connection at none of several families, they are those of all, so that a failure tells what
    each of them said. If `name` is given, it is looked up in place of the host. Nothing connects to an address that has
    a `refusal`, and if the resolver's first family has one, that family is returned.
    """
    return _of_one_family(_looked_up(name or server.host, server.host, server.port, on_problem), first, refusal)


def _looked_up(name: str, host: str, port: int, on_problem: Callable[[str], None]) -> list[Address]:
    """Return the addresses of a name, as soon as it has one. Report each problem until then, as one of `host`."""
    while True:
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except (OSError, UnicodeError) as error:  # UnicodeError if it cannot be a name
            on_problem(f"{host}: {getattr(error, 'strerror', None) or error}")
            gevent.sleep(_RESOLVE_PAUSE_S)
        else:
            return list(dict.fromkeys((entry[0], entry[4]) for entry in found))


def _of_one_family(found: list[Address], first: int, refusal: Callable[[Address], str]) -> tuple[Address, ...]:
    families: dict[socket.AddressFamily, list[Address]] = {}
    for address in found:
        families.setdefault(address[0], []).append(address)
    usable = [_rotated(family, first) for family in families.values()]
    usable = usable[:1] + [family for family in usable[1:] if not any(map(refusal, family))]
    if len(usable) == 1 or any(map(refusal, usable[0])):
        return usable[0]
    accepting = (family for family in usable if any(map(_accepts, family)))
    return next(accepting, tuple(address for family in usable for address in family))


def _rotated(addresses: list[Address], first: int) -> tuple[Address, ...]:
    first %= len(addresses)
    return (*addresses[first:], *addresses[:first])


def _accepts(address: Address) -> bool:
    """Return whether something listens at an address, by one connection that is closed at once."""
    family, place = address
    try:
        with socket.socket(family) as connection:
            connection.settimeout(_ACCEPT_S)
            connection.connect(place)
    except OSError:
        return False
    return True


def _refuse(server: TargetEndpoint | Kdc, how: str, why: str) -> None:
    if why:
        raise TargetNotAllowedError(f"{server.host} port {server.port} {how}{why}")


def _login(  # noqa: PLR0913 - who logs in, where, and how
    server: Endpoint,
    client: Client,
    addresses: tuple[Address, ...],
    role: str,
    extra_keys: tuple[PrivateKey, ...] = (),
    *,
    workers: int = 1,
) -> Login:
    shared, direct = workers > 1, bool(addresses)
    population = (
        None
        if server.users is None
        else prepare_population(server, server.users, client, role, extra_keys, is_direct=direct, is_shared=shared)
    )
    credentials = (
        NOBODYS if population is not None else read_credentials(server, role, client, extra_keys, is_shared=shared)
    )
    if credentials.tickets is not None:
        credentials.tickets.get(client.timeouts.auth_s)
    login = Login(
        address=addresses[0] if addresses else None,
        host=server.host,
        port=server.port,
        user=server.user,
        credentials=credentials,
        host_keys=_host_keys(server, client.library, role),
        client=client,
        via=(),
        turns=None,
        population=population,
        extra_keys=extra_keys,
        revoked_share=server.revoked_share,
    )
    alike = [address for address in addresses if address[0] == addresses[0][0]]
    if len(alike) < 2:  # noqa: PLR2004 - one address needs no turns
        return login
    return replace(login, turns=cycle([replace(login, address=address) for address in alike]))


def _host_keys(server: Endpoint, library: Library, role: str) -> HostKeys:
    if not server.known_hosts_path:
        return ANY_HOST_KEY
    text = read_file(server.known_hosts_path, f"{role}'s known hosts").decode("utf-8", "replace")
    try:
        keys = read_known_hosts(text, server.host, server.port)
    except KnownHostsError as error:
        raise GeneratorFaultError(f"{role}: {error}") from error
    if not keys.accepted and not keys.authorities:
        raise GeneratorFaultError(
            f"{role}: known_hosts has no line for {server.host} at port {server.port}. Add the one that `ssh-keyscan -p"
            f" {server.port} {server.host}` prints, once you have compared it with the server's"
        )
    if not keys.accepted and not library.traits.checks_host_certificates:
        raise GeneratorFaultError(
            f"{role}: known_hosts has only a @cert-authority line for {server.host}, and {library} cannot check host"
            " certificates: add the host key's own line, or take another client.library"
        )
    if keys.accepted and not keys.algorithms:
        raise GeneratorFaultError(f"{role}: known_hosts has only keys of unsupported types for {server.host}")
    return keys
