"""The Kubernetes API server, as far as the operator needs it, with plain dicts. The only module that sends it requests.

Nothing is retried here: the loop above is level-triggered and tries again as a whole.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

import aiohttp
from kubernetes.aio.client import ApiClient
from kubernetes.aio.client.rest import RESTResponse
from sshload_contract.shortened import shortened

from sshload_operator.api.kinds import API_VERSION, LEASE_API_VERSION, Kind
from sshload_operator.api.names import NAME_CHARACTERS
from sshload_operator.control.api_server.client import authorization
from sshload_operator.control.api_server.errors import AccessError, ApiError
from sshload_operator.control.api_server.lean_json import read_json, read_page

FIELD_MANAGER: Final = "sshload"
PERSONS_FIELD_MANAGER: Final = "sshload-cli"
"""The field manager of the commands. With the operator's own, its next apply would remove what a person has set."""

ANSWER_LIMIT_S: Final = 15
"""How long an answer may take, for a list each page. After that the connection counts as dead."""

REFUSED: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
"""The statuses that the API server answers again if the write of the same object is repeated."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S, connect=5)
# Few connections, often reused: each costs a TLS handshake, which on small machines takes longer than the requests.
_CONNECTIONS: Final = 6
# The API server gets a log from a kubelet. A lost kubelet does not answer, so logs have connections of their own.
_LOG_CONNECTIONS: Final = 6
# Logs whose last request had no answer share these. Otherwise the logs of one lost node would delay all others.
_SILENT_LOG_CONNECTIONS: Final = 2
_SILENT_LOGS: Final = 1_000
_LOG: Final = "pods/log"
_LOG_PIECE_BYTES: Final = 16_384
_EVENT_MESSAGE_CHARACTERS: Final = 1_000
_ALREADY_EXISTS: Final = "AlreadyExists"
_STRICT: Final = (("fieldValidation", "Strict"),)
LIST_PAGE: Final = 5
"""Objects per page of a list.

An object can have 1.5 MiB. Parsing takes up to six times as much: two copies as bytes, and a string of up to four bytes
per character.
"""

T = TypeVar("T")

Object = Mapping[str, Any]
CountRequest = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class _Request:
    verb: str
    resource: str
    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    content_type: str = "application/json"
    body: object = None


class Cluster:
    """One connection pool to one API server. `count_request` is called with verb and resource before each request.

    A request waits for its turn without a limit; ANSWER_LIMIT_S counts from then on. If `may_send` then returns False,
    the request is not sent, and ApiError is raised.
    """

    def __init__(
        self, client: ApiClient, count_request: CountRequest, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        self._client = client
        self._count_request = count_request
        self._may_send = may_send
        self._turns = asyncio.Semaphore(_CONNECTIONS)
        self._log_turns = asyncio.Semaphore(_LOG_CONNECTIONS)
        self._silent_log_turns = asyncio.Semaphore(_SILENT_LOG_CONNECTIONS)
        self._silent_logs: dict[str, None] = {}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def apply(self, path: str, manifest: Object) -> None:
        """Apply an object at its path by server-side apply, and take over fields that others have set."""
        await self._patch(_plural_of(path), path, manifest)

    async def create(self, path: str, manifest: Object) -> bool:
        """Create the object at this path; returns False if it exists already, and does not change that one."""
        return await self.create_new(path, manifest) is not None

    async def create_new(self, path: str, manifest: Object) -> Object | None:
        """Create the object at this path and return it; None if it exists already, and that one is not changed."""
        collection = path.rpartition("/")[0]
        query = [("fieldManager", FIELD_MANAGER)]
        try:
            answer = await self._send(_Request("create", _plural_of(path), "POST", collection, query, body=manifest))
        except ApiError as error:
            if error.reason == _ALREADY_EXISTS:  # a quota that was changed meanwhile also answers 409
                return None
            raise
        created: Object = read_json(answer)
        return created

    async def delete(self, path: str, preconditions: Mapping[str, str] | None = None) -> bool:
        """Delete the object at `path`, its dependents in the background; returns False where it was gone already.

        With `preconditions` (uid, resourceVersion) another object, or a newer version, is not deleted: False as well.
        Without them a conflict is raised, because the object may still exist.
        """
        try:
            await self._delete(path, preconditions or {})
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND or (preconditions and error.status == HTTPStatus.CONFLICT):
                return False
            raise
        return True

    async def delete_by_uid(self, kind: Kind, metadata: Mapping[str, Any]) -> None:
        """Delete the object of a kind of ours with this name and this uid, its dependents in the background.

        A conflict is raised if that object still exists: it was not deleted.
        """
        path = object_path(kind, metadata["namespace"], metadata["name"])
        try:
            await self._delete(path, {"uid": metadata["uid"]})
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT and await self._is_there(kind, metadata):
                raise
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def _delete(self, path: str, preconditions: Mapping[str, str]) -> None:
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if preconditions:
            options["preconditions"] = dict(preconditions)
        await self._send(_Request("delete", _plural_of(path), "DELETE", path, body=options))

    async def read(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object of a kind of ours, or None where there is none."""
        return await self._get_or_none(kind.plural, object_path(kind, namespace, name))

    async def list_ours(
        self, kind: Kind, namespace: str, label_selector: str, facts: Callable[[Object], T]
    ) -> Sequence[T]:
        """Return the facts of the objects of a kind of ours with these labels, as they are now.

        `facts` is called with each object when its page arrives, so that at most one page of objects is in memory.
        """
        return await self._list(API_VERSION, namespace, kind.plural, [("labelSelector", label_selector)], facts)

    async def served_kinds(self) -> frozenset[str]:
        """Return the plurals of those of our kinds that the API server serves: none if no CRD is installed."""
        path = f"/apis/{API_VERSION}"
        found = await self._get_or_none("apis", path)
        return frozenset(resource["name"] for resource in (found or {}).get("resources", ()))

    async def read_deployment(self, namespace: str, name: str) -> Object | None:
        """Return a Deployment, or None where there is none."""
        path = f"{collection_path('apps/v1', namespace, 'deployments')}/{name}"
        return await self._get_or_none("deployments", path)

    async def read_config_map(self, namespace: str, name: str) -> Object | None:
        """Return a ConfigMap, or None where there is none."""
        return await self._get_or_none("configmaps", f"{collection_path('v1', namespace, 'configmaps')}/{name}")

    async def read_job(self, namespace: str, name: str) -> Object | None:
        """Return a Job, or None where there is none."""
        return await self._get_or_none("jobs", f"{collection_path('batch/v1', namespace, 'jobs')}/{name}")

    async def read_lease(self, namespace: str, name: str) -> Object | None:
        """Return a Lease, or None where there is none."""
        return await self._get_or_none("leases", lease_path(namespace, name))

    async def write_lease(self, lease: Object) -> Object:
        """Create a Lease, or replace the one of the same resourceVersion, and return it; raises ApiError otherwise."""
        path = lease_path(lease["metadata"]["namespace"], lease["metadata"]["name"])
        query = [("fieldManager", FIELD_MANAGER)]
        written: Object = read_json(await self._send(_Request("update", "leases", "PUT", path, query, body=lease)))
        return written

    async def write_status(self, kind: Kind, body: Object, status: Object) -> Object | None:
        """Replace the whole status of an object, and return the object; None if the object of this uid is gone.

        Server-side apply removes fields that the operator no longer sets, does not conflict with edits of the spec, and
        writes nothing if the status is unchanged. The uid protects a new object of the same name. A conflict is raised
        if the object of this uid still exists.
        """
        metadata = body["metadata"]
        path = f"{object_path(kind, metadata['namespace'], metadata['name'])}/status"
        return await self._apply_by_uid(kind, metadata, f"{kind.plural}/status", path, {"status": status})

    async def set_spec(self, kind: Kind, metadata: Mapping[str, Any], fields: Object) -> Object | None:
        """Set fields of the spec of an object and return the object; None if the object of this uid is gone."""
        path = object_path(kind, metadata["namespace"], metadata["name"])
        return await self._apply_by_uid(kind, metadata, kind.plural, path, {"spec": fields})

    async def annotate(self, kind: Kind, metadata: Mapping[str, Any], annotations: Mapping[str, str]) -> bool:
        """Set annotations of an object of one of our kinds; returns False if the object of this uid is gone."""
        path = object_path(kind, metadata["namespace"], metadata["name"])
        change = {"metadata": {"uid": metadata["uid"], "annotations": annotations}}
        query = [("fieldManager", FIELD_MANAGER)]
        try:
            await self._send(
                _Request("patch", kind.plural, "PATCH", path, query, "application/merge-patch+json", change)
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            if error.status == HTTPStatus.CONFLICT and not await self._is_there(kind, metadata):
                return False
            raise
        return True

    async def _apply_by_uid(
        self, kind: Kind, metadata: Mapping[str, Any], resource: str, path: str, said: Object
    ) -> Object | None:
        """Apply fields to the object of this uid, None if it is gone; a conflict is raised if it still exists."""
        named = {key: metadata[key] for key in ("name", "namespace", "uid")}
        try:
            return await self._patch(
                resource, path, {"apiVersion": API_VERSION, "kind": kind.name, "metadata": named, **said}
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            if error.status == HTTPStatus.CONFLICT and not await self._is_there(kind, metadata):
                return None
            raise

    async def _is_there(self, kind: Kind, metadata: Mapping[str, Any]) -> bool:
        """Tell whether there is an object of a kind of ours with this name and this uid."""
        found = await self.read(kind, metadata["namespace"], metadata["name"])
        return found is not None and found["metadata"]["uid"] == metadata["uid"]

    async def apply_for_person(self, kind: Kind, namespace: str, manifest: Object, *, force: bool) -> Object:
        """Apply a person's object of a kind of ours and return it; a conflict is raised unless `force` is set."""
        path = object_path(kind, namespace, manifest["metadata"]["name"])
        query = [("fieldManager", PERSONS_FIELD_MANAGER), ("force", str(force).lower()), *_STRICT]
        request = _Request("patch", kind.plural, "PATCH", path, query, "application/apply-patch+yaml", manifest)
        applied: Object = read_json(await self._send(request))
        return applied

    async def change_for_person(self, kind: Kind, namespace: str, name: str, change: Object) -> Object | None:
        """Change an object of a kind of ours by a merge patch and return it; None where there is none."""
        query = [("fieldManager", PERSONS_FIELD_MANAGER), *_STRICT]
        path = object_path(kind, namespace, name)
        request = _Request("patch", kind.plural, "PATCH", path, query, "application/merge-patch+json", change)
        try:
            changed: Object = read_json(await self._send(request))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return changed

    async def user_of(self, token: str) -> Object | None:
        """Return the user of a bearer token by a TokenReview; None if the API server does not accept the token."""
        review = await self._review("tokenreviews", "authentication.k8s.io/v1", "TokenReview", {"token": token})
        return review["user"] if review.get("authenticated") is True else None

    async def may(self, user: Object, verb: str, path: str) -> bool:
        """Return whether a user may use a verb on a nonResourceURL, by a SubjectAccessReview."""
        named = {"user": user["username"], "uid": user.get("uid", ""), "groups": user.get("groups", ())}
        asked = {**named, "extra": user.get("extra", {}), "nonResourceAttributes": {"verb": verb, "path": path}}
        review = await self._review("subjectaccessreviews", "authorization.k8s.io/v1", "SubjectAccessReview", asked)
        return review.get("allowed") is True

    async def _review(self, plural: str, api_version: str, kind: str, spec: Object) -> Object:
        """Create a review and return its status. The API server does not store reviews."""
        body = {"apiVersion": api_version, "kind": kind, "spec": spec}
        answer = await self._send(_Request("create", plural, "POST", f"/apis/{api_version}/{plural}", body=body))
        status: Object = read_json(answer).get("status") or {}
        return status

    async def list_pods(self, namespace: str, label_selector: str) -> Sequence[Object]:
        """Return the pods with these labels."""
        return await self._list("v1", namespace, "pods", [("labelSelector", label_selector)], _itself)

    async def list_jobs(self, namespace: str, label_selector: str) -> Sequence[Object]:
        """Return the Jobs with these labels."""
        return await self._list("batch/v1", namespace, "jobs", [("labelSelector", label_selector)], _itself)

    async def list_events(self, namespace: str, field_selector: str) -> Sequence[tuple[str, str]]:
        """Return the Events that match a field selector, such as `involvedObject.kind=Job,reason=FailedCreate`.

        Each is returned as the name of its involved object and its message, cut to 1,000 characters.
        """
        return await self._list("v1", namespace, "events", [("fieldSelector", field_selector)], _what_event_says)

    async def read_log(self, namespace: str, pod: str, container: str, tail_lines: int) -> str | None:
        """Return the end of a container's log, 16 KiB for each line at most; None where there is no pod or log yet.

        The server counts `tail_lines` in pieces of 16 KiB at most, so that longer lines count more than once.
        """
        path = f"{collection_path('v1', namespace, 'pods')}/{pod}/log"
        query = [
            ("container", container),
            ("tailLines", str(tail_lines)),
            ("limitBytes", str(tail_lines * _LOG_PIECE_BYTES)),
        ]
        try:
            text = await self._send(_Request("get", _LOG, "GET", path, query))
        except ApiError as error:
            if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST):
                return None
            raise
        return text.decode(errors="replace")

    async def _list(
        self,
        api_version: str,
        namespace: str,
        plural: str,
        query: Sequence[tuple[str, str]],
        facts: Callable[[Object], T],
    ) -> Sequence[T]:
        path = collection_path(api_version, namespace, plural)
        found: list[T] = []
        following = ""
        while True:
            page_query = [*query, ("limit", str(LIST_PAGE)), *([("continue", following)] if following else ())]
            following = await self._list_page(_Request("list", plural, "GET", path, page_query), facts, found)
            if not following:
                return found

    async def _list_page(self, request: _Request, facts: Callable[[Object], T], found: list[T]) -> str:
        """Append the facts of a page to `found`, and return the continue token, "" after the last page.

        No reference to the page remains afterwards, so that its memory is free before the next page is read.
        """
        page = await read_page(await self._send(request))
        found.extend(map(facts, page["items"]))
        return str(page["metadata"].get("continue") or "")

    async def _get_or_none(self, plural: str, path: str) -> Object | None:
        try:
            found: Object = read_json(await self._send(_Request("get", plural, "GET", path)))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return found

    async def _patch(self, resource: str, path: str, body: Object) -> Object:
        query = [("fieldManager", FIELD_MANAGER), ("force", "true")]
        request = _Request("patch", resource, "PATCH", path, query, "application/apply-patch+yaml", body)
        applied: Object = read_json(await self._send(request))
        return applied

    async def _send(self, request: _Request) -> bytes:
        if request.resource == _LOG:
            return await self._send_for_log(request)
        async with self._turns:
            return await self._send_now(request)

    async def _send_for_log(self, request: _Request) -> bytes:
        silent = self._silent_logs
        async with self._silent_log_turns if request.path in silent else self._log_turns:
            silent.pop(request.path, None)
            try:
                return await self._send_now(request)
            except ApiError as error:
                if not error.status:
                    silent[request.path] = None
                if len(silent) > _SILENT_LOGS:
                    del silent[next(iter(silent))]
                raise

    async def _send_now(self, request: _Request) -> bytes:
        self._count_request(request.verb, request.resource)
        try:
            response = await self._answer(request)
            content: bytes = await response.read()
        except (aiohttp.ClientError, AccessError, TimeoutError, OSError, ValueError) as error:
            raise ApiError(0, f"{request.method} {request.path}: {type(error).__name__} {error}") from error
        if response.status >= HTTPStatus.BAD_REQUEST:
            message, reason = _said(content)
            raise ApiError(response.status, f"{request.method} {request.path}: {message}", reason)
        return content

    async def _answer(self, request: _Request) -> RESTResponse:
        headers = {"Accept": "application/json, */*", "Content-Type": request.content_type}
        login = await authorization(self._client)
        if login:
            headers["Authorization"] = login
        # The body bypasses `param_serialize`, which searches it for models: that costs more than json.dumps.
        method, url, headers, _, _ = await self._client.param_serialize(
            request.method, request.path, query_params=request.query, header_params=headers
        )
        if not self._may_send():
            lost = "the operator's Lease was not renewed in time, and another operator may act"
            raise ApiError(0, f"{request.method} {request.path}: {lost}")
        return await self._client.call_api(method, url, headers, request.body, _request_timeout=_TIMEOUT)


def collection_path(api_version: str, namespace: str, plural: str) -> str:
    """Return the URL path of all objects of one kind in a namespace; an empty namespace stands for all of them."""
    prefix = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
    if not namespace:
        return f"{prefix}/{plural}"
    return f"{prefix}/namespaces/{quote(namespace, safe='')}/{plural}"


def object_path(kind: Kind, namespace: str, name: str) -> str:
    """Return the URL path of an object of a kind of ours."""
    return f"{collection_path(API_VERSION, namespace, kind.plural)}/{quote(name, safe='')}"


def lease_path(namespace: str, name: str) -> str:
    """Return the URL path of a Lease."""
    return f"{collection_path(LEASE_API_VERSION, namespace, 'leases')}/{name}"


def _itself(body: Object) -> Object:
    return body


def _what_event_says(event: Object) -> tuple[str, str]:
    """Return the name of an Event's involved object, and its message. Both may be missing: anybody may write Events."""
    about = event.get("involvedObject") or {}
    return str(about.get("name", ""))[:NAME_CHARACTERS], shortened(
        str(event.get("message", "")), _EVENT_MESSAGE_CHARACTERS
    )


def _plural_of(path: str) -> str:
    return path.split("/")[-2]


def _said(content: bytes) -> tuple[str, str]:
    """Return message and reason of a Status, or the beginning of an answer that is not JSON."""
    try:
        status = json.loads(content)
    except ValueError:
        return content[:200].decode(errors="replace"), ""
    return (str(status.get("message", "")), str(status.get("reason", ""))) if isinstance(status, dict) else ("", "")
