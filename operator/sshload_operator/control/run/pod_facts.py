"""What matters of a pod, read from its body as the API server or a watch delivers it.

The pod's container is the one named after its role. Others were injected, by a service mesh or a secrets injector. They
may keep the pod from starting, which is reported, but how they end says nothing about the run.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from sshload_contract.shortened import shortened

from sshload_operator.manifests.labels import membership_of_pod
from sshload_operator.manifests.system_target import PROOF_CONTAINER
from sshload_operator.state import DEPLOYED, WAITS_TO_BE_MADE, Amount, PodFacts, Role

_MOST_AMOUNTS: Final = 32
_DISRUPTION_LIMIT_CHARACTERS = 300
_ORDINARY_ENDS = ("Completed", "Error", "")
_RUNNING = "Running"
_NOT_SCHEDULED = ("Unschedulable", "SchedulingGated")


def pod_facts(pod: Mapping[str, Any]) -> PodFacts | None:
    """Return the facts of a pod; None where its labels and its controller are not those of a run's pod."""
    membership = membership_of_pod(pod["metadata"])
    if membership is None:
        return None
    status = pod.get("status", {})
    own = _own_container(status, membership.role)
    injected, waiting = _waiting(status, own)
    exit_code, last_words = _end(status, own)
    return PodFacts(
        name=pod["metadata"]["name"],
        role=membership.role,
        run_id=membership.run_id,
        controller_uid=membership.controller_uid,
        phase=_phase(status, own, membership.role),
        ready=_condition(status, "Ready").get("status") == "True",
        deleting="deletionTimestamp" in pod["metadata"],
        restarts=own.get("restartCount", 0),
        waiting_reason=waiting.get("reason", ""),
        waiting_message=f"{injected}{waiting.get('message', '')}",
        blocked_message=_blocked_message(status),
        exit_code=exit_code,
        termination_message=last_words,
        disruption=_disruption(status),
        run=membership.run,
        resources=_resources(own),
    )


def _own_container(status: Mapping[str, Any], role: Role) -> Mapping[str, Any]:
    """Return the status of the container that the operator asked for, empty where there is none yet."""
    return next((found for found in status.get("containerStatuses") or () if found.get("name") == role), {})


def _resources(own: Mapping[str, Any]) -> tuple[Amount, ...]:
    """Return what the container has in fact, with what a LimitRange gave it. The pods of a role share one copy."""
    told = own.get("resources") or {}
    amounts = (Amount(of, *item) for of in ("requests", "limits") for item in sorted((told.get(of) or {}).items()))
    return _shared(tuple(islice(amounts, _MOST_AMOUNTS)))


@lru_cache(maxsize=256)
def _shared(amounts: tuple[Amount, ...]) -> tuple[Amount, ...]:
    return amounts


def _phase(status: Mapping[str, Any], own: Mapping[str, Any], role: Role) -> str:
    """Return the pod's phase. A load pod whose own container has ended is over, even while an injected one runs on."""
    phase = str(status.get("phase", ""))
    ended = own.get("state", {}).get("terminated")
    if phase != _RUNNING or not ended or role in DEPLOYED:
        return phase
    return "Succeeded" if ended["exitCode"] == 0 else "Failed"


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((condition for condition in status.get("conditions") or () if condition["type"] == kind), {})


def _waiting(status: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return which injected container waits (empty: the pod's own) and its `waiting`, empty where none waits.

    The pod's own container says nothing while it waits for an injected init container.
    """
    waiting = own.get("state", {}).get("waiting") or {}
    if waiting and waiting.get("reason") not in WAITS_TO_BE_MADE:
        return "", waiting
    for container in _injected(status, own):
        found = container.get("state", {}).get("waiting") or {}
        if found and found.get("reason") not in WAITS_TO_BE_MADE:
            return f"injected container {container.get('name', '')}: ", found
    return "", waiting


def _injected(status: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from (container for container in status.get(kind) or () if container is not own)


def _blocked_message(status: Mapping[str, Any]) -> str:
    scheduled = _condition(status, "PodScheduled")
    return str(scheduled.get("message", "")) if scheduled.get("reason") in _NOT_SCHEDULED else ""


def _disruption(status: Mapping[str, Any]) -> str:
    target = _condition(status, "DisruptionTarget")
    said = (target.get("reason", ""), target.get("message", "")) if target.get("status") == "True" else ()
    return shortened(": ".join(filter(None, said)), _DISRUPTION_LIMIT_CHARACTERS)


def _failed_proof(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield how the proof of a user namespace ended, if it failed: the pod's own container never starts then."""
    for container in status.get("initContainerStatuses") or ():
        states = (container.get("state", {}), container.get("lastState", {}))
        if container.get("name") == PROOF_CONTAINER:
            yield from (state for state in states if (state.get("terminated") or {}).get("exitCode"))


def _end(status: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return the container's exit code and messages, those of its last end if it was restarted.

    The kubelet's reason comes first: Evicted for the pod, OOMKilled for the container. The container's own message
    follows; it may be the end of its log, which does not state that reason.
    """
    words = ": ".join(filter(None, (status.get("reason", ""), status.get("message", ""))))
    for state in (own.get("state", {}), own.get("lastState", {}), *_failed_proof(status)):
        if state.get("terminated"):
            end = state["terminated"]
            reason = end.get("reason", "")
            own_words = ("" if reason in _ORDINARY_ENDS else reason, end.get("message", ""))
            return end["exitCode"], ": ".join(filter(None, (words, *own_words)))
    return None, words
