"""Plan: one run of one test, with all names and numbers settled. Pure: the same test and generation, the same plan."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sshload_contract.quantities import resource_amount

from sshload_operator.api.spec import LoadTestSpec, Workers
from sshload_operator.api.status.installed import InstalledResources, PodResources
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.one_form import in_one_form
from sshload_operator.state import Role

if TYPE_CHECKING:
    from sshload_operator.api.status.head import ObjectStatus, RunStatus
    from sshload_operator.api.status.load_test import TestHead

_NOT_MEASURED = frozenset({"abort", "suspend", "ttlAfterFinished"})
_SPEC_HASH_CHARACTERS = 16
_RUN_ID_CHARACTERS = 10
# Argo CD applies what a hook is only when it syncs, and that is then meant.
_ARGO_CD_HOOK: Final = "argocd.argoproj.io/hook"
_MARKS: Final = (
    ("Argo CD", "annotations", "argocd.argoproj.io/tracking-id"),
    ("Flux", "labels", "kustomize.toolkit.fluxcd.io/name"),
)


@dataclass(frozen=True, slots=True)
class TestIdentity:
    """Which object it is, as its metadata says. `applier` names who applies it again if it is deleted, if anybody.

    `comparison` is the label of the comparison that it is a test of, or empty.
    """

    __test__ = False  # not a pytest class

    namespace: str
    name: str
    uid: str
    generation: int
    applier: str = ""
    comparison: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. `run_id` is unique over all runs of all objects, ever.

    `load_s` is warm-up and load, without drain; of a search, those of its least trial. `spec_hash` covers what is
    measured: not `abort`, `suspend` and the times to live. Every worker pod runs `processes_per_pod` workers.
    `installed` are the resources that the installation gave the pods of the run, by role, of the roles whose resources
    the spec leaves to it; None if it is not known, and without pods.
    """

    test: TestIdentity
    run: int
    run_id: str
    spec: LoadTestSpec
    spec_hash: str
    installation: Installation
    load_s: float
    processes_per_pod: int
    installed: InstalledResources | None = None

    @property
    def workers(self) -> int:
        """How many workers there are: processes of all pods together."""
        return self.spec.workers.replicas * self.processes_per_pod

    def image(self, role: Role) -> str:
        """Return the image of a role's pods. The master runs what the workers run."""
        pods = {Role.TARGET: self.spec.managed, Role.MASTER: self.spec.workers, Role.WORKER: self.spec.workers}
        stated = pods.get(role)
        if stated is not None and stated.image:
            return stated.image
        if role is Role.TARGET and is_system(self.spec):
            return self.installation.system_image
        return self.installation.image(role)

    def resources(self, role: Role) -> Mapping[str, Any]:
        """Return the resources that are asked for a role's pods."""
        return stated_resources(self.spec, role) or self.installation.resources(role)


def pods_asked(spec: LoadTestSpec) -> Mapping[Role, int]:
    """Return how many pods a run with this spec has of each role, those with none left out."""
    return {**dict.fromkeys(spec.target.pods, 1), Role.MASTER: 1, Role.WORKER: spec.workers.replicas}


def is_system(spec: LoadTestSpec) -> bool:
    """Whether the target is a managed system: sshd as root, with accounts of its own."""
    return spec.managed is not None and spec.managed.system is not None


def takes_user_namespace(spec: LoadTestSpec) -> bool:
    """Whether the target's pod has a user namespace of its own."""
    return spec.managed is not None and spec.managed.system is not None and spec.managed.system.user_namespace


def stated_resources(spec: LoadTestSpec, role: Role) -> Mapping[str, Any]:
    """Return the resources that a spec states for a role's pods, empty if it leaves them to the installation."""
    if role is Role.TARGET and spec.managed is not None:
        return spec.managed.resources
    return spec.workers.resources if role is Role.WORKER else {}


def make_plan(test: TestIdentity, spec: LoadTestSpec, installation: Installation, run: int) -> Plan:
    """Return the plan of the run that was started for generation `run`."""
    return Plan(
        test=test,
        run=run,
        run_id=run_id(test.uid, run),
        spec=spec,
        spec_hash=spec_hash(spec),
        installation=installation,
        load_s=spec.warm_up_s + spec.load.least.lasts_s,
        processes_per_pod=processes_per_pod(spec.workers, installation.worker_resources),
        installed=_installed(spec, installation),
    )


def as_begun(plan: Plan, status: "TestHead") -> Plan:
    """Return the plan of a run that goes on with the resources that its status says it was begun with."""
    return replace(plan, installed=status.installed)


def _installed(spec: LoadTestSpec, installation: Installation) -> InstalledResources | None:
    """Return the installation's resources by role, where the spec leaves them to it; None if there are no pods."""
    if installation.one_address:
        return None
    left = (role for role in pods_asked(spec) if not stated_resources(spec, role))
    return InstalledResources(**{str(role): _pod_resources(installation.resources(role)) for role in left})


def _pod_resources(found: Mapping[str, Mapping[str, Any]]) -> PodResources:
    """Return resources in words, the same for the same resources."""
    given = ((kind, found.get(kind)) for kind in ("requests", "limits"))
    words = "; ".join(f"{kind} {_amounts(amounts)}" for kind, amounts in given if amounts is not None)
    return PodResources(given=words or "none")


def _amounts(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(given.items())) or "none"


def run_id(uid: str, run: int) -> str:
    """Return ten hexadecimal digits that no other run of any object has; they are part of the names of its children."""
    return hashlib.sha256(f"{uid}/{run}".encode()).hexdigest()[:_RUN_ID_CHARACTERS]


def spec_hash(spec: LoadTestSpec) -> str:
    """Return a hash of what a spec measures: the same for the same measurement, however the YAML is written.

    It is made of what the spec states by the names of the API, so no change of our own code changes it. A default that
    is written out changes nothing, and neither does an optional field of a later version: no finished test runs again.
    What only a name stands for is covered by its name: Secrets, the ConfigMap of a locustfile, and a baseline.
    """
    measured = {name: value for name, value in spec.stated.items() if name not in _NOT_MEASURED}
    canonical = json.dumps(in_one_form(measured), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_SPEC_HASH_CHARACTERS]


def is_same_spec(spec_hash: str, generation: int | None, status: "RunStatus") -> bool:
    """Whether a status speaks of what this spec of this generation measures; not where it names no hash.

    It does if it was written for this generation, which changes with every edit, even where an operator of another
    release hashed the spec otherwise: so no upgrade starts a load, or loses a baseline. A test in a file has none.
    """
    named = status.spec_hash
    return bool(named) and (named == spec_hash or is_of_generation(generation, status))


def is_of_generation(generation: int | None, status: "ObjectStatus") -> bool:
    """Whether a status was written for this generation of its object."""
    return generation is not None and status.observed_generation == generation


def processes_per_pod(workers: Workers, default: Mapping[str, Any]) -> int:
    """Return how many processes a worker pod runs: as the test says, else one for each whole CPU, one at least.

    The CPU limit counts, or the request where there is none.
    """
    if workers.processes_per_pod is not None:
        return workers.processes_per_pod
    resources = workers.resources or default
    for kind in ("limits", "requests"):
        amount = resources.get(kind, {}).get("cpu")
        if amount is not None:
            return max(1, int(resource_amount(amount)))
    return 1


def applier(metadata: Mapping[str, Any]) -> str:
    """Return the name of the controller that keeps the object as it is in Git, empty if none is known."""
    if _ARGO_CD_HOOK in (metadata.get("annotations") or {}):
        return ""
    return next((name for name, place, mark in _MARKS if mark in (metadata.get(place) or {})), "")
