"""What the operators of a cluster asked its API server, out of the audit log, held against the rights the chart grants.

As a program it prints the table of rights for a log: `.venv/bin/python tests/support/kubernetes/audit_log.py LOG`.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import helm

OPERATORS_ACCOUNT = f":{helm.RELEASE}"
"""How the name of the account of every release's operator ends."""

_NOT_OF_OPERATORS = ("-view", "-edit")


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """A verb on a resource of an API group; a subresource stands after a slash."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' if self.group else ''}{self.group}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of an operator, as the API server's audit log has it. `at` is its time, in RFC 3339."""

    right: Right
    namespace: str
    name: str
    at: str
    is_allowed: bool


def granted() -> frozenset[Right]:
    """Return the rights that the chart's roles give to the operator, installed for all namespaces or for some."""
    found = (*helm.objects(), *helm.objects("--set", "namespaced=true"))
    roles = [one for one in found if one["kind"] in ("Role", "ClusterRole")]
    operators = [role for role in roles if not role["metadata"]["name"].endswith(_NOT_OF_OPERATORS)]
    return frozenset(
        Right(group, resource, verb)
        for role in operators
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


def asked(log: Path, since: str = "") -> Iterator[Asked]:
    """Yield what operators have asked since then; the last line may still be on its way."""
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                event = json.loads(line)
                if event["user"]["username"].endswith(OPERATORS_ACCOUNT) and event["stageTimestamp"] >= since:
                    yield from _read(event)


def unused(rights: Iterable[Right], requests: Iterable[Asked]) -> list[Right]:
    """Return the rights that no request has made use of."""
    return sorted(set(rights) - {request.right for request in requests if request.is_allowed})


def table(rights: Iterable[Right], requests: Sequence[Asked]) -> str:
    """Return a line for each right: how often it was used, and in how many namespaces."""
    count = Counter(request.right for request in requests if request.is_allowed)
    where = {right: {request.namespace for request in requests if request.right == right} for right in count}
    return "\n".join(
        f"{count[right]:7} in {len(where.get(right, ())):3} namespaces  {right}" for right in sorted(rights)
    )


def denials(requests: Iterable[Asked]) -> list[Asked]:
    """Return what the API server's authorizer denied."""
    return [request for request in requests if not request.is_allowed]


def _read(event: dict[str, object]) -> Iterator[Asked]:
    """Yield what an event is about. A patch or an update that made its object has used the right to create it too."""
    about, answer, notes = (event.get(part) or {} for part in ("objectRef", "responseStatus", "annotations"))
    assert isinstance(about, dict)
    assert isinstance(answer, dict)
    assert isinstance(notes, dict)
    resource, subresource = about.get("resource", str(event["requestURI"])), about.get("subresource")
    code, message = answer.get("code", 0), str(answer.get("message", ""))
    # The right to create by a patch or an update is asked for later, which the decision does not tell.
    may_not_create = code == HTTPStatus.FORBIDDEN and " cannot create resource " in message
    verbs = {str(event["verb"])} | ({"create"} if code == HTTPStatus.CREATED or may_not_create else set())
    for verb in sorted(verbs):
        yield Asked(
            Right(about.get("apiGroup", ""), f"{resource}/{subresource}" if subresource else resource, verb),
            about.get("namespace", ""),
            about.get("name", ""),
            str(event["stageTimestamp"]),
            notes.get("authorization.k8s.io/decision") == "allow" and not (verb == "create" and may_not_create),
        )


if __name__ == "__main__":
    seen = list(asked(Path(sys.argv[1])))
    rights = granted()
    sys.stdout.write(table(rights, seen) + "\n")
    sys.stdout.writelines(f"unused: {right}\n" for right in unused(rights, seen))
    sys.stdout.writelines(f"denied: {one.at} {one.right} {one.namespace}/{one.name}\n" for one in denials(seen))
