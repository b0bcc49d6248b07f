import asyncio
import re
from contextlib import suppress
from typing import Any

import pytest
from sshload_gateway.api.app import make_app
from sshload_gateway.api.commands import Commands

_PATHS = make_app(None).openapi()["paths"]


@pytest.mark.parametrize(("method", "path"), [(method, path) for path, methods in _PATHS.items() for method in methods])
def test_a_request_is_counted_by_the_path_that_the_document_has(method: str, path: str) -> None:
    scope: dict[str, Any] = {
        "type": "http",
        "method": method.upper(),
        "path": re.sub(r"{\w+}", "no_name", path),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "state": {"caller": "ada", "group": ""},
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    async def send(_message: Any) -> None:
        """Answer nobody."""

    with suppress(AssertionError):  # there is no gateway behind the routes
        asyncio.run(Commands(make_app(None))(scope, receive, send))
    assert scope["route"].path == path
