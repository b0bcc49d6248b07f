"""What matters of a pod, read from its body as the API server or a watch delivers it."""

from collections.abc import Iterator, Mapping
from typing import Any

from sshload_operator.manifests.labels import membership_of_pod
from sshload_operator.state import PodFacts

_ORDINARY_ENDS = ("Completed", "Error", "")


def pod_facts(pod: Mapping[str, Any]) -> PodFacts | None:
    """Return the facts of a pod; None where its labels and its controller are not those of a run's pod."""
    membership = membership_of_pod(pod["metadata"])
    if membership is None:
        return None
    status = pod.get("status", {})
    waiting = _waiting(status)
    exit_code, last_words = _end(status)
    return PodFacts(
        name=pod["metadata"]["name"],
        role=membership.role,
        run_id=membership.run_id,
        controller_uid=membership.controller_uid,
        phase=status.get("phase", ""),
        ready=_condition(status, "Ready").get("status") == "True",
        deleting="deletionTimestamp" in pod["metadata"],
        restarts=sum(container.get("restartCount", 0) for container in _containers(status)),
        waiting_reason=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        blocked_message=_blocked_message(status),
        exit_code=exit_code,
        termination_message=last_words,
    )


def _containers(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from status.get("initContainerStatuses") or ()
    yield from status.get("containerStatuses") or ()


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((condition for condition in status.get("conditions") or () if condition["type"] == kind), {})


def _waiting(status: Mapping[str, Any]) -> Mapping[str, Any]:
    states = (container.get("state", {}) for container in _containers(status))
    return next((state["waiting"] for state in states if state.get("waiting")), {})


def _blocked_message(status: Mapping[str, Any]) -> str:
    scheduled = _condition(status, "PodScheduled")
    return str(scheduled.get("message", "")) if scheduled.get("reason") == "Unschedulable" else ""


def _end(status: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return how the container ended, or ended the last time where it was started anew, and what it left behind.

    What the kubelet says stands in for the container's own words: OOMKilled of the container, Evicted of the pod.
    """
    words = ": ".join(filter(None, (status.get("reason", ""), status.get("message", ""))))
    for container in _containers(status):
        for state in (container.get("state", {}), container.get("lastState", {})):
            if state.get("terminated"):
                end = state["terminated"]
                reason = end.get("reason", "")
                own_words = end.get("message", "") or ("" if reason in _ORDINARY_ENDS else reason)
                return end["exitCode"], own_words or words
    return None, words
