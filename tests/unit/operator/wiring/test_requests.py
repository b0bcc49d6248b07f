"""What the operator asks of the API server, word for word, and what it makes of each answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from played_api import played_cluster
from sshload_operator.api.kinds import TEST
from sshload_operator.control.api_server.cluster import Cluster, collection_path, lease_path, object_path
from sshload_operator.control.api_server.errors import ApiError

Ask = Callable[[Cluster], Awaitable[Any]]
METADATA = {"namespace": "ns", "name": "a", "uid": "the-uid", "resourceVersion": "7", "labels": {"x": "y"}}
BODY = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTest", "metadata": METADATA, "spec": {}}
OURS = "/apis/sshload.dev/v1alpha1/namespaces/ns/sshloadtests/a"
OPERATOR, PERSON = "fieldManager=sshload", "fieldManager=sshload-cli"
LEASE = {"metadata": {"namespace": "ns", "name": "l"}, "spec": {"holderIdentity": "me"}}
MERGE, APPLY, JSON = "application/merge-patch+json", "application/apply-patch+yaml", "application/json"
IDENTITY = {"name": "a", "namespace": "ns", "uid": "the-uid"}
OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}


@dataclass
class Server:
    """Takes each request down as method, path with query, type of content, and body; answers with `answers` in turn."""

    answers: list[tuple[int, Any]]
    asked: list[tuple[str, str, str, Any]] = field(default_factory=list)
    counted: list[tuple[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        text = await request.text()
        body = json.loads(text) if text else None
        self.asked.append((request.method, request.path_qs, request.content_type, body))
        status, said = self.answers.pop(0)
        if isinstance(said, bytes):
            return web.Response(status=status, body=said)
        return web.json_response(said, status=status)

    def play(self, ask: Ask) -> Any:
        """Return what the operator makes of the answers."""

        async def play() -> Any:
            async with played_cluster(
                self.answer, lambda verb, resource: self.counted.append((verb, resource))
            ) as cluster:
                return await ask(cluster)

        return asyncio.run(play())


def said(code: int, reason: str = "") -> tuple[int, dict[str, Any]]:
    return code, {"kind": "Status", "code": code, "reason": reason, "message": f"said {code}"}


@pytest.mark.parametrize(
    ("ask", "asked", "counted"),
    [
        pytest.param(
            lambda cluster: cluster.apply("/api/v1/namespaces/ns/secrets/s", {"kind": "Secret"}),
            ("PATCH", f"/api/v1/namespaces/ns/secrets/s?{OPERATOR}&force=true", APPLY, {"kind": "Secret"}),
            ("patch", "secrets"),
            id="an object of a run is applied, and taken over",
        ),
        pytest.param(
            lambda cluster: cluster.create("/api/v1/namespaces/ns/secrets/s", {"kind": "Secret"}),
            ("POST", f"/api/v1/namespaces/ns/secrets?{OPERATOR}", JSON, {"kind": "Secret"}),
            ("create", "secrets"),
            id="an object is created in its collection",
        ),
        pytest.param(
            lambda cluster: cluster.delete("/api/v1/namespaces/ns/secrets/s"),
            ("DELETE", "/api/v1/namespaces/ns/secrets/s", JSON, OPTIONS),
            ("delete", "secrets"),
            id="an object is deleted with what belongs to it",
        ),
        pytest.param(
            lambda cluster: cluster.delete("/api/v1/namespaces/ns/secrets/s", {"uid": "u"}),
            ("DELETE", "/api/v1/namespaces/ns/secrets/s", JSON, {**OPTIONS, "preconditions": {"uid": "u"}}),
            ("delete", "secrets"),
            id="this very object is deleted, and none of its name that was made since",
        ),
        pytest.param(
            lambda cluster: cluster.delete_by_uid(TEST, METADATA),
            ("DELETE", OURS, JSON, {**OPTIONS, "preconditions": {"uid": "the-uid"}}),
            ("delete", "sshloadtests"),
            id="a test is deleted by its uid",
        ),
        pytest.param(
            lambda cluster: cluster.write_status(TEST, BODY, {"phase": "Running"}),
            (
                "PATCH",
                f"{OURS}/status?{OPERATOR}&force=true",
                APPLY,
                {
                    "apiVersion": "sshload.dev/v1alpha1",
                    "kind": "SSHLoadTest",
                    "metadata": IDENTITY,
                    "status": {"phase": "Running"},
                },
            ),
            ("patch", "sshloadtests/status"),
            id="a status is written for this very object",
        ),
        pytest.param(
            lambda cluster: cluster.set_spec(TEST, METADATA, {"abort": True}),
            (
                "PATCH",
                f"{OURS}?{OPERATOR}&force=true",
                APPLY,
                {
                    "apiVersion": "sshload.dev/v1alpha1",
                    "kind": "SSHLoadTest",
                    "metadata": IDENTITY,
                    "spec": {"abort": True},
                },
            ),
            ("patch", "sshloadtests"),
            id="a field of a spec is set for this very object",
        ),
        pytest.param(
            lambda cluster: cluster.annotate(TEST, METADATA, {"k": "v"}),
            ("PATCH", f"{OURS}?{OPERATOR}", MERGE, {"metadata": {"uid": "the-uid", "annotations": {"k": "v"}}}),
            ("patch", "sshloadtests"),
            id="this very object is annotated",
        ),
        pytest.param(
            lambda cluster: cluster.write_lease(LEASE),
            ("PUT", f"/apis/coordination.k8s.io/v1/namespaces/ns/leases/l?{OPERATOR}", JSON, LEASE),
            ("update", "leases"),
            id="a Lease is replaced as a whole",
        ),
        pytest.param(
            lambda cluster: cluster.apply_for_person(TEST, "ns", {"metadata": {"name": "a"}}, force=True),
            ("PATCH", f"{OURS}?{PERSON}&force=true&fieldValidation=Strict", APPLY, {"metadata": {"name": "a"}}),
            ("patch", "sshloadtests"),
            id="a person's object is applied in the person's name, and taken over if that is asked for",
        ),
        pytest.param(
            lambda cluster: cluster.apply_for_person(TEST, "ns", {"metadata": {"name": "a"}}, force=False),
            ("PATCH", f"{OURS}?{PERSON}&force=false&fieldValidation=Strict", APPLY, {"metadata": {"name": "a"}}),
            ("patch", "sshloadtests"),
            id="a person's object is not taken over unasked",
        ),
        pytest.param(
            lambda cluster: cluster.change_for_person(TEST, "ns", "a", {"spec": {"abort": True}}),
            ("PATCH", f"{OURS}?{PERSON}&fieldValidation=Strict", MERGE, {"spec": {"abort": True}}),
            ("patch", "sshloadtests"),
            id="a person's change is merged",
        ),
        pytest.param(
            lambda cluster: cluster.read_log("ns", "p", "master", 3),
            (
                "GET",
                "/api/v1/namespaces/ns/pods/p/log?container=master&tailLines=3&limitBytes=49152",
                JSON,
                None,
            ),
            ("get", "pods/log"),
            id="of a log the end is read, in pieces of 16 KiB",
        ),
    ],
)
def test_a_request_says(ask: Ask, asked: tuple[str, str, str, Any], counted: tuple[str, str]) -> None:
    server = Server([(200, BODY)])
    server.play(ask)
    assert (server.asked, server.counted) == ([asked], [counted])


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        (lambda cluster: cluster.read(TEST, "ns", "a"), OURS),
        (lambda cluster: cluster.read_deployment("ns", "d"), "/apis/apps/v1/namespaces/ns/deployments/d"),
        (lambda cluster: cluster.read_config_map("ns", "c"), "/api/v1/namespaces/ns/configmaps/c"),
        (lambda cluster: cluster.read_job("ns", "j"), "/apis/batch/v1/namespaces/ns/jobs/j"),
        (lambda cluster: cluster.read_lease("ns", "l"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"),
    ],
    ids=["ours", "Deployment", "ConfigMap", "Job", "Lease"],
)
def test_what_is_read_is_the_object_or_none_and_any_other_answer_is_an_error(ask: Ask, path: str) -> None:
    server = Server([(200, BODY), said(404), said(403)])
    assert server.play(ask)["metadata"]["uid"] == "the-uid"
    assert server.play(ask) is None
    with pytest.raises(ApiError, match="said 403") as refused:
        server.play(ask)
    assert refused.value.status == 403
    assert [one[:2] for one in server.asked] == [("GET", path)] * 3


@pytest.mark.parametrize(
    ("ask", "path", "selected"),
    [
        (lambda cluster: cluster.list_pods("ns", "a=b"), "/api/v1/namespaces/ns/pods", "labelSelector"),
        (lambda cluster: cluster.list_jobs("ns", "a=b"), "/apis/batch/v1/namespaces/ns/jobs", "labelSelector"),
        (
            lambda cluster: cluster.list_ours(TEST, "", "a=b", dict),
            "/apis/sshload.dev/v1alpha1/sshloadtests",
            "labelSelector",
        ),
    ],
    ids=["pods", "Jobs", "tests of all namespaces"],
)
def test_a_list_is_read_page_by_page_with_its_selector_in_each(ask: Ask, path: str, selected: str) -> None:
    pages = [
        {"metadata": {"continue": more}, "items": [{"metadata": {"name": name}} for name in names]}
        for more, names in (("c1", "ab"), ("c2", "c"), ("", ""))
    ]
    server = Server([(200, page) for page in pages])
    assert [one["metadata"]["name"] for one in server.play(ask)] == ["a", "b", "c"]
    query = f"{path}?{selected}=a%3Db&limit=5"
    assert [one[1] for one in server.asked] == [query, f"{query}&continue=c1", f"{query}&continue=c2"]


def test_of_the_name_of_an_events_object_as_much_is_kept_as_a_name_may_have() -> None:
    items = [{"involvedObject": {"name": "n" * 5_000}, "message": "m"}]
    server = Server([(200, {"metadata": {}, "items": items})])
    assert server.play(lambda cluster: cluster.list_events("ns", "")) == [("n" * 253, "m")]


def test_events_are_found_by_their_fields() -> None:
    server = Server([(200, {"metadata": {}, "items": []})])
    assert server.play(lambda cluster: cluster.list_events("ns", "reason=FailedCreate")) == []
    assert server.asked[0][1] == "/api/v1/namespaces/ns/events?fieldSelector=reason%3DFailedCreate&limit=5"


@pytest.mark.parametrize(
    "ask",
    [
        lambda cluster: cluster.write_status(TEST, BODY, {}),
        lambda cluster: cluster.set_spec(TEST, METADATA, {}),
        lambda cluster: cluster.change_for_person(TEST, "ns", "a", {}),
    ],
    ids=["status", "spec", "by a person"],
)
def test_an_object_that_is_gone_is_not_written_and_one_that_is_there_is_returned(ask: Ask) -> None:
    assert Server([said(404)]).play(ask) is None
    assert Server([(200, BODY)]).play(ask)["metadata"]["uid"] == "the-uid"
    with pytest.raises(ApiError, match="said 500"):
        Server([said(500)]).play(ask)


def test_an_annotation_is_set_or_its_object_is_gone_or_made_anew_or_it_is_an_error() -> None:
    def annotated(*answers: tuple[int, Any]) -> Any:
        return Server([*answers]).play(lambda cluster: cluster.annotate(TEST, METADATA, {"k": "v"}))

    anew = {"metadata": {**METADATA, "uid": "another"}}
    assert annotated((200, BODY)) is True
    assert annotated(said(404)) is False
    assert annotated(said(409), said(404)) is False
    assert annotated(said(409), (200, anew)) is False
    with pytest.raises(ApiError, match="said 409"):
        annotated(said(409), (200, BODY))
    with pytest.raises(ApiError, match="said 403"):
        annotated(said(403))


def test_a_deletion_is_made_or_was_not_needed_or_is_an_error() -> None:
    def deleted(*answers: tuple[int, Any], **conditions: str) -> Any:
        return Server([*answers]).play(lambda cluster: cluster.delete("/api/v1/namespaces/ns/pods/p", conditions))

    assert deleted((200, {})) is True
    assert deleted(said(404)) is False
    assert deleted(said(409), uid="u") is False
    for refusal in (said(409), said(500)):
        with pytest.raises(ApiError):
            deleted(refusal)
    with pytest.raises(ApiError):
        deleted(said(500), uid="u")


@pytest.mark.parametrize("code", [403, 500])
def test_a_test_that_cannot_be_deleted_is_an_error(code: int) -> None:
    def deleted(*answers: tuple[int, Any]) -> None:
        Server([*answers]).play(lambda cluster: cluster.delete_by_uid(TEST, METADATA))

    deleted((200, {}))
    deleted(said(404))
    with pytest.raises(ApiError, match=f"said {code}"):
        deleted(said(code))


def test_an_object_that_was_created_is_returned_with_its_uid() -> None:
    assert Server([(201, BODY)]).play(lambda one: one.create_new("/api/v1/namespaces/ns/pods/p", {})) == BODY
    assert Server([(201, BODY)]).play(lambda one: one.create("/api/v1/namespaces/ns/pods/p", {})) is True


@pytest.mark.parametrize(
    ("answer", "log"),
    [((200, b"a\xff\n"), "a�\n"), (said(404), None), (said(400), None)],
    ids=["garbled", "no pod", "no container yet"],
)
def test_a_log_is_text_or_none_yet(answer: tuple[int, Any], log: str | None) -> None:
    assert Server([answer]).play(lambda cluster: cluster.read_log("ns", "p", "master", 1)) == log


def test_a_log_that_may_not_be_read_is_an_error() -> None:
    with pytest.raises(ApiError, match="said 403"):
        Server([said(403)]).play(lambda cluster: cluster.read_log("ns", "p", "master", 1))


def test_the_kinds_that_are_served_are_told_and_none_where_no_crd_is_installed() -> None:
    served = {"resources": [{"name": "sshloadtests"}, {"name": "sshloadtests/status"}]}
    server = Server([(200, served), said(404)])
    assert server.play(lambda cluster: cluster.served_kinds()) == {"sshloadtests", "sshloadtests/status"}
    assert server.play(lambda cluster: cluster.served_kinds()) == frozenset()
    assert {one[1] for one in server.asked} == {"/apis/sshload.dev/v1alpha1"}


USER = {"username": "u", "uid": "1", "groups": ["g"], "extra": {"e": ["x"]}}


@pytest.mark.parametrize(
    ("status", "user"),
    [({"authenticated": True, "user": USER}, USER), ({"authenticated": False, "user": USER}, None), (None, None)],
    ids=["known", "not known", "no answer to the question"],
)
def test_a_token_is_that_of_a_user_only_if_the_api_server_says_so(status: Any, user: Any) -> None:
    server = Server([(201, {"status": status})])
    assert server.play(lambda cluster: cluster.user_of("secret")) == user
    method, path, content, body = server.asked[0]
    assert (method, path, content) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", JSON)
    assert body == {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "secret"}}


@pytest.mark.parametrize(
    ("status", "may"),
    [({"allowed": True}, True), ({"allowed": False}, False), ({"allowed": "yes"}, False), (None, False)],
)
def test_a_user_may_what_the_api_server_allows_and_nothing_else(status: Any, may: bool) -> None:  # noqa: FBT001
    server = Server([(201, {"status": status})])
    assert server.play(lambda cluster: cluster.may(USER, "get", "/metrics")) is may
    _, path, _, body = server.asked[0]
    assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert body["kind"] == "SubjectAccessReview"
    asked = {"user": "u", "uid": "1", "groups": ["g"], "extra": {"e": ["x"]}}
    assert body["spec"] == {**asked, "nonResourceAttributes": {"verb": "get", "path": "/metrics"}}


def test_a_user_without_uid_groups_and_more_is_asked_about_all_the_same() -> None:
    server = Server([(201, {"status": {"allowed": True}})])
    assert server.play(lambda cluster: cluster.may({"username": "u"}, "get", "/metrics")) is True
    spec = server.asked[0][3]["spec"]
    assert {key: spec[key] for key in ("user", "uid", "groups", "extra")} == {
        "user": "u",
        "uid": "",
        "groups": [],
        "extra": {},
    }


@pytest.mark.parametrize(
    ("content", "words", "reason"),
    [
        (b'{"message": "why", "reason": "Forbidden"}', "why", "Forbidden"),
        (b"<html>" + b"x" * 500, "<html>" + "x" * 194, ""),
        (b'["a list"]', "", ""),
        (b"\xffgarbled", "\ufffdgarbled", ""),
    ],
    ids=["status", "of a proxy", "no object", "no text"],
)
def test_an_error_says_what_was_asked_and_the_beginning_of_what_was_answered(
    content: bytes, words: str, reason: str
) -> None:
    with pytest.raises(ApiError) as refused:
        Server([(403, content)]).play(lambda cluster: cluster.read(TEST, "ns", "a"))
    assert str(refused.value) == f"403: GET {OURS}: {words}"
    assert (refused.value.status, refused.value.reason) == (403, reason)


def test_a_lease_that_was_written_is_returned_with_its_version() -> None:
    assert Server([(200, BODY)]).play(lambda cluster: cluster.write_lease(LEASE)) == BODY


def test_paths_have_no_word_of_a_name_that_is_none() -> None:
    assert collection_path("v1", "a/b", "pods") == "/api/v1/namespaces/a%2Fb/pods"
    assert collection_path("batch/v1", "", "jobs") == "/apis/batch/v1/jobs"
    assert object_path(TEST, "ns", "../x") == "/apis/sshload.dev/v1alpha1/namespaces/ns/sshloadtests/..%2Fx"
    assert lease_path("ns", "l") == "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
