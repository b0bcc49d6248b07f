"""The app: routes, and what the OpenAPI document says of all of them."""

from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sshload_gateway.api import commands, credentials, load
from sshload_gateway.api.problems import Problem, add_answers
from sshload_gateway.api.shapes import PREFIX, Welcome
from sshload_gateway.api.state import Gateway

_DESCRIPTION: Final = "Runs commands on SSH servers for callers that have a JWT, on connections that it keeps open."


def make_app(gateway: Gateway | None) -> FastAPI:
    """Return the app that serves with a gateway's parts; without them it has its document only."""
    app = FastAPI(
        title="sshload gateway",
        version=version("sshload"),
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.gateway = gateway
    add_answers(app)

    @app.get(f"{PREFIX}/", tags=["welcome"], summary="Say what this is", operation_id="welcome")
    async def welcome() -> Welcome:
        """Say what the gateway is. Needs no token."""
        return Welcome(version=version("sshload"))

    app.include_router(credentials.ROUTES)
    app.include_router(load.ROUTES)
    app.include_router(commands.ROUTES)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]  # as FastAPI documents it
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = document["components"]["schemas"]
        schemas["Problem"] = Problem.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema
