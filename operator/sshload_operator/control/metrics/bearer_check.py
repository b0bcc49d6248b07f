"""Who may read what the operator serves over HTTP: the API server decides, as it does for its own paths.

A TokenReview names the user of a request's bearer token, and a SubjectAccessReview says whether that user may get the
path, a nonResourceURL of RBAC. If the API server does not answer, nothing is served. Its answers are cached for a short
time by a keyed hash of the token. The token itself is never stored, and is in no message.

Unknown tokens cost the API server: those of one address are asked about one after the other, and addresses take turns.
A token that was once allowed has turns of its own. So no number of wrong tokens shuts out a good one.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, unique
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeAlias

from aiohttp import web

from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.turns import Turns

_LOG = logging.getLogger(__name__)
ALLOWED_KEEPS_S: Final = 60.0
REFUSED_KEEPS_S: Final = 10.0
REMEMBERED: Final = 500
_ASKED_AT_ONCE: Final = 4
_MOST_WAITING: Final = 128
_REST_S: Final = 0.01
_ANSWERED_WITHIN_S: Final = 25.0
_SCHEME: Final = "bearer"
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]{1,8000}=*")

User: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_Key: TypeAlias = tuple[bytes, str, str]


@unique
class Review(Enum):
    """The decision about a request; the value is the HTTP status of its answer."""

    ALLOWED = HTTPStatus.OK
    UNAUTHENTICATED = HTTPStatus.UNAUTHORIZED
    FORBIDDEN = HTTPStatus.FORBIDDEN
    UNDECIDED = HTTPStatus.SERVICE_UNAVAILABLE


_WORDS: Final = {
    Review.UNAUTHENTICATED: "this needs a bearer token that the API server of the cluster accepts\n",
    Review.FORBIDDEN: "this user has no access: RBAC must allow the verb on the path as a nonResourceURL\n",
    Review.UNDECIDED: "the API server of the cluster does not say who may read this: try again\n",
}


class Reviews(Protocol):
    """What the API server is asked. Both raise ApiError."""

    async def user_of(self, token: str) -> User | None:
        """Return the user of a bearer token by a TokenReview; None if the API server does not accept the token."""

    async def may(self, user: User, verb: str, path: str) -> bool:
        """Return whether a user may use a verb on a nonResourceURL, by a SubjectAccessReview."""


class BearerCheck:
    """The access check of an HTTP server of the operator, which serves `what`. `admit` is the middleware."""

    def __init__(
        self, reviews: Reviews, clock_s: Callable[[], float] = time.monotonic, what: str = "the metrics"
    ) -> None:
        self._reviews = reviews
        self._what = what
        self._salt = secrets.token_bytes(32)
        self._allowed = _Memory(ALLOWED_KEEPS_S, clock_s)
        self._refused = _Memory(REFUSED_KEEPS_S, clock_s)
        self._turns = Turns(_ASKED_AT_ONCE, _REST_S)
        self._users: dict[bytes, str] = {}
        self._is_answered = True

    @web.middleware
    async def admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Serve a request that is allowed; answer another one with 401, 403 or 503."""
        token = bearer_token(request.headers.getall("Authorization", ()))
        review = await self.review(token, request.method.lower(), request.path, request.remote or "")
        if review is Review.ALLOWED:
            return await handler(request)
        headers = {"WWW-Authenticate": "Bearer"} if review is Review.UNAUTHENTICATED else None
        return web.Response(status=review.value, text=_WORDS[review], headers=headers)

    def user(self, token: str) -> str:
        """Return the name of the user of a token that was allowed, "" if it is not remembered."""
        return self._users.get(self._hash(token), "")

    async def review(self, token: str, verb: str, path: str, address: str = "") -> Review:
        """Return the decision about a request with this token, "" for none, from this address."""
        if not token:
            return Review.UNAUTHENTICATED
        key = (self._hash(token), verb, path)
        known = self._recalled(key)
        if known is not None:
            return known
        party = key[0] if key[0] in self._users else address
        if self._turns.waiting(party) >= _MOST_WAITING:
            return Review.UNDECIDED
        return await self._asked(party, key, token)

    def _recalled(self, key: _Key) -> Review | None:
        return self._allowed.recall(key) or self._refused.recall(key)

    def _hash(self, token: str) -> bytes:
        return blake2b(token.encode(), key=self._salt).digest()

    async def _asked(self, party: bytes | str, key: _Key, token: str) -> Review:
        try:
            async with asyncio.timeout(_ANSWERED_WITHIN_S), self._turns.turn(party):
                known = self._recalled(key)  # an earlier request of this party asked
                review = await self._review(key, token) if known is None else known
        except ApiError as error:
            self._report(error)
            return Review.UNDECIDED
        except TimeoutError:
            return Review.UNDECIDED
        self._is_answered = True
        (self._allowed if review is Review.ALLOWED else self._refused).keep(key, review)
        return review

    async def _review(self, key: _Key, token: str) -> Review:
        hashed, verb, path = key
        user = await self._reviews.user_of(token)
        if user is None:
            return Review.UNAUTHENTICATED
        if not await self._reviews.may(user, verb, path):
            return Review.FORBIDDEN
        self._users.pop(hashed, None)
        self._users[hashed] = str(user["username"])
        if len(self._users) > REMEMBERED:
            del self._users[next(iter(self._users))]
        return Review.ALLOWED

    def _report(self, error: ApiError) -> None:
        """Log the first of several failures in a row: only its status, because its message could quote the token."""
        if self._is_answered:
            self._is_answered = False
            _LOG.warning(
                "cannot ask who may read %s, and serves them to nobody (%s %s): the operator needs create on"
                " tokenreviews and subjectaccessreviews",
                self._what,
                error.status or "no answer",
                error.reason,
            )


class _Memory:
    """A cache of decisions by request: the newest REMEMBERED of them, each for `keeps_s`."""

    def __init__(self, keeps_s: float, clock_s: Callable[[], float]) -> None:
        self._keeps_s = keeps_s
        self._clock_s = clock_s
        self._known: dict[_Key, tuple[float, Review]] = {}

    def recall(self, key: _Key) -> Review | None:
        until_s, review = self._known.get(key, (0.0, None))
        if review is not None and self._clock_s() >= until_s:
            del self._known[key]
            return None
        return review

    def keep(self, key: _Key, review: Review) -> None:
        self._known.pop(key, None)
        self._known[key] = (self._clock_s() + self._keeps_s, review)
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]


def bearer_token(authorizations: Sequence[str]) -> str:
    """Return the bearer token (RFC 6750) of the Authorization header; "" if there is none, or more than one header."""
    if len(authorizations) != 1:
        return ""
    scheme, _, token = authorizations[0].partition(" ")
    token = token.strip()
    return token if scheme.lower() == _SCHEME and _TOKEN.fullmatch(token) else ""
