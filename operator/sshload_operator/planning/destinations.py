"""Where the load of a test goes besides a managed target, and what of the installation's allow-list that concerns."""

from collections.abc import Iterator
from dataclasses import dataclass

from sshload_contract.allow_list import AllowedTarget, AllowList, entry_problem, is_loopback
from sshload_contract.steps import ForwardStep

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.target import ExternalTarget, ManagedTarget
from sshload_operator.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Destination:
    """A host and port that a field of a spec names."""

    field: str
    host: str
    port: int


def destinations(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield all that a spec names: what a server is asked to connect to is load on a server too."""
    yield from servers(spec)
    yield from forwards(spec)


def servers(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield the servers that are logged in to, but for a managed target."""
    if isinstance(spec.target, ExternalTarget):
        yield Destination("spec.target.external", spec.target.host, spec.target.port)
    for hop, server in enumerate(spec.via):
        yield Destination(f"spec.via[{hop}]", server.host, server.port)


def forwards(spec: LoadTestSpec) -> Iterator[Destination]:
    """Yield what `forward` steps let the target connect to, but for a managed target itself."""
    for index, step in enumerate(spec.scenario.steps):
        if isinstance(step, ForwardStep) and not (isinstance(spec.target, ManagedTarget) and is_loopback(step.host)):
            yield Destination(f"spec.scenario.steps[{index}].forward", step.host, step.port)


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


def allowing(spec: LoadTestSpec) -> AllowList:
    """Return an allow-list with an entry for each destination of a spec, for who knows of no installation."""
    named = (AllowedTarget(found.host, (found.port,)) for found in destinations(spec))
    return AllowList(tuple(target for target in named if not entry_problem(target.host)), ())
