"""What can be refused before anything is made: what the installer did not allow, and loads that cannot be.

Where a load goes besides a managed target is held against the installation's allow-list, and how large it is against
its limits. Whatever passes may still fail for reasons that only a run shows; what is refused here would surely be
Invalid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from sshload_contract.allow_list import (
    AllowedTarget,
    AllowList,
    allowed_ports,
    entry_problem,
    host_refusal,
    is_loopback,
)
from sshload_contract.client import Library
from sshload_contract.steps import OPENSSH_FILE_LIMIT_BYTES, RSYNC_FILE_LIMIT_BYTES
from sshload_contract.wire.reporting import MOST_WORKERS
from sshload_contract.wire.run_config import SessionReuse

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.planning.installation import LimitsOfTest
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.search_cautions import impossible_search
from sshload_operator.state import Reason, Role

# Linux's default ip_local_port_range, 32768 to 60999, and how long a closed connection keeps its port (TIME_WAIT).
SOURCE_PORTS = 28_232
TIME_WAIT_S = 60.0
_CLUSTER_PRIORITIES = "system-"
Refusal = tuple[Reason, str]


@dataclass(frozen=True, slots=True)
class Destination:
    """A host and port that a field of a spec names."""

    field: str
    host: str
    port: int


def destinations(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield all that a spec names: what a server is asked to connect to is load on a server too."""
    yield from servers(spec)
    yield from kdcs(spec)
    yield from forwards(spec)


def kdcs(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield the KDCs that the workers ask for tickets, but for that of a managed target."""
    realms = () if spec.client.kerberos is None else spec.client.kerberos.realms
    for number, realm in enumerate(realms):
        for index, kdc in enumerate(realm.kdcs):
            yield Destination(f"spec.client.kerberos.realms[{number}].kdcs[{index}]", kdc.host, kdc.port)


def servers(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield the servers that the workers speak to, but for a managed target."""
    for field, server in spec.servers.items():
        yield Destination(field, server.host, server.port)


def forwards(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield what steps let the target connect to, but for a managed target itself."""
    for index, step in enumerate(spec.scenario.steps):
        if step.destination is not None:
            host, port = step.destination
            if spec.managed is None or not is_loopback(host):
                yield Destination(f"spec.scenario.steps[{index}].{step.kind}", host, port)


def allow_list_of_run(plan: Plan) -> AllowList:
    """Return the allow-list as the run's workers need it: the entries for ports that its spec names.

    The author of a test sees them in the run's ConfigMap. A locustfile may name any port, so it is given all.
    """
    allow_list = plan.installation.allow_list
    if plan.spec.locustfile is not None:
        return allow_list
    ports = {destination.port for destination in destinations(plan.spec)}
    targets = tuple(target for target in allow_list.targets if ports.intersection(target.ports))
    return AllowList(targets, allow_list.denied)


def allowing(spec: LoadTestSpec) -> tuple[AllowedTarget, ...]:
    """Return an entry for each destination of a spec, for who knows of no installation."""
    named = (AllowedTarget(found.host, (found.port,)) for found in destinations(spec))
    return tuple(target for target in named if not entry_problem(target.host))


def preflight(plan: Plan) -> Refusal | None:
    """Return why the run must not be started, with what to change; None if nothing speaks against it."""
    return (
        _not_permitted(plan)
        or _target_not_allowed(plan)
        or _beyond_limits(plan)
        or _priority_of_the_cluster(plan)
        or _too_many_workers(plan)
        or _too_small_pool(plan)
        or _too_large_file(plan)
        or _too_much_for_rsync(plan)
        or _too_few_source_ports(plan)
        or _too_few_in_flight(plan)
        or _impossible_search(plan)
    )


def _target_not_allowed(plan: Plan) -> Refusal | None:
    """Hold the text of the spec against the list. What names lead to, the workers check when they connect."""
    for destination in destinations(plan.spec):
        allow_list = plan.installation.allow_list
        why = host_refusal(allow_list, destination.host, destination.port)
        ports = " or ".join(str(port) for port in allowed_ports(allow_list, destination.host))
        if why and ports:
            return Reason.TARGET_NOT_ALLOWED, (
                f"{destination.field}: the test names port {destination.port} of {destination.host}, where only port"
                f" {ports} is allowed: set {destination.field}.port"
            )
        if why:
            return Reason.TARGET_NOT_ALLOWED, (
                f"{destination.field}: {destination.host} port {destination.port} {why}; whoever installed sshload can"
                " allow it by the chart's value externalTargets"
            )
    return None


def _not_permitted(plan: Plan) -> Refusal | None:
    """Refuse what takes a permission that the installer does not give."""
    for field, permission in plan.spec.permissions:
        if permission.name not in plan.installation.permitted:
            return Reason.NOT_PERMITTED, (
                f"{field}: this installation does not permit it; take it out, or ask whoever installed sshload, whose"
                f" chart has the value permitted.{permission.name}"
            )
    return None


def _beyond_limits(plan: Plan) -> Refusal | None:
    beyond = beyond_limits(plan.spec, plan.installation.limits.per_test)
    return (Reason.LIMIT_EXCEEDED, beyond) if beyond else None


def _priority_of_the_cluster(plan: Plan) -> Refusal | None:
    """Refuse Kubernetes' own priority classes, by which the pods of a test would displace those of the cluster."""
    managed = {} if plan.spec.managed is None else {"spec.target.managed": plan.spec.managed}
    placements = {"spec.workers": plan.spec.workers, **managed}
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
        if step.spooled_bytes > OPENSSH_FILE_LIMIT_BYTES:
            return Reason.LOAD_IMPOSSIBLE, (
                f"spec.scenario.steps[{index}].{step.kind}.size is {step.spooled_bytes} bytes, and the library openssh"
                f" writes files of at most {OPENSSH_FILE_LIMIT_BYTES}, which lie on the worker's disk first; write"
                " less, or take another client.library"
            )
    return None


def _each_worker_needs(plan: Plan, share: str) -> str:
    return (
        f"there are {plan.workers} worker processes, each of which needs {share}: {plan.processes_per_pod} in each of"
        f" {plan.spec.workers.replicas} pods"
    )


def _too_much_for_rsync(plan: Plan) -> Refusal | None:
    """Refuse files for rsync that the workers' /tmp has no room for: each process keeps one of each size."""
    kept = frozenset[tuple[int, int]]().union(*(step.kept_bytes for step in plan.spec.scenario.steps))
    pod_bytes = sum(size_bytes for _, size_bytes in kept) * plan.processes_per_pod
    if pod_bytes <= RSYNC_FILE_LIMIT_BYTES:
        return None
    return Reason.LOAD_IMPOSSIBLE, (
        f"the files of the rsync steps in spec.scenario take {pod_bytes} bytes of each worker pod's memory, which has"
        f" {plan.processes_per_pod} processes with one file of each size, and there is room for"
        f" {RSYNC_FILE_LIMIT_BYTES}; send smaller files, and more of them, or set spec.workers.processesPerPod"
    )


def _too_few_source_ports(plan: Plan) -> Refusal | None:
    """Refuse what needs more source ports at once than the workers' addresses have."""
    target = plan.spec.target
    proxied = Role.PROXY in target.pods and target.access.speaks_ssh  # an HTTP proxy keeps its connections
    addresses = 1 if plan.installation.one_address or proxied else plan.spec.workers.replicas
    held_s = TIME_WAIT_S + plan.spec.scenario.slept_s
    needed = _most_ports(plan, held_s)
    if needed <= addresses * SOURCE_PORTS:
        return None
    per_second = SOURCE_PORTS / TIME_WAIT_S
    less = plan.spec.load.lower_words
    more = f"set spec.workers.replicas to at least {ceil(needed / SOURCE_PORTS)}, or {less}"
    pods = "the worker pod has" if addresses == 1 else f"the {addresses} worker pods have"
    whose = f"{pods} {addresses * SOURCE_PORTS}, {SOURCE_PORTS} per address, which"
    if plan.installation.one_address:
        more, whose = less, f"this machine's address has {SOURCE_PORTS}, which"
    elif proxied:
        more, whose = less, f"the address of the proxy (spec.target.managed.proxy) has {SOURCE_PORTS}, which"
    return Reason.LOAD_IMPOSSIBLE, (
        f"{plan.spec.load.largest_words} needs {needed} source ports within {held_s:g} s, and {whose} a closed"
        f" connection keeps for {TIME_WAIT_S:g} s, so about {per_second:.0f} new connections per second and address;"
        f" {more}"
    )


def _most_ports(plan: Plan, held_s: float) -> int:
    """Return how many source ports the run needs at once, if nothing fails. A session that is kept has one for long."""
    load, scenario = plan.spec.load.largest, plan.spec.scenario
    if scenario.session_reuse is SessionReuse.POOL:
        return load.held_sessions + scenario.pool_sessions
    return load.most_begun_within(plan.spec.warm_up_s, held_s)


def _too_few_in_flight(plan: Plan) -> Refusal | None:
    """Refuse arrivals whose sleep steps alone keep more iterations open than may be in flight.

    Of these, each worker has a share, which may be none: then it would drop whatever is due there.
    """
    load, sleep_s = plan.spec.load.largest, plan.spec.scenario.slept_s
    if not load.drops_arrivals:
        return None
    room = load.most_connections
    is_now = f"spec.{plan.spec.load.field}.maxInFlight is {room}"
    if room < plan.workers:
        return Reason.LOAD_IMPOSSIBLE, (
            f"{is_now}, and {_each_worker_needs(plan, 'one of them')}; raise maxInFlight to at least {plan.workers}, or"
            " set spec.workers.processesPerPod"
        )
    open_at_once = load.most_begun_within(plan.spec.warm_up_s, sleep_s) if sleep_s else 0
    if open_at_once <= room:
        return None
    return Reason.LOAD_IMPOSSIBLE, (
        f"{is_now}, but the scenario sleeps {sleep_s:g} s, so that {plan.spec.load.largest_words} has {open_at_once}"
        " sessions open at once; raise it to more than that, or lower the load"
    )


def _impossible_search(plan: Plan) -> Refusal | None:
    impossible = impossible_search(plan.spec)
    return (Reason.LOAD_IMPOSSIBLE, impossible) if impossible else None


def beyond_limits(spec: LoadTestSpec, limits: LimitsOfTest) -> str:
    """Return which limit a test exceeds, with both numbers; empty if it keeps all."""
    load = spec.load.largest
    duration_s = spec.load.longest_s(spec.warm_up_s, spec.deadline_s)
    asked = (
        ("spec.workers.replicas", spec.workers.replicas, limits.worker_pods, "worker pods"),
        ("spec.load", load.most_rate, limits.rate, "iterations per second"),
        ("spec.load", load.most_connections, limits.connections, "connections at once"),
        ("spec.load", duration_s, limits.duration_s, "seconds"),
    )
    return next(
        (
            f"{field} asks for {amount:g} {unit}, and this installation allows {limit:g} (chart value limits.perTest)"
            for field, amount, limit, unit in asked
            if limit is not None and amount > limit
        ),
        "",
    )
