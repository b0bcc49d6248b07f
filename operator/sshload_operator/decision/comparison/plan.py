"""The plan of one run of a comparison: which tests, in which order, under which names."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sshload_operator.api.comparison.spec import ComparisonSpec, Variant
from sshload_operator.api.kinds import COMPARISON, GROUP
from sshload_operator.api.names import extended, label_value
from sshload_operator.manifests.labels import COMPARISON_LABEL
from sshload_operator.manifests.owned_test import Owner, owned_test
from sshload_operator.planning.installation import Installation
from sshload_operator.planning.plan import TestIdentity, make_plan, run_id, spec_hash
from sshload_operator.planning.preflight import preflight
from sshload_operator.state import Manifest, Reason

COMPARISON_RUN_LABEL = f"{GROUP}/comparison-run"
_VARIANT_LABEL = f"{GROUP}/variant"
_ROUND_LABEL = f"{GROUP}/round"
_HASH_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one test in the order. Rounds count from 1. The test's status must have this `spec_hash`."""

    round: int
    variant: str
    test: str
    spec_hash: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """One run, started for generation `run`. `places` are all its tests, in the order in which they must run."""

    comparison: TestIdentity
    run: int
    run_id: str
    spec: ComparisonSpec
    spec_hash: str
    places: tuple[Place, ...]


def make_comparison_plan(comparison: TestIdentity, spec: ComparisonSpec, run: int) -> ComparisonPlan:
    """Return the plan of the run that was started for generation `run`."""
    return ComparisonPlan(
        comparison=comparison,
        run=run,
        run_id=run_id(comparison.uid, run),
        spec=spec,
        spec_hash=comparison_hash(spec),
        places=tuple(_places(comparison.name, spec)),
    )


def comparison_hash(spec: ComparisonSpec) -> str:
    """Return a hash of what is compared: the variants' names, what their tests measure, and how often."""
    compared: list[Any] = [spec.repeats, [(variant.name, spec_hash(variant.spec)) for variant in spec.variants]]
    if spec.swept:
        compared.append([spec.swept, [variant.value for variant in spec.variants]])
    references = [spec.reference_of(variant) for variant in spec.variants[1:]]
    if {*references} != {spec.variants[0].name}:
        compared.append(references)
    return hashlib.sha256(json.dumps(compared).encode()).hexdigest()[:_HASH_CHARACTERS]


def refusal(plan: ComparisonPlan, installation: Installation) -> tuple[Reason, str] | None:
    """Return why a variant's tests would be refused before they begin, and what to change; None if none would be."""
    for place in plan.places[: len(plan.spec.variants)]:
        spec = next(variant.spec for variant in plan.spec.variants if variant.name == place.variant)
        test = TestIdentity(plan.comparison.namespace, place.test, plan.comparison.uid, 1)
        found = preflight(make_plan(test, spec, installation, 1))
        if found is not None:
            return found[0], f"variant {place.variant}: {found[1]}"
    return None


def test_manifest(plan: ComparisonPlan, place: Place) -> Manifest:
    """Return the SSHLoadTest of a place."""
    labels = {
        "app.kubernetes.io/name": "sshload",
        "app.kubernetes.io/managed-by": "sshload-operator",
        COMPARISON_LABEL: label_value(plan.comparison.name),
        COMPARISON_RUN_LABEL: plan.run_id,
        _VARIANT_LABEL: place.variant,
        _ROUND_LABEL: str(place.round),
    }
    owner = Owner(COMPARISON, plan.comparison.namespace, plan.comparison.name, plan.comparison.uid)
    return owned_test(owner, place.test, place.body, labels, {})


def _places(name: str, spec: ComparisonSpec) -> Iterator[Place]:
    for number in range(1, spec.repeats + 1):
        for variant in _round(spec.variants, number):
            test = extended(name, f"-{number}-{variant.name}")
            yield Place(number, variant.name, test, spec_hash(variant.spec), variant.body)


def _round(variants: tuple[Variant, ...], number: int) -> tuple[Variant, ...]:
    """Return the order of a round: A B C, B C A, C A B and so on, so that no variant is always first."""
    first = (number - 1) % len(variants)
    return variants[first:] + variants[:first]
