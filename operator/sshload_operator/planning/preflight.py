"""What can be refused before anything is made: what the installer did not allow, and loads that cannot be.

Whatever passes may still fail for reasons that only a run shows; what is refused here would surely be Invalid.
"""

from collections.abc import Iterator
from math import ceil

from sshload_contract.allow_list import host_refusal
from sshload_contract.client import Library
from sshload_contract.load import ArrivalsLoad, HoldLoad, UsersLoad
from sshload_contract.reporting import MOST_WORKERS
from sshload_contract.run_config import SessionReuse
from sshload_contract.steps import OPENSSH_FILE_LIMIT_BYTES, ForwardStep, ScpWriteStep, SftpWriteStep

from sshload_operator.api.spec import LoadTestSpec, Workers
from sshload_operator.api.target import ManagedTarget
from sshload_operator.planning.connections import most_begun_within
from sshload_operator.planning.destinations import destinations
from sshload_operator.planning.impossible_search import impossible_search
from sshload_operator.planning.limits import beyond_limits
from sshload_operator.planning.plan import Permitted, Plan
from sshload_operator.planning.search import most_load
from sshload_operator.state import Reason

# Linux's default ip_local_port_range, 32768 to 60999, and how long a closed connection keeps its port (TIME_WAIT).
SOURCE_PORTS = 28_232
TIME_WAIT_S = 60.0
_CLUSTER_PRIORITIES = "system-"

Refusal = tuple[Reason, str]


def preflight(plan: Plan) -> Refusal | None:
    """Return why the run must not be started, with what to change; None where nothing speaks against it."""
    return (
        _not_permitted(plan)
        or _target_not_allowed(plan)
        or _beyond_limits(plan)
        or _priority_of_the_cluster(plan)
        or _too_many_workers(plan)
        or _too_small_pool(plan)
        or _too_large_file(plan)
        or _too_few_source_ports(plan)
        or _too_few_in_flight(plan)
        or _impossible_search(plan)
    )


def _target_not_allowed(plan: Plan) -> Refusal | None:
    """Hold the text of the spec against the list. What names lead to, the workers check when they connect."""
    for destination in destinations(plan.spec):
        why = host_refusal(plan.installation.allow_list, destination.host, destination.port)
        if why:
            return Reason.TARGET_NOT_ALLOWED, (
                f"{destination.field}: {destination.host} port {destination.port} {why}; whoever installed sshload can"
                " allow it by the chart's value externalTargets"
            )
    return None


def _not_permitted(plan: Plan) -> Refusal | None:
    """Refuse what runs code of the author's own, or lets a server connect to others, where the installer forbids it."""
    for field, value in _forbidden(plan.spec, plan.installation.permitted):
        return Reason.NOT_PERMITTED, (
            f"{field}: this installation does not permit it; take it out, or ask whoever installed sshload, whose"
            f" chart has the value permitted.{value}"
        )
    return None


def _forbidden(spec: LoadTestSpec, permitted: Permitted) -> Iterator[tuple[str, str]]:
    """Yield each field that the installation forbids, and the value that does."""
    if not permitted.custom_images:
        if spec.workers.image:
            yield "spec.workers.image", "customImages"
        if isinstance(spec.target, ManagedTarget) and spec.target.image:
            yield "spec.target.managed.image", "customImages"
    if not permitted.locustfiles and spec.locustfile is not None:
        yield "spec.scenario.locustfile", "locustfiles"
    if not permitted.forward_steps:
        for index, step in enumerate(spec.scenario.steps):
            if isinstance(step, ForwardStep):
                yield f"spec.scenario.steps[{index}].forward", "forwardSteps"


def _beyond_limits(plan: Plan) -> Refusal | None:
    beyond = beyond_limits(plan.spec, plan.installation.limits)
    return (Reason.LIMIT_EXCEEDED, beyond) if beyond else None


def _priority_of_the_cluster(plan: Plan) -> Refusal | None:
    """Refuse Kubernetes' own priority classes, by which the pods of a test would displace those of the cluster."""
    target = plan.spec.target
    placements: dict[str, Workers | ManagedTarget] = {"spec.workers": plan.spec.workers}
    if isinstance(target, ManagedTarget):
        placements["spec.target.managed"] = target
    for field, placement in placements.items():
        if placement.priority_class_name.startswith(_CLUSTER_PRIORITIES):
            return Reason.LIMIT_EXCEEDED, (
                f"{field}.priorityClassName is {placement.priority_class_name}, for the cluster's own pods; name"
                " a class of your own"
            )
    return None


def _too_many_workers(plan: Plan) -> Refusal | None:
    """Refuse more workers than one master can take the reports of: its figures would come late, or not at all."""
    if plan.workers <= MOST_WORKERS:
        return None
    processes = plan.processes_per_pod
    return Reason.LOAD_IMPOSSIBLE, (
        f"there are {plan.workers} worker processes, {processes} in each of {plan.spec.workers.replicas} pods, and a"
        f" run's master can take the reports of {MOST_WORKERS}; set spec.workers.replicas to at most"
        f" {MOST_WORKERS // processes}, or spec.workers.processesPerPod to at most"
        f" {MOST_WORKERS // plan.spec.workers.replicas}, or split the load into several tests"
    )


def _too_small_pool(plan: Plan) -> Refusal | None:
    """Refuse a pool that leaves a worker without a session: it could begin nothing."""
    scenario = plan.spec.scenario
    if scenario.session_reuse is not SessionReuse.POOL or scenario.pool_sessions >= plan.workers:
        return None
    return Reason.LOAD_IMPOSSIBLE, (
        f"spec.scenario.poolSize is {scenario.pool_sessions}, and {_each_worker_needs(plan, 'a session')}; raise"
        f" poolSize to at least {plan.workers}, or set spec.workers.processesPerPod"
    )


def _too_large_file(plan: Plan) -> Refusal | None:
    """Refuse to write what OpenSSH's programs would fail at in each iteration."""
    if plan.spec.client.library is not Library.OPENSSH:
        return None
    for index, step in enumerate(plan.spec.scenario.steps):
        if isinstance(step, SftpWriteStep | ScpWriteStep) and step.size_bytes > OPENSSH_FILE_LIMIT_BYTES:
            return Reason.LOAD_IMPOSSIBLE, (
                f"spec.scenario.steps[{index}].{step.kind}.size is {step.size_bytes} bytes, and the library openssh"
                f" writes files of at most {OPENSSH_FILE_LIMIT_BYTES}, which lie on the worker's disk first; write"
                " less, or take another client.library"
            )
    return None


def _each_worker_needs(plan: Plan, share: str) -> str:
    return (
        f"there are {plan.workers} worker processes, each of which needs {share}: {plan.processes_per_pod} in each of"
        f" {plan.spec.workers.replicas} pods"
    )


def _too_few_source_ports(plan: Plan) -> Refusal | None:
    """Refuse what needs more source ports at once than the workers' addresses have."""
    addresses = 1 if plan.installation.one_address else plan.spec.workers.replicas
    held_s = TIME_WAIT_S + plan.spec.scenario.slept_s
    needed = _most_ports(plan, held_s)
    if needed <= addresses * SOURCE_PORTS:
        return None
    per_second = SOURCE_PORTS / TIME_WAIT_S
    less = "lower the load" if plan.spec.capacity is None else "lower its max"
    more = f"set spec.workers.replicas to at least {ceil(needed / SOURCE_PORTS)}, or {less}"
    whose = f"the addresses of {addresses} worker pods have {addresses * SOURCE_PORTS}: {SOURCE_PORTS} each, which"
    if plan.installation.one_address:
        more, whose = less, f"this machine's address has {SOURCE_PORTS}, which"
    what = "spec.load" if plan.spec.capacity is None else "the largest trial of spec.load.capacity"
    return Reason.LOAD_IMPOSSIBLE, (
        f"{what} needs {needed} source ports within {held_s:g} s, and {whose} a closed connection keeps for"
        f" {TIME_WAIT_S:g} s, so about {per_second:.0f} new connections per second and address; {more}"
    )


def _most_ports(plan: Plan, held_s: float) -> int:
    """Return how many source ports the run needs at once, if nothing fails. A session that is kept has one for long."""
    load, scenario = most_load(plan.spec), plan.spec.scenario
    held = load.sessions if isinstance(load, HoldLoad) else 0
    if scenario.session_reuse is SessionReuse.POOL:
        return held + scenario.pool_sessions
    if isinstance(load, UsersLoad):
        return max(stage.users for stage in load.stages)
    if isinstance(load, HoldLoad):
        return held + ceil(load.probe_rate * held_s)
    return most_begun_within(load, plan.spec.warm_up_s, held_s)


def _too_few_in_flight(plan: Plan) -> Refusal | None:
    """Refuse arrivals whose sleep steps alone keep more iterations open than may be in flight.

    Of these, each worker has a share, which may be none: then it would drop whatever is due there.
    """
    load, sleep_s = most_load(plan.spec), plan.spec.scenario.slept_s
    if not isinstance(load, ArrivalsLoad):
        return None
    field, at = "spec.load.arrivals", ""
    if plan.spec.capacity is not None:
        field, at = "spec.load.capacity.arrivals", f" at {plan.spec.capacity.most:g} per second"
    is_now = f"{field}.maxInFlight is {load.max_in_flight}"
    if load.max_in_flight < plan.workers:
        return Reason.LOAD_IMPOSSIBLE, (
            f"{is_now}, and {_each_worker_needs(plan, 'one of them')}; raise maxInFlight to at least {plan.workers}, or"
            " set spec.workers.processesPerPod"
        )
    open_at_once = most_begun_within(load, plan.spec.warm_up_s, sleep_s) if sleep_s else 0
    if open_at_once <= load.max_in_flight:
        return None
    return Reason.LOAD_IMPOSSIBLE, (
        f"{is_now}, but the scenario sleeps {sleep_s:g} s, so that{at}"
        f" {open_at_once} sessions are open at once; raise it to more than {open_at_once}, or lower the load"
    )


def _impossible_search(plan: Plan) -> Refusal | None:
    impossible = impossible_search(plan.spec)
    return (Reason.LOAD_IMPOSSIBLE, impossible) if impossible else None
