"""Whether two tests measured the same: the same server, asked for the same, by the same load.

How a spec sets a managed server up may differ, because what a change of that does is what a baseline is for. What the
installation gave the pods may not: nobody changed that to see what it does to the server.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from sshload_contract.codec import to_plain
from sshload_contract.load import ArrivalsLoad, BurstLoad, HoldLoad, ThinkTime, UsersLoad

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.target import ExternalTarget


def difference(ours: LoadTestSpec, baseline: LoadTestSpec) -> str:
    """Return the first field in which the two differ so that their figures cannot be compared, in words.

    Empty where there is none.
    """
    for field, read in _FIELDS:
        here, there = read(ours), read(baseline)
        if here != there:
            shown = isinstance(here, str | int) and isinstance(there, str | int)
            return f"{field} is {here} here and {there} there" if shown else f"{field} is another one there"
    return ""


def installed_difference(ours: Mapping[str, Any] | None, theirs: object) -> str:
    """Return how the resources differ that the installation gave the pods of two runs, in words; empty where not.

    Held against each other are the roles whose resources both specs leave to the installation. `theirs` is as a status
    has it; one of an earlier release does not say it.
    """
    if ours is None or not isinstance(theirs, Mapping):
        return ""
    for role in sorted(ours.keys() & theirs.keys()):
        if ours[role] != theirs[role]:
            here, there = (json.dumps(one[role], sort_keys=True) for one in (ours, theirs))
            return f"the installation's resources of {role} pods are {here} here and {there} there"
    return ""


def question_hash(spec: LoadTestSpec) -> str:
    """Return a hash of all that `difference` compares: the same for two specs between which there is none."""
    canonical = json.dumps([to_plain(read(spec)) for _, read in _FIELDS], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _target(spec: LoadTestSpec) -> str:
    return _server(spec.target) if isinstance(spec.target, ExternalTarget) else "managed"


def _via(spec: LoadTestSpec) -> str:
    return ", ".join(map(_server, spec.via)) or "no jump host"


def _server(server: ExternalTarget) -> str:
    return f"{server.user}@{server.host} port {server.port}"


def _load(spec: LoadTestSpec) -> object:
    """Return what the load is at each moment. How long it lasts, where it stays the same, tells only of the noise."""
    load = spec.load if spec.capacity is None else spec.load.at(1)
    match load:
        case ArrivalsLoad(stages=(stage,), process=process):
            return f"{stage.rate:g} arrivals/s, {process}"
        case ArrivalsLoad(stages=stages, process=process):
            return stages, process
        case UsersLoad(stages=(stage,), think_time=ThinkTime(least_s, most_s)):
            return f"{stage.users} users, {least_s:g} to {most_s:g} s of thought"
        case UsersLoad():
            return load
        case BurstLoad(connections=connections, interval_s=interval_s):
            return f"{connections} connections each {interval_s:g} s"
        case HoldLoad(sessions=sessions, ramp_up_s=ramp_up_s, keep_alive_s=keep_alive_s, probe_rate=probe_rate):
            ramp = f"{sessions} sessions within {ramp_up_s:g} s"
            return f"{ramp}, kept alive each {keep_alive_s:g} s, {probe_rate:g} probes/s"


def _capacity(spec: LoadTestSpec) -> str:
    return "a fixed load" if spec.capacity is None else "a search"


def _promises(spec: LoadTestSpec) -> object:
    """Return what each trial of a search has to keep, which is part of what its capacity means."""
    return () if spec.capacity is None else tuple(sorted(set(spec.thresholds), key=repr))


_FIELDS: tuple[tuple[str, Callable[[LoadTestSpec], object]], ...] = (
    ("spec.target", _target),
    ("spec.via", _via),
    ("spec.load", _capacity),
    ("spec.load", _load),
    ("spec.thresholds", _promises),
    ("spec.client.auth", lambda spec: str(spec.auth)),
    ("spec.client.library", lambda spec: str(spec.client.library)),
    ("spec.client", lambda spec: spec.client),
    ("spec.scenario.locustfile", lambda spec: spec.locustfile),
    ("spec.scenario", lambda spec: spec.scenario),
    ("spec.workers.replicas", lambda spec: spec.workers.replicas),
    ("spec.workers.processesPerPod", lambda spec: spec.workers.processes_per_pod or "the pod's CPUs"),
)
