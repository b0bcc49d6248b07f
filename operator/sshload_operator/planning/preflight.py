"""What can be refused before anything is made: targets that nobody allowed, and loads that cannot be.

Whatever passes may still fail for reasons that only a run shows; what is refused here would surely be Invalid.
"""

from math import ceil

from sshload_contract.run_config import ArrivalsLoad, HoldLoad, SleepStep, UsersLoad

from sshload_operator.api.spec import ExternalTarget
from sshload_operator.planning.allowed_targets import is_allowed
from sshload_operator.planning.connections import most_begun_within
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Reason

# Linux's default ip_local_port_range, 32768 to 60999, and how long a closed connection keeps its port (TIME_WAIT).
SOURCE_PORTS = 28_232
TIME_WAIT_S = 60.0

Refusal = tuple[Reason, str]


def preflight(plan: Plan) -> Refusal | None:
    """Return why the run must not be started, with what to change; None where nothing speaks against it."""
    return _target_not_allowed(plan) or _too_few_source_ports(plan) or _too_few_in_flight(plan)


def _target_not_allowed(plan: Plan) -> Refusal | None:
    target = plan.spec.target
    if not isinstance(target, ExternalTarget):
        return None
    if is_allowed(target.host, target.port, plan.installation.allowed_targets):
        return None
    return Reason.TARGET_NOT_ALLOWED, (
        f"spec.target.external: {target.host} port {target.port} is not among the external targets that this"
        " installation allows; whoever installed sshload can add it to the chart's value externalTargets"
    )


def _too_few_source_ports(plan: Plan) -> Refusal | None:
    """Refuse what needs more source ports at once than the workers' addresses have."""
    workers = plan.spec.workers.replicas
    held_s = TIME_WAIT_S + _sleep_s(plan)
    needed = _most_ports(plan, held_s)
    if needed <= workers * SOURCE_PORTS:
        return None
    per_second = SOURCE_PORTS / TIME_WAIT_S
    return Reason.LOAD_IMPOSSIBLE, (
        f"spec.load needs {needed} source ports within {held_s:g} s, and the addresses of {workers} workers have"
        f" {workers * SOURCE_PORTS}: {SOURCE_PORTS} each, which a closed connection keeps for {TIME_WAIT_S:g} s, so"
        f" about {per_second:.0f} new connections per second and worker; set spec.workers.replicas to at least"
        f" {ceil(needed / SOURCE_PORTS)}, or lower the load"
    )


def _most_ports(plan: Plan, held_s: float) -> int:
    load = plan.spec.load
    if isinstance(load, UsersLoad):
        return max(stage.users for stage in load.stages)
    if isinstance(load, HoldLoad):
        return load.sessions + ceil(load.probe_rate * held_s)
    return most_begun_within(load, plan.spec.warm_up_s, held_s)


def _too_few_in_flight(plan: Plan) -> Refusal | None:
    """Refuse arrivals whose sleep steps alone keep more sessions open than may be in flight: some would be dropped."""
    load, sleep_s = plan.spec.load, _sleep_s(plan)
    if not isinstance(load, ArrivalsLoad) or sleep_s == 0:
        return None
    open_at_once = most_begun_within(load, plan.spec.warm_up_s, sleep_s)
    if open_at_once <= load.max_in_flight:
        return None
    return Reason.LOAD_IMPOSSIBLE, (
        f"spec.load.arrivals.maxInFlight is {load.max_in_flight}, but the scenario sleeps {sleep_s:g} s, so that"
        f" {open_at_once} sessions are open at once; raise it to more than {open_at_once}, or lower the load"
    )


def _sleep_s(plan: Plan) -> float:
    return sum(step.duration_s for step in plan.spec.scenario.steps if isinstance(step, SleepStep))
