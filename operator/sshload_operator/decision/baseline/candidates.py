"""Which tests of a schedule may be a run's baseline, as far as their statuses tell: no spec is read here."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.thresholds import RelativeCapacity
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.decision.findings import read_time, word
from sshload_operator.planning.plan import INSTALLED_RESOURCES, Plan
from sshload_operator.state import BaselineRef, Manifest, Phase, Reason


@dataclass(frozen=True, slots=True)
class Candidate:
    """A test that was over before the run began, and passed or lacked but a baseline.

    `measured` tells what it has measured, and on what pods, as its status has it: the same text, the same measurement.
    `clean` says that nothing in its status forbids to hold the run against it.
    """

    ref: BaselineRef
    completion_time: datetime
    measured: str
    clean: bool

    @property
    def age(self) -> tuple[datetime, str]:
        """The key by which the oldest candidate is the first."""
        return self.completion_time, self.ref.test


def candidate(plan: Plan, test: Manifest, start_time: datetime) -> Candidate | None:
    """Return a test as a candidate for the baseline of a run that was started then, None where it is none."""
    ref = ref_of(test)
    if not is_finished(test) or ref.completion_time is None or ref.completion_time > start_time:
        return None
    if ref.uid == plan.test.uid or not passed_but_for_a_baseline(test):
        return None
    status = test["status"]
    spec_hash = status.get("specHash", "")
    measured = f"{spec_hash} {installed_hash(status)}"
    clean = bool(spec_hash) and not was_ended_early(test) and is_clean(plan.spec, own_delay_ms(status))
    return Candidate(ref, ref.completion_time, measured, clean)


def installed_hash(status: Mapping[str, Any]) -> str:
    """Return a hash of the resources that the installation gave the pods of a run, empty where a status says none."""
    stated = status.get(INSTALLED_RESOURCES)
    return "" if stated is None else hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:16]


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in the order in which they are preferred: those that passed, then others; newest first."""
    newest_first = sorted(candidates, key=lambda one: one.age, reverse=True)
    return sorted(newest_first, key=lambda one: one.ref.verdict is not Verdict.PASSED)


def passed_but_for_a_baseline(test: Manifest) -> bool:
    """Tell whether a finished test passed, or lacked but a baseline."""
    return ref_of(test).verdict is Verdict.PASSED or lacked_only_a_baseline(test)


def lacked_only_a_baseline(test: Manifest) -> bool:
    """Tell whether all was well with a test but for its own baseline, as with the first of a row."""
    return word(Reason, test["status"].get("reason")) in (Reason.NO_BASELINE, Reason.BASELINE_DIFFERS)


def was_ended_early(test: Manifest) -> bool:
    """Tell whether the load of a finished test was ended for a broken threshold."""
    return "endedEarly" in test["status"].get("results", {})


def is_clean(ours: LoadTestSpec, delay_ms: float | None) -> bool:
    """Tell whether a run can be held against a test with so much delay of its generator's own."""
    return delay_ms is None or not compares_figures(ours)


def compares_figures(spec: LoadTestSpec) -> bool:
    """Tell whether anything but capacities is held against the baseline: these rest on trials that were judged."""
    return any(not isinstance(threshold, RelativeCapacity) for threshold in spec.relative_thresholds)


def is_finished(test: Manifest) -> bool:
    """Tell whether a test is over, as its status says."""
    status = test.get("status") or {}
    return status.get("phase") == Phase.FINISHED


def ref_of(test: Manifest) -> BaselineRef:
    """Return which test it is, and what became of it."""
    metadata, status = test["metadata"], test.get("status") or {}
    return BaselineRef(
        test=metadata["name"],
        uid=metadata.get("uid", ""),
        verdict=word(Verdict, status.get("verdict")),
        completion_time=read_time(status.get("completionTime")),
    )
