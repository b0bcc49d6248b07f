"""Whether two tests measured the same: the same server, asked for the same, by the same load.

How a managed server is set up may differ, because what a change of that does is what a baseline is for.
"""

from collections.abc import Callable
from dataclasses import replace

from sshload_contract.capacity import load_at
from sshload_contract.codec import to_json
from sshload_contract.load import ArrivalsLoad, BurstLoad, HoldLoad, Load, UsersLoad

from sshload_operator.api.spec import ExternalTarget, LoadTestSpec

_SHOWN_CHARACTERS = 80


def difference(ours: LoadTestSpec, baseline: LoadTestSpec) -> str:
    """Return the first field in which the two differ so that their figures cannot be compared, with both values.

    Empty where there is none.
    """
    for field, read in _FIELDS:
        here, there = read(ours), read(baseline)
        if here != there:
            values = f" is {here} here and {there} in the baseline"
            return f"{field}{values if len(values) <= _SHOWN_CHARACTERS else ' is another one in the baseline'}"
    return ""


def _target(spec: LoadTestSpec) -> str:
    return _server(spec.target) if isinstance(spec.target, ExternalTarget) else "managed"


def _via(spec: LoadTestSpec) -> str:
    return ", ".join(map(_server, spec.via)) or "no jump host"


def _server(server: ExternalTarget) -> str:
    return f"{server.host} port {server.port}"


def _load(spec: LoadTestSpec) -> str:
    """Return what the load is at each moment. How long it lasts, where it stays the same, tells only of the noise."""
    load = spec.load if spec.capacity is None else load_at(spec.load, 1)
    return f"{load.kind} {to_json(_at_each_moment(load))}"


def _at_each_moment(load: Load) -> Load:
    match load:
        case ArrivalsLoad(stages=stages):
            if len(stages) == 1:
                load = replace(load, stages=(replace(stages[0], duration_s=1),))
            return replace(load, seed=0, max_in_flight=0)
        case UsersLoad(stages=stages):
            return replace(load, stages=(replace(stages[0], duration_s=1),)) if len(stages) == 1 else load
        case BurstLoad():
            return replace(load, repeat=1)
        case HoldLoad():
            return replace(load, duration_s=1)


def _promises(spec: LoadTestSpec) -> str:
    """Return what each trial of a search has to keep, which is part of what its capacity means."""
    return "" if spec.capacity is None else " ".join(sorted(map(to_json, spec.thresholds)))


_FIELDS: tuple[tuple[str, Callable[[LoadTestSpec], object]], ...] = (
    ("spec.target", _target),
    ("spec.via", _via),
    ("spec.load", lambda spec: "with capacity" if spec.capacity is not None else "without capacity"),
    ("spec.load", _load),
    ("spec.thresholds", _promises),
    ("spec.client.auth", lambda spec: str(spec.auth)),
    ("spec.client.library", lambda spec: str(spec.client.library)),
    ("spec.client", lambda spec: to_json(spec.client)),
    ("spec.scenario.locustfile", lambda spec: spec.locustfile),
    ("spec.scenario", lambda spec: to_json(spec.scenario)),
    ("spec.workers.replicas", lambda spec: spec.workers.replicas),
    ("spec.workers.processesPerPod", lambda spec: spec.workers.processes_per_pod),
)
