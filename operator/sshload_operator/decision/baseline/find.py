"""Which test a run is held against, and whether it can be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.decision.baseline.candidates import (
    best_first,
    candidate,
    is_clean,
    is_finished,
    lacked_only_a_baseline,
    passed_but_for_a_baseline,
    ref_of,
    was_ended_early,
)
from sshload_operator.decision.baseline.differs import difference, installed_difference, question_hash
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.planning.plan import INSTALLED_RESOURCES, Plan, is_of_generation, is_same_spec, spec_hash
from sshload_operator.state import BaselineRef, BaselineSight, Manifest, Reason

# A broken threshold makes the figures no less true.
_TRUSTED = frozenset({Verdict.PASSED, Verdict.FAILED})


@dataclass(frozen=True, slots=True)
class Found:
    """A baseline that the run can be held against, with its status.

    `oldest` is the oldest test of the schedule that can be one too, None where that is the same test. Were a run held
    against the last one only, a server that gets a little slower each time would pass for ever.
    """

    ref: BaselineRef
    status: Mapping[str, Any]
    oldest: "Found | None" = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why there is nothing to hold the run against. `ref` is the test that it is about, where there is one."""

    reason: Reason
    message: str
    ref: BaselineRef | None = None


def find_baseline(plan: Plan, sight: BaselineSight | None, start_time: datetime) -> Found | Unusable:
    """Return the baseline of a run that was started then, out of the tests that were seen; or why there is none."""
    asked = plan.spec.baseline
    if asked is None or sight is None or sight.problem:
        problem = sight.problem if sight is not None else ""
        return Unusable(Reason.NO_BASELINE, problem or "no baseline was looked for")
    if asked.test:
        return _named(plan, asked.test, sight.tests)
    return _last_passed(plan, sight.tests, start_time)


def _named(plan: Plan, name: str, tests: Iterable[Manifest]) -> Found | Unusable:
    test = next(iter(tests), None)
    if test is None:
        return Unusable(Reason.NO_BASELINE, f"there is no SSHLoadTest {name} in the namespace {plan.test.namespace}")
    ref = ref_of(test)
    if ref.uid == plan.test.uid:
        return Unusable(Reason.NO_BASELINE, "a test cannot be its own baseline: name another in spec.baseline.testRef")
    if not is_finished(test):
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} is not finished", ref)
    status = test["status"]
    if ref.verdict not in _TRUSTED and not lacked_only_a_baseline(test):
        said = f"ended as {status.get('verdict')} ({status.get('reason')}), which is nothing to be held against"
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} {said}. Run it again", ref)
    return judge_candidate(plan, test)


def _last_passed(plan: Plan, tests: Sequence[Manifest], start_time: datetime) -> Found | Unusable:
    """Return the newest test that passed and can be compared; until there is one, one that lacked but a baseline."""
    by_uid = {ref_of(test).uid: test for test in tests}
    candidates = filter(None, (candidate(plan, test, start_time) for test in tests))
    judged = [judge_candidate(plan, by_uid[one.ref.uid]) for one in best_first(candidates)]
    if not judged:
        message = "no earlier test of the schedule has passed and is kept. The next test is held against this one"
        return Unusable(Reason.NO_BASELINE, message)
    found = [one for one in judged if isinstance(one, Found)]
    if not found:
        return judged[0]
    oldest = min(found, key=lambda one: (one.ref.completion_time, one.ref.test))
    return found[0] if oldest is found[0] else replace(found[0], oldest=oldest)


def measured_by(test: Manifest) -> str | None:
    """Return the hash of what a test asked if a later test of its schedule can have it as its baseline, else None.

    The hash is that of `question_hash`: a schedule keeps it of each of its tests, and a spec can be large.
    """
    if not is_finished(test) or ref_of(test).completion_time is None:
        return None
    spec = _measured_spec(test) if passed_but_for_a_baseline(test) else None
    return None if spec is None else question_hash(spec)


def judge_candidate(plan: Plan, test: Manifest) -> Found | Unusable:
    """Return a sound test as the baseline, or why a run of this plan cannot be held against it. Parses its spec."""
    ref, ours = ref_of(test), plan.spec
    spec = _measured_spec(test)
    if spec is None:
        message = f"the spec of the baseline {ref.test} is not the one that it measured"
        return Unusable(Reason.NO_BASELINE, f"{message}: it was changed since. Run it again", ref)
    field = difference(ours, spec) or installed_difference(plan.installed, test["status"].get(INSTALLED_RESOURCES))
    if field:
        message = f"the baseline {ref.test} measured something else: {field}"
        return Unusable(Reason.BASELINE_DIFFERS, message, ref)
    if was_ended_early(test):
        message = f"the load of the baseline {ref.test} was ended for a broken threshold, and so where it was worst"
        return Unusable(Reason.NO_BASELINE, message, ref)
    delay_ms = own_delay_ms(test["status"])
    if not is_clean(ours, delay_ms):
        message = (
            f"the baseline {ref.test} is not clean: its latencies may include {delay_ms:.4g} ms of its generator's own "
            f"delay. Run it again, with whole CPUs for its workers"
        )
        return Unusable(Reason.NO_BASELINE, message, ref)
    return Found(ref, test["status"])


def _measured_spec(test: Manifest) -> LoadTestSpec | None:
    """Return what the test has measured, None where its spec does not say so any more.

    Each pass over a schedule calls this for each of its tests, so it parses and hashes only what it needs.
    """
    generation, status = test["metadata"].get("generation"), test["status"]
    if not status.get("specHash"):
        return None
    try:
        spec = parse(test["spec"])
    except SpecError:
        return None
    if is_of_generation(generation, status):
        return spec
    return spec if is_same_spec(spec_hash(spec), generation, status) else None
