"""Who calls, as the guard found out, and whether the caller is still there."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

_Done = TypeVar("_Done")


class ClientGoneError(Exception):
    """The client has hung up: nobody hears an answer."""


async def _caller(request: Request) -> str:  # FastAPI calls what is not async in a thread
    caller: str = request.state.caller
    return caller


async def _group(request: Request) -> str:
    group: str = request.state.group
    return group


Caller = Annotated[str, Depends(_caller)]
"""The `sub` of the caller's token."""

Group = Annotated[str, Depends(_group)]
"""What the caller's token says of where it may start load tests; empty if it says nothing."""

TOKEN = Depends(HTTPBearer(bearerFormat="JWT", auto_error=False, scheme_name="token"))
"""What the OpenAPI document says of the token; the guard has checked it."""


async def while_connected(request: Request, work: Coroutine[None, None, _Done]) -> _Done:
    """Do work for a client, whose request has been read; cancel it once the client hangs up.

    Raises ClientGoneError then, after the work has ended, and what the guard raises of a body that it does not read.
    """
    doing = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            doing.cancel()
            await asyncio.wait((doing,))
            gone.result()  # raises what the guard says of a body
            raise ClientGoneError
        return doing.result()
    finally:
        gone.cancel()
        if not doing.done():
            doing.cancel()
            await asyncio.wait((doing,))


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
