"""What operators of a gateway ask it, at a port of its own: health, readiness, metrics."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sshload_gateway.identity.key_set import JwksKeys, KeySetUnavailableError
from sshload_gateway.store.database import Database, DatabaseUnavailableError

_TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Readiness:
    """Whether requests can be served: the database is prepared and answers, and there are keys of the issuer.

    It is prepared when it is migrated, and has the credentials that the configuration gives.
    """

    database: Database
    keys: JwksKeys
    is_prepared: bool = False

    async def problem(self) -> str:
        """Return what is missing, empty if nothing is."""
        try:
            await self.database.check()
            await self.keys.check()
        except (DatabaseUnavailableError, KeySetUnavailableError) as error:
            return str(error)
        return "" if self.is_prepared else "the database is not prepared"


def make_management(registry: CollectorRegistry, readiness: Readiness) -> Starlette:
    """Return the app with /healthz, /readyz and /metrics."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        problem = await readiness.problem()
        return PlainTextResponse(f"{problem or 'ok'}\n", 503 if problem else 200)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(registry), media_type=_TEXT_FORMAT)

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)])
