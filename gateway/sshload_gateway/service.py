"""A running gateway: its parts, its two servers, and its end."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from prometheus_client import CollectorRegistry, ProcessCollector
from sshload_contract.error_text import reason_of
from sshload_contract.front.admission import listen
from sshload_contract.front.heads import HEAD_BYTES
from starlette.types import ASGIApp

from sshload_gateway.api.app import make_app
from sshload_gateway.api.commands import Commands
from sshload_gateway.api.given_credentials import read_given, store_given
from sshload_gateway.api.guard import Guard, RequestMetrics
from sshload_gateway.api.management import Readiness, make_management
from sshload_gateway.api.protocol import API, MANAGEMENT, HttpProtocol, limited
from sshload_gateway.api.state import Gateway, Loads
from sshload_gateway.cluster.load_tests import ApiServer, LoadTests
from sshload_gateway.config import Config, ConfigError, Listen, LoadConfig
from sshload_gateway.identity.key_set import JwksKeys, from_file, from_url
from sshload_gateway.identity.rate_limit import RateLimit
from sshload_gateway.identity.tokens import Terms, TokenCheck
from sshload_gateway.identity.under_way import UnderWay
from sshload_gateway.metrics import PoolGauges, PoolMetrics, commands_counter
from sshload_gateway.sessions import Sessions
from sshload_gateway.ssh.destinations import destinations
from sshload_gateway.ssh.login import SshLogin
from sshload_gateway.ssh.pool import Pool
from sshload_gateway.store.credentials import Credentials, NewCredential, TooManyCredentialsError
from sshload_gateway.store.database import Database, DatabaseUnavailableError
from sshload_gateway.store.migrate import MigrationError, migrate
from sshload_gateway.store.sealing import SealError, read_seal

_LOG: Final = logging.getLogger(__name__)
_DATABASE_PAUSE_S: Final = 2.0
_LAST_SESSIONS_S: Final = 5.0
"""How long commands may take to end whose requests were given up at the end of the gateway."""
_CONNECTION_IDLE_S: Final = 75
"""How long a client's connection stays open without a request: longer than proxies keep theirs, 60 s as a rule.

A proxy that sends a request on a connection that is being closed has to answer 502: the command may run.
"""


async def serve(config: Config) -> None:
    """Serve until SIGTERM or SIGINT, and then until requests have ended, or `shutdownS` is over.

    Raises ConfigError if what the configuration names cannot be used.
    """
    async with _parts(config) as (api, management):
        api_server = _Server(_uvicorn(api, config.shutdown_s, limited(API, keeps_served=True)))
        side_server = _Server(_uvicorn(management, 1, limited(MANAGEMENT, keeps_served=False)))
        api_socket, side_socket = _listen("listen", config.listen), _listen("management", config.management)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, api_server.handle_exit, number, None)
        side = asyncio.create_task(side_server.serve([side_socket]))
        try:
            await api_server.serve([api_socket])
        finally:
            side_server.should_exit = True
            await side


class _Server(uvicorn.Server):
    """A server that leaves signals alone: uvicorn's own would raise them again before all connections are closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def _parts(config: Config) -> AsyncIterator[tuple[ASGIApp, ASGIApp]]:
    """Make the parts of a gateway and give its two apps; close all at the end."""
    try:
        seal = read_seal(config.sealing_keys.folder, config.sealing_keys.active)
    except SealError as error:
        raise ConfigError(f"sealingKeys: {error}") from None
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    tokens = config.tokens
    keys = JwksKeys(from_file(tokens.jwks_file) if tokens.jwks_file else from_url(str(tokens.jwks_url)))
    claim = config.load.claim if config.load else None
    check = TokenCheck(Terms(tokens.issuer, tokens.audience, tokens.algorithms, tokens.leeway_s, claim), keys)
    allowed = destinations(config.destinations.entries(), config.destinations.ranges())
    given = read_given(config.credentials, allowed)
    database = Database(config.database.read(), config.database.answer_s)
    pool = Pool(config.pool.limits(), SshLogin(allowed, config.pool.login_s), PoolMetrics(registry))
    registry.register(PoolGauges(pool))
    credentials = Credentials(database, seal, config.limits.credentials)
    loads = _loads(config.load) if config.load else None
    gateway = Gateway(Sessions(credentials, seal, pool), allowed, config.limits, commands_counter(registry), loads)
    rate = RateLimit(config.limits.requests_per_second, config.limits.requests_at_once)
    under_way = UnderWay(config.limits.under_way)
    api = Guard(Commands(make_app(gateway)), check, rate, under_way, config.limits.body_bytes, RequestMetrics(registry))
    readiness = Readiness(database, keys)
    preparing = asyncio.create_task(_prepare(database, credentials, given, readiness))
    try:
        yield api, make_management(registry, readiness)
    finally:
        preparing.cancel()
        await keys.close()
        await pool.close(_LAST_SESSIONS_S)
        await database.close()


def _loads(config: LoadConfig) -> Loads:
    server = ApiServer(config.api_server, config.token_file, config.ca_file)
    rate = RateLimit(config.per_minute / 60, config.per_minute)
    return Loads(LoadTests(server), config.namespaces, rate, config.body_bytes, config.pages_url)


async def _prepare(
    database: Database, credentials: Credentials, given: Sequence[NewCredential], readiness: Readiness
) -> None:
    """Migrate the database once it answers, store what is given, and seal again what an older key has sealed."""
    while True:
        try:
            await migrate(database)
            await store_given(given, credentials)
            readiness.is_prepared = True
            resealed = await credentials.reseal()
        except DatabaseUnavailableError as error:
            _LOG.warning("%s; trying again", error)
            await asyncio.sleep(_DATABASE_PAUSE_S)
        except MigrationError as error:
            _LOG.error("the database cannot be migrated: %s", error)
            return
        except TooManyCredentialsError as error:
            _LOG.error("the credentials of the configuration cannot be stored: %s", error)
            return
        else:
            _LOG.info("the database is ready; %d private keys were sealed again", resealed.count)
            for fault, count in resealed.faults.items():
                _LOG.error("%d private keys were not sealed again: %s", count, fault)
            return


def _listen(section: str, where: Listen) -> socket.socket:
    """Return a socket that listens; raises ConfigError. Without an address it takes connections of both families."""
    try:
        return listen(where.host or "", where.port)
    except OSError as error:
        raise ConfigError(
            f"{section}: port {where.port} of {where.host or 'all addresses'}: {reason_of(error)}"
        ) from None


def _uvicorn(app: ASGIApp, shutdown_s: float, protocol: type[HttpProtocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        h11_max_incomplete_event_size=HEAD_BYTES,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=_CONNECTION_IDLE_S,
        timeout_graceful_shutdown=max(1, round(shutdown_s)),
    )
