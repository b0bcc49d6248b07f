"""Which test a run is held against, and whether it can be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.load_test import parse
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.load_test import BaselineStatus, TestStatus
from sshload_operator.decision.baseline.candidates import EarlierTest, best_first, candidate, is_clean
from sshload_operator.decision.baseline.differs import comparable_hash, difference, installed_difference
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.planning.plan import Plan, is_of_generation, is_same_spec, spec_hash
from sshload_operator.state import Manifest, ObservedBaseline, Reason

# A broken threshold makes the figures no less true.
_TRUSTED = frozenset({Verdict.PASSED, Verdict.FAILED})


@dataclass(frozen=True, slots=True)
class Found:
    """A baseline that the run can be held against, with its status.

    `oldest` is the oldest test of the schedule that can be one too, None where that is the same test. Were a run held
    against the last one only, a server that gets a little slower each time would pass for ever.
    """

    ref: BaselineStatus
    status: TestStatus
    oldest: "Found | None" = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why there is nothing to hold the run against. `ref` is the test that it is about, where there is one."""

    reason: Reason
    message: str
    ref: BaselineStatus | None = None


def find_baseline(plan: Plan, observed: ObservedBaseline | None, start_time: datetime) -> Found | Unusable:
    """Return the baseline of a run that was started then, out of the tests that were seen; or why there is none."""
    asked = plan.spec.baseline
    if asked is None or observed is None or observed.problem:
        problem = observed.problem if observed is not None else ""
        return Unusable(Reason.NO_BASELINE, problem or "no baseline was looked for")
    if asked.test:
        return _named(plan, asked.test, observed.tests)
    return _last_passed(plan, observed.tests, start_time)


def _named(plan: Plan, name: str, tests: Iterable[Manifest]) -> Found | Unusable:
    body = next(iter(tests), None)
    if body is None:
        return Unusable(Reason.NO_BASELINE, f"there is no SSHLoadTest {name} in the namespace {plan.test.namespace}")
    test = EarlierTest.of(body)
    ref, status = test.ref, test.status
    if ref.uid == plan.test.uid:
        return Unusable(Reason.NO_BASELINE, "a test cannot be its own baseline: name another in spec.baseline.testRef")
    if not test.is_finished:
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} is not finished", ref)
    if ref.verdict not in _TRUSTED and not test.lacked_only_a_baseline:
        verdict = ref.verdict or "a verdict of another release"
        said = f"ended as {verdict} ({status.reason}), which is nothing to be held against"
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} {said}. Run it again", ref)
    return judge_candidate(plan, test)


def _last_passed(plan: Plan, bodies: Sequence[Manifest], start_time: datetime) -> Found | Unusable:
    """Return the newest test that passed and can be compared; until there is one, one that lacked but a baseline."""
    tests = [EarlierTest.of(body) for body in bodies]
    by_uid = {test.ref.uid: test for test in tests}
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


def measured_by(test: EarlierTest) -> str | None:
    """Return the hash of what a test measured if a later test of its schedule can have it as its baseline, else None.

    The hash is that of `comparable_hash`: a schedule keeps it of each of its tests, and a spec can be large.
    """
    if not test.is_finished or test.status.completion_time is None:
        return None
    spec = _measured_spec(test) if test.passed_but_for_a_baseline else None
    return None if spec is None else comparable_hash(spec)


def judge_candidate(plan: Plan, test: EarlierTest) -> Found | Unusable:
    """Return a sound test as the baseline, or why a run of this plan cannot be held against it. Parses its spec."""
    ref, status, ours = test.ref, test.status, plan.spec
    spec = _measured_spec(test)
    if spec is None:
        message = f"the spec of the baseline {ref.test} is not the one that it measured"
        return Unusable(Reason.NO_BASELINE, f"{message}: it was changed since. Run it again", ref)
    field = difference(ours, spec) or installed_difference(plan.installed, status.installed_resources)
    if field:
        message = f"the baseline {ref.test} measured something else: {field}"
        return Unusable(Reason.BASELINE_DIFFERS, message, ref)
    if test.was_ended_early:
        message = f"the load of the baseline {ref.test} was ended for a broken threshold, and so where it was worst"
        return Unusable(Reason.NO_BASELINE, message, ref)
    delay_ms = own_delay_ms(status)
    if not is_clean(ours, delay_ms):
        message = (
            f"the baseline {ref.test} is not clean: its latencies may include {delay_ms:.4g} ms of its generator's own "
            f"delay. Run it again, with whole CPUs for its workers"
        )
        return Unusable(Reason.NO_BASELINE, message, ref)
    return Found(ref, status)


def _measured_spec(test: EarlierTest) -> LoadTestSpec | None:
    """Return what the test has measured, None where its spec does not say so any more.

    Each pass over a schedule calls this for each of its tests, so it parses and hashes only what it needs.
    """
    generation, status = test.body["metadata"].get("generation"), test.status
    if not status.spec_hash:
        return None
    try:
        spec = parse(test.body["spec"])
    except SpecError:
        return None
    if is_of_generation(generation, status):
        return spec
    return spec if is_same_spec(spec_hash(spec), generation, status) else None
