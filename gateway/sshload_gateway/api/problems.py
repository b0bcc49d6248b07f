"""Answers to what went wrong, as application/problem+json (RFC 9457), with a kind for programs."""

import logging
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sshload_gateway.api.callers import ClientGoneError
from sshload_gateway.cluster.load_tests import ClusterUnavailableError, RefusedError
from sshload_gateway.identity.key_set import KeySetUnavailableError
from sshload_gateway.sessions import NoSuchCredentialError
from sshload_gateway.ssh.failures import BusyError, LoginError, LoginFailure, ServerError, SessionRefusedError
from sshload_gateway.ssh.listing import ListingError
from sshload_gateway.store.credentials import TooManyCredentialsError
from sshload_gateway.store.database import DatabaseUnavailableError

_LOG: Final = logging.getLogger(__name__)
_DATABASE_RETRY_S: Final = 5
_CLIENT_GONE: Final = 499
_OF_LOGINS: Final = {LoginFailure.NOT_ALLOWED: 403, LoginFailure.TIMEOUT: 504, LoginFailure.SEAL: 500}
"""Statuses of logins that failed; of all others it is 502, since the server is the problem."""
_RENAMED: Final = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Names of RFC 9110 that Python has from version 3.13 on."""
_PROBLEMS_AT_MOST: Final = 20
_LONGEST_PLACE: Final = 100
MEDIA_TYPE: Final = "application/problem+json"


class Problem(BaseModel):
    """What went wrong."""

    title: str = Field(description="The name of the HTTP status.")
    status: int = Field(description="The HTTP status.")
    kind: str = Field(description="What went wrong, as a word that programs can compare.")
    detail: str = Field(description="What went wrong, as a sentence.")
    problems: list[str] = Field(default=[], description="Of a request that is not valid: each fault, with its place.")


class NotAllowedError(Exception):
    """The gateway does not connect to this destination."""


class NoLoadRightError(Exception):
    """The caller may start no load tests."""


class TooOftenError(Exception):
    """The caller has done this too often, with the seconds after which it may again."""

    def __init__(self, detail: str, retry_s: int) -> None:
        super().__init__(detail)
        self.retry_s = retry_s


def answer(status: int, kind: str, detail: str, *, problems: list[str] | None = None, retry_s: int = 0) -> JSONResponse:
    """Return the answer for a problem; with `retry_s` it says when to try again."""
    problem = Problem(title=_phrase(status), status=status, kind=kind, detail=detail, problems=problems or [])
    headers = {"Retry-After": str(retry_s)} if retry_s else None
    return JSONResponse(problem.model_dump(), status, headers, MEDIA_TYPE)


def _phrase(status: int) -> str:
    return _RENAMED.get(status) or HTTPStatus(status).phrase


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what the OpenAPI document says of these statuses, on top of those that every route may answer with."""
    schema = {"$ref": "#/components/schemas/Problem"}
    retry = {"Retry-After": {"description": "In how many seconds to try again.", "schema": {"type": "integer"}}}
    return {
        status: {
            "description": _phrase(status),
            "content": {MEDIA_TYPE: {"schema": schema}},
            **({"headers": retry} if status in (429, 503) else {}),
        }
        for status in sorted({401, 429, 500, 503, *statuses})
    }


def answer_to(error: Exception) -> Response:  # noqa: C901, PLR0911, PLR0912 - one line for each error
    """Return the answer for an error; one that is not known is logged, and told without its words."""
    match error:
        case ClientGoneError():
            return Response(status_code=_CLIENT_GONE)  # for the log: nobody hears it
        case HTTPException():
            return _http(error)
        case NoSuchCredentialError():
            return answer(404, "no-such-credential", "you have no credential of this name")
        case NotAllowedError():
            return answer(403, LoginFailure.NOT_ALLOWED, str(error))
        case LoginError():
            status = _OF_LOGINS.get(error.kind, 502)
            return answer(status, error.kind, error.detail)
        case BusyError():
            return answer(503, "busy", error.detail, retry_s=error.retry_after_s)
        case ServerError():
            return answer(502, "server", str(error))
        case SessionRefusedError():
            return answer(502, "no-session", "the server opens no session: look at its MaxSessions")
        case NoLoadRightError():
            return answer(403, "no-load-right", str(error))
        case TooOftenError():
            return answer(429, "rate-limit", str(error), retry_s=error.retry_s)
        case RefusedError():
            is_of_spec = error.status != HTTPStatus.FORBIDDEN
            return answer(422 if is_of_spec else 403, "spec" if is_of_spec else "cluster", error.detail)
        case ClusterUnavailableError():
            _LOG.warning("%s", error)
            return answer(503, "api-server", str(error), retry_s=_DATABASE_RETRY_S)
        case ListingError():
            return answer(409, "listing", str(error))
        case TooManyCredentialsError():
            return answer(409, "too-many-credentials", str(error))
        case DatabaseUnavailableError():
            _LOG.warning("%s", error)
            return answer(503, "database", "the database does not answer", retry_s=_DATABASE_RETRY_S)
        case KeySetUnavailableError():
            return answer(503, "key-set", str(error), retry_s=_DATABASE_RETRY_S)
    _LOG.error("a request failed", exc_info=error)
    return answer(500, "internal", "the gateway failed; its log says why")


def add_answers(app: FastAPI) -> None:
    """Let the app answer errors in this form."""

    async def failed(_: Request, error: Exception) -> Response:
        return answer_to(error)

    async def not_valid(_: Request, error: Exception) -> JSONResponse:
        found = error.errors() if isinstance(error, RequestValidationError) else ()
        problems = [
            _problem(one) for one in found[:_PROBLEMS_AT_MOST]
        ]  # what was given stays out of it: it may be a private key
        return answer(422, "not-valid", "the request is not valid", problems=problems)

    for known in (
        ClientGoneError,
        HTTPException,
        NoSuchCredentialError,
        NotAllowedError,
        LoginError,
        BusyError,
        ServerError,
        SessionRefusedError,
        ListingError,
        TooManyCredentialsError,
        DatabaseUnavailableError,
        KeySetUnavailableError,
        NoLoadRightError,
        TooOftenError,
        RefusedError,
        ClusterUnavailableError,
    ):
        app.add_exception_handler(known, failed)
    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(RequestValidationError, not_valid)


def _http(error: HTTPException) -> Response:
    if error.status_code == HTTPStatus.BAD_REQUEST:  # FastAPI's, of a body that it cannot decode
        return answer(422, "not-valid", "the request is not valid", problems=["body: is not JSON in UTF-8"])
    response = answer(error.status_code, _phrase(error.status_code).lower().replace(" ", "-"), error.detail)
    response.headers.update(error.headers or {})
    return response


def _problem(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    text = f"{place[:_LONGEST_PLACE]}: {error['msg'].removeprefix('Value error, ')}"
    return text.encode(errors="replace").decode()  # names of fields may have what UTF-8 has not
