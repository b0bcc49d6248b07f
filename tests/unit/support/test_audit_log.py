"""How the requests of operators are read out of an API server's audit log."""

import json
from pathlib import Path
from typing import Any

from audit_log import Right, asked, denials, table, unused

PATCH, CREATE = Right("batch", "jobs", "patch"), Right("batch", "jobs", "create")


def event(verb: str, code: int = 200, decision: str = "allow", at: str = "2026-11-22T18:00:01Z", **more: Any) -> str:
    """Return a line of the log about a Job."""
    found = {
        "verb": verb,
        "user": {"username": "system:serviceaccount:somewhere:sshload"},
        "requestURI": "/apis/batch/v1",
        "stageTimestamp": at,
        "objectRef": {"apiGroup": "batch", "resource": "jobs", "namespace": "team-a", "name": "a-job"},
        "responseStatus": {"code": code},
        "annotations": {"authorization.k8s.io/decision": decision},
        **more,
    }
    return json.dumps(found) + "\n"


def log(folder: Path, *lines: str) -> Path:
    path = folder / "audit.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_a_patch_uses_the_right_to_patch_and_that_to_create_where_it_made_the_object(tmp_path: Path) -> None:
    assert [one.right for one in asked(log(tmp_path, event("patch")))] == [PATCH]
    assert {one.right for one in asked(log(tmp_path, event("patch", 201)))} == {PATCH, CREATE}


def test_a_subresource_is_a_resource_of_its_own(tmp_path: Path) -> None:
    about = {"resource": "pods", "subresource": "log", "namespace": "team-a"}
    (found,) = asked(log(tmp_path, event("get", objectRef=about)))
    assert str(found.right) == "get pods/log"


def test_others_requests_older_ones_and_a_line_that_is_not_whole_do_not_count(tmp_path: Path) -> None:
    lines = (
        event("patch", user={"username": "system:serviceaccount:somewhere:default"}),
        event("patch", at="2026-11-22T17:59:59Z"),
        event("patch")[:-20],
    )
    assert list(asked(log(tmp_path, *lines), since="2026-11-22T18:00:00Z")) == []


def test_what_was_denied_uses_no_right(tmp_path: Path) -> None:
    refused = {"code": 403, "message": 'jobs.batch is forbidden: User "x" cannot create resource "jobs"'}
    path = log(tmp_path, event("get", 403, "forbid"), event("patch", 403, responseStatus=refused))
    requests = list(asked(path))
    assert [one.right.verb for one in denials(requests)] == ["get", "create"]
    rights = [PATCH, CREATE, Right("batch", "jobs", "get")]
    assert unused(rights, requests) == [CREATE, Right("batch", "jobs", "get")]
    assert [int(line.split()[0]) for line in table(rights, requests).splitlines()] == [0, 0, 1]


def test_what_admission_refuses_was_allowed_by_the_authorizer(tmp_path: Path) -> None:
    quota = {"code": 403, "message": "exceeded quota: no-jobs"}
    assert denials(asked(log(tmp_path, event("create", responseStatus=quota)))) == []
