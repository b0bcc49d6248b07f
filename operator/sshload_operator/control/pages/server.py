"""The operator's pages over HTTPS, for users whom RBAC lets get them: lists, reports, and runs that are under way.

A request changes nothing except who is logged in. For pages about all namespaces, RBAC must allow `/ui`; for pages
about one, `/ui/NAMESPACE`.
"""

import gzip
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from aiohttp import web
from sshload_contract.front.admission import Limits

from sshload_operator.api.kinds import KINDS, TEST, Kind
from sshload_operator.control.front import Front
from sshload_operator.control.metrics.bearer_check import BearerCheck, Handler, Review, bearer_token
from sshload_operator.control.metrics.serving_certificate import ServingCertificate
from sshload_operator.control.pages.index import Index, Line
from sshload_operator.control.pages.markup import error_page, live_page, login_page, overview
from sshload_operator.control.pages.reports import NoReportError, Reports
from sshload_operator.control.pages.streams import LASTS_S, Streams

LIMITS: Final = Limits(connections=192, per_address=128)
_HOME: Final = "/ui"
# No namespace has such a name.
_LOGIN, _LOGOUT, _STATIC = f"{_HOME}/-/login", f"{_HOME}/-/logout", f"{_HOME}/-/static"
_PUBLIC: Final = "public"
_NAMESPACE: Final = f"{_HOME}/{{namespace:[a-z0-9][-a-z0-9]*}}"
_PATH: Final = re.compile(r"/ui(/[a-z0-9][-a-z0-9.]*){0,3}")
COOKIE: Final = "__Host-sshload-ui"
SESSION_KEEPS_S: Final = 8 * 3600.0
MOST_SESSIONS: Final = 200
MOST_OF_A_USER: Final = 20
_REQUESTS_OF_A_USER: Final = 40
_NAME_BYTES: Final = 32
_FORM_LIMIT_BYTES: Final = 16_384
_WRITTEN_WITHIN_S: Final = 60.0
_USER: Final = web.RequestKey("user", str)
_OWN_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"
)
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    # With no-referrer browsers would call the origin of our own form null.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_STATIC_TYPES: Final = {"pages.css": "text/css", "live.js": "text/javascript"}
_KINDS: Final = {f"{kind.word}s": kind for kind in KINDS}
_SAID: Final = {
    Review.UNAUTHENTICATED: "The API server of the cluster does not accept this token.",
    Review.FORBIDDEN: "This user has no access: RBAC must allow get on the nonResourceURL {path}.",
    Review.UNDECIDED: "The API server of the cluster does not say who may read this: try again.",
}


class Sessions:
    """Who is logged in with a browser: a session stands for the bearer token that was pasted into the form.

    The browser keeps a random name only, so that the token is in no cookie, which others at the same host name may get.
    The tokens are in the operator's memory, for at most MOST_SESSIONS sessions, MOST_OF_A_USER of one user. One more
    ends the oldest: of the same user, or of the user who has most.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._known: dict[str, _Session] = {}

    def begin(self, token: str, user: str) -> str:
        """Return the name of a new session of a user with this token."""
        name = secrets.token_urlsafe(_NAME_BYTES)
        self._known[name] = _Session(self._clock_s() + SESSION_KEEPS_S, token, user)
        counts = Counter(session.user for session in self._known.values())
        if counts[user] > MOST_OF_A_USER or len(self._known) > MOST_SESSIONS:
            most = user if counts[user] > MOST_OF_A_USER else counts.most_common(1)[0][0]
            del self._known[next(name for name, session in self._known.items() if session.user == most)]
        return name

    def token(self, name: str) -> str:
        """Return the token of a session, "" if the session does not exist or has ended."""
        session = self._known.get(name)
        if session is None:
            return ""
        if self._clock_s() >= session.until_s:
            self.end(name)
            return ""
        return session.token

    def end(self, name: str) -> None:
        """End a session."""
        self._known.pop(name, None)


@dataclass(frozen=True, slots=True)
class _Session:
    until_s: float
    token: str
    user: str


class PagesServer:
    """Serves on all addresses from `start` to `stop`."""

    def __init__(self, port: int, index: Index, check: BearerCheck, reports: Reports, limits: Limits = LIMITS) -> None:
        self._front = Front(port, limits)
        self._index = index
        self._check = check
        self._reports = reports
        self._sessions = Sessions()
        self._streams = Streams(index)
        self._under_way: Counter[str] = Counter()

    async def start(self, certificate: ServingCertificate) -> None:
        """Listen; raises OSError where the port is taken, and CertificateError."""
        app = web.Application(middlewares=(self._admit,), client_max_size=_FORM_LIMIT_BYTES)
        app.add_routes(
            [
                *(web.get(path, self._overview) for path in ("/", _HOME, f"{_HOME}/")),
                web.post(_LOGIN, self._log_in, name=f"{_PUBLIC}-login"),
                web.post(_LOGOUT, self._log_out, name=f"{_PUBLIC}-logout"),
                web.get(f"{_STATIC}/{{name}}", self._static, name=f"{_PUBLIC}-static"),
                web.get(_NAMESPACE, self._overview),
                web.get(f"{_NAMESPACE}/{{kind}}/{{name}}", self._object),
                web.get(f"{_NAMESPACE}/tests/{{name}}/events", self._events, allow_head=False),
            ]
        )
        await self._front.start(app, certificate)

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        self._streams.end()
        await self._front.stop()

    @web.middleware
    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Serve a request that is allowed; answer another one with 401 and the form, 403 or 503."""
        try:
            answer = await self._answer(request, handler)
        except web.HTTPException as error:
            answer = _page(error_page(error.reason, "There is no such page."), error.status_code)
            if "Allow" in error.headers:
                answer.headers["Allow"] = error.headers["Allow"]
        if not answer.prepared:
            answer.headers.update(_HEADERS)
        return answer

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if (request.match_info.route.name or "").startswith(_PUBLIC):
            return await handler(request)
        token = bearer_token(request.headers.getall("Authorization", ()))
        token = token or self._sessions.token(request.cookies.get(COOKIE, ""))
        path = _reviewed_path(request)
        review = await self._check.review(token, "get", path, request.remote or "")
        if review is Review.ALLOWED:
            return await self._answer_user(request, handler, self._check.user(token))
        if review is Review.UNAUTHENTICATED:
            return _unauthenticated(request, _SAID[review] if token else "")
        return _page(error_page(HTTPStatus(review.value).phrase, _SAID[review].format(path=path)), review.value)

    async def _answer_user(self, request: web.Request, handler: Handler, user: str) -> web.StreamResponse:
        """Serve a user, who from now on is not shut out by strangers, but has only so many requests at once."""
        if self._under_way[user] >= _REQUESTS_OF_A_USER:
            busy = HTTPStatus.TOO_MANY_REQUESTS
            return _page(error_page(busy.phrase, "Too many requests of yours are under way: try again."), busy)
        request[_USER] = user
        self._under_way[user] += 1
        try:
            with self._front.serving(request.transport, LASTS_S + _WRITTEN_WITHIN_S):
                return await handler(request)
        finally:
            self._under_way[user] -= 1
            if not self._under_way[user]:
                del self._under_way[user]

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        """Begin a session for a token that may get the requested page, and redirect to it."""
        if not _is_own_form(request):
            return _page(error_page("Forbidden", "A form from another site is not accepted."), HTTPStatus.FORBIDDEN)
        form = await request.post()
        token = bearer_token([f"Bearer {form.get('token', '')}"])
        following = str(form.get("next", ""))
        following = following if _PATH.fullmatch(following) else _HOME
        path = "/".join(following.split("/")[:3])
        review = await self._check.review(token, "get", path, request.remote or "")
        if review is not Review.ALLOWED:
            return _page(login_page(following, _SAID[review].format(path=path)), review.value)
        answer = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": following})
        name = self._sessions.begin(token, self._check.user(token))
        answer.set_cookie(COOKIE, name, path="/", secure=True, httponly=True, samesite="Strict")
        return answer

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        if not _is_own_form(request):
            return _page(error_page("Forbidden", "A form from another site is not accepted."), HTTPStatus.FORBIDDEN)
        self._sessions.end(request.cookies.get(COOKIE, ""))
        answer = _page(login_page(_HOME), HTTPStatus.OK)
        answer.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Strict")
        return answer

    async def _static(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in _STATIC_TYPES:
            raise web.HTTPNotFound
        text = files(__package__).joinpath("static", name).read_text(encoding="utf-8")
        return web.Response(text=text, content_type=_STATIC_TYPES[name])

    async def _overview(self, request: web.Request) -> web.StreamResponse:
        return _page(overview(self._index, request.match_info.get("namespace", "")))

    async def _object(self, request: web.Request) -> web.StreamResponse:
        kind = _KINDS.get(request.match_info["kind"])
        line = None if kind is None else self._line(kind, request)
        if kind is None or line is None:
            raise web.HTTPNotFound
        if kind is TEST and not line.is_over:
            return _page(live_page(line))
        try:
            report = await self._reports.page(kind, line, request[_USER])
        except NoReportError as error:
            return _page(error_page(error.status.phrase, str(error)), error.status)
        policy = {"Content-Security-Policy": f"{report.policy}; frame-ancestors 'none'"}
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return web.Response(
                body=gzip.decompress(report.packed), content_type="text/html", charset="utf-8", headers=policy
            )
        headers = {**policy, "Content-Encoding": "gzip"}
        return web.Response(body=report.packed, content_type="text/html", charset="utf-8", headers=headers)

    def _line(self, kind: Kind, request: web.Request) -> Line | None:
        return self._index.find(kind, (request.match_info["namespace"], request.match_info["name"]))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if self._line(TEST, request) is None:
            raise web.HTTPNotFound
        user = request[_USER]
        if self._streams.are_too_many(user):
            busy = HTTPStatus.SERVICE_UNAVAILABLE
            return _page(error_page(busy.phrase, "Too many live pages are open."), busy)
        answer = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await self._streams.send(request, answer, (request.match_info["namespace"], request.match_info["name"]), user)
        return answer


def _reviewed_path(request: web.Request) -> str:
    """Return the path for the check by RBAC: made from the namespace that the route found, never the raw path."""
    namespace = request.match_info.get("namespace", "")
    return f"{_HOME}/{namespace}" if namespace else _HOME


def _is_own_form(request: web.Request) -> bool:
    """Tell whether a form is from our own pages, by the headers that the browser sends."""
    site, origin = request.headers.get("Sec-Fetch-Site", "same-origin"), request.headers.get("Origin")
    return site == "same-origin" and origin in (None, f"https://{request.host}")


def _unauthenticated(request: web.Request, problem: str) -> web.Response:
    """Return the login form to a browser, and plain text to a program."""
    if "text/html" not in request.headers.get("Accept", ""):
        words = "this needs a bearer token that the API server of the cluster accepts\n"
        return web.Response(status=HTTPStatus.UNAUTHORIZED, text=words, headers={"WWW-Authenticate": "Bearer"})
    following = request.path if _PATH.fullmatch(request.path) else _HOME
    return _page(login_page(following, problem), HTTPStatus.UNAUTHORIZED)


def _page(text: str, status: int = HTTPStatus.OK) -> web.Response:
    policy = {"Content-Security-Policy": f"{_OWN_POLICY}; frame-ancestors 'none'"}
    return web.Response(status=status, text=text, content_type="text/html", headers=policy)
