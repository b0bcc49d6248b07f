"""The route that starts a load test."""

from typing import Annotated, Final

from fastapi import APIRouter, Body, Request
from pydantic import JsonValue
from starlette.exceptions import HTTPException

from sshload_gateway.api.callers import TOKEN, Caller, Group
from sshload_gateway.api.problems import NoLoadRightError, TooOftenError, documented
from sshload_gateway.api.shapes import PREFIX, StartedLoad
from sshload_gateway.api.state import Gateway

ROUTES: Final = APIRouter(prefix=PREFIX, dependencies=[TOKEN], tags=["load"])


@ROUTES.post(
    "/load",
    status_code=201,
    responses=documented(403, 413, 422),
    summary="Start a load test",
    operation_id="startLoad",
)
async def start(
    spec: Annotated[dict[str, JsonValue], Body(description="The `spec` of an SSHLoadTest.")],
    request: Request,
    caller: Caller,
    group: Group,
) -> StartedLoad:
    """Create an SSHLoadTest in the caller's namespace, which the configuration names for a claim of the token.

    The API server checks the spec. Whether the test may run, the operator decides: look at the test's status.
    """
    loads = Gateway.of(request).loads
    namespace = None if loads is None else loads.namespaces.get(group)
    if loads is None or namespace is None:
        raise NoLoadRightError("your token gives no right to start load tests")
    if len(await request.body()) > loads.body_bytes:
        raise HTTPException(413, f"the body has more than {loads.body_bytes} bytes")
    retry_s = loads.take(caller)
    if retry_s:
        raise TooOftenError("you start load tests too often", retry_s)
    name = await loads.tests.create(namespace, spec, caller)
    return StartedLoad(
        name=name,
        namespace=namespace,
        command=f"kubectl get sshloadtest {name} --namespace {namespace} --watch",
        page=f"{loads.pages_url}/ui/{namespace}/tests/{name}" if loads.pages_url else None,
    )
