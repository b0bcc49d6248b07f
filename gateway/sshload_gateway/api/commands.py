"""Routes that use a credential: run a command, list a directory."""

import base64
import binascii
import re
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from sshload_gateway.api.callers import TOKEN, Caller, ClientGoneError, while_connected
from sshload_gateway.api.problems import documented
from sshload_gateway.api.shapes import (
    NAME_PATTERN,
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

ROUTES: Final = APIRouter(prefix="/sshapi/v2", dependencies=[TOKEN], tags=["commands"])
_NAME: Final = re.compile(NAME_PATTERN)
_LONGEST_CURSOR: Final = 1_400
"""In base64, of a name with 1,024 bytes: no file system has longer ones."""


class _CommandRoute(APIRoute):
    """Reads a request that is as most are, and leaves others to FastAPI, which finds out what is wrong with them.

    What FastAPI does for each request, whatever its parameters are, takes as long as all that the gateway does.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        by_fastapi = super().get_route_handler()

        async def handle(request: Request) -> Response:
            credential: str = request.path_params["credential"]
            body = await _plain(request)
            if body is None or not _NAME.fullmatch(credential):
                return await by_fastapi(request)
            answer = await run(body, request, request.state.caller, credential)
            return Response(answer.model_dump_json(by_alias=True), media_type="application/json")

        return handle


async def _plain(request: Request) -> CommandRequest | None:
    """Return what a body in plain JSON asks for, None where it is not that, or asks for what cannot be."""
    if request.headers.get("content-type") != "application/json":
        return None
    try:
        return CommandRequest.model_validate_json(await request.body())
    except ValidationError:
        return None
    except ClientDisconnect:
        raise ClientGoneError from None


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
    route_class_override=_CommandRoute,
)


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
        fault = {"loc": ("query", "after"), "msg": "is not the next of another page", "type": "value_error"}
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
