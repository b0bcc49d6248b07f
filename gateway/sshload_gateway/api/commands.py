"""Routes that use a credential: run a command, list a directory."""

import base64
import binascii
import re
from typing import Annotated, Final, Literal

from fastapi import APIRouter, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from sshload_gateway.api.callers import TOKEN, Caller, ClientGoneError, while_connected
from sshload_gateway.api.problems import answer_to, documented
from sshload_gateway.api.shapes import (
    NAME,
    NAME_PATTERN,
    PREFIX,
    RESERVED,
    CommandAnswer,
    CommandRequest,
    FileEntry,
    FilesAnswer,
    Timings,
    at,
)
from sshload_gateway.api.state import Gateway
from sshload_gateway.sessions import Served
from sshload_gateway.ssh.command import Command, Execution, Result
from sshload_gateway.ssh.listing import Entry, Listing
from sshload_gateway.ssh.listing import Request as PageRequest

ROUTES: Final = APIRouter(prefix=PREFIX, dependencies=[TOKEN], tags=["commands"])
_PATH: Final = re.compile(f"{PREFIX}/({NAME})")
_LONGEST_CURSOR: Final = 1_400
"""In base64, of a name with 1,024 bytes: no file system has longer ones."""


class Commands:
    """Runs commands that are asked for as most are, and leaves all other requests to an app.

    What FastAPI and Starlette do for each request takes as long as what the routes do without SSH.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        name = _name_of_command(scope)
        if name is None or Headers(scope=scope).get("content-type") != "application/json":
            await self._app(scope, receive, send)
            return
        request = Request({**scope, "app": self._app}, receive)
        scope["route"] = _ROUTE
        try:
            body = await _body(request)
            asked = _plain(body)
            response = None if asked is None else _json(await run(asked, request, request.state.caller, name))
        except Exception as error:  # noqa: BLE001 - each has an answer
            response = answer_to(error)
        if response is None:
            await self._app(scope, _again(body, receive), send)
        else:
            await response(scope, receive, send)


def _name_of_command(scope: Scope) -> str | None:
    """Return the credential that a request to run a command names, None if it is another request."""
    asked = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
    return None if asked is None or asked[1] in RESERVED else asked[1]


async def _body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        raise ClientGoneError from None


def _plain(body: bytes) -> CommandRequest | None:
    """Return what a body in JSON asks for, None if it is none, or asks for what cannot be."""
    try:
        return CommandRequest.model_validate_json(body)
    except ValidationError:
        return None


def _json(answer: CommandAnswer) -> Response:
    return Response(answer.model_dump_json(by_alias=True), media_type="application/json")


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read before, and then what comes behind it."""
    bodies = [body]

    async def again() -> Message:
        return {"type": "http.request", "body": bodies.pop(), "more_body": False} if bodies else await receive()

    return again


async def run(
    body: CommandRequest, request: Request, caller: Caller, credential: str = Path(pattern=NAME_PATTERN)
) -> CommandAnswer:
    """Run a command with one of the caller's credentials, and wait for its end.

    200 says that the command was started, however it ended: look at `outcome` and `exitCode`. If the client hangs up,
    the gateway ends the command.
    """
    gateway = Gateway.of(request)
    most_s = gateway.limits.command_s
    command = Command(
        body.command,
        body.stdin_bytes(),
        min(body.timeout_seconds or most_s, most_s),
        gateway.limits.output_bytes,
    )
    work = gateway.sessions.do(caller, credential, lambda: Execution(command))
    try:
        result, served = await while_connected(request, work)
    except ClientGoneError:
        gateway.commands.labels("client-gone").inc()
        raise
    gateway.commands.labels(result.outcome).inc()
    return _answer(result, served, body.encoding)


ROUTES.add_api_route(
    "/{credential}",
    run,
    methods=["POST"],
    responses=documented(403, 404, 413, 422, 502, 504),
    summary="Run a command",
    operation_id="runCommand",
)
_ROUTE: Final = ROUTES.routes[-1]


@ROUTES.get(
    "/{credential}/files",
    responses=documented(403, 404, 409, 422, 502, 504),
    summary="List a directory",
    operation_id="listFiles",
)
async def files(  # noqa: PLR0913, PLR0917 - FastAPI reads a route's parameters from here
    request: Request,
    caller: Caller,
    credential: Annotated[str, Path(pattern=NAME_PATTERN)],
    path: Annotated[str, Query(min_length=1, max_length=4_096, pattern=r"^[^\x00]+$")] = ".",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    after: Annotated[str, Query(max_length=_LONGEST_CURSOR, description="The `next` of the page before.")] = "",
) -> FilesAnswer:
    """List a directory by SFTP, in pages. A path that does not begin with / begins at the user's home."""
    gateway = Gateway.of(request)
    page_request = PageRequest(path, _name(after), limit, gateway.limits.directory_entries, gateway.limits.command_s)
    work = gateway.sessions.do(caller, credential, lambda: Listing(page_request))
    page, _ = await while_connected(request, work)
    return FilesAnswer(
        entries=[_entry(one) for one in page.entries],
        next=base64.urlsafe_b64encode(page.entries[-1].name).decode() if page.has_more else None,
    )


def _name(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        fault = {"loc": ("query", "after"), "msg": "is not the next of an earlier page", "type": "value_error"}
        raise RequestValidationError([fault]) from None


def _answer(result: Result, served: Served, encoding: Literal["utf-8", "base64"]) -> CommandAnswer:
    return CommandAnswer(
        outcome=result.outcome,
        exit_code=result.exit_code,
        signal=result.signal or None,
        has_ended=result.has_ended,
        stdout=_text(result.stdout, encoding),
        stderr=_text(result.stderr, encoding),
        encoding=encoding,
        timings=Timings(wait_seconds=served.wait_s, login_seconds=served.login_s, command_seconds=result.duration_s),
    )


def _text(data: bytes, encoding: str) -> str:
    return base64.b64encode(data).decode() if encoding == "base64" else data.decode(errors="replace")


def _entry(entry: Entry) -> FileEntry:
    try:
        modified_at = None if entry.modified_at is None else at(entry.modified_at)
    except ValueError:  # no time of a calendar: the server may say anything
        modified_at = None
    return FileEntry(
        name=entry.name.decode(errors="replace"),
        kind=entry.kind,
        size_bytes=entry.size_bytes,
        permissions=None if entry.permissions is None else f"{entry.permissions:04o}",
        modified_at=modified_at,
    )
