"""Which test a run is compared with, and whether it can be.

The tests of a schedule are first selected by their statuses; then the specs of the few that are left are read.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import BaselineStatus, TestStatus
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.planning.differs import comparable_hash, difference, installed_difference
from sshload_operator.planning.plan import Plan, is_of_generation, is_same_spec, spec_hash
from sshload_operator.state import Manifest, ObservedBaseline, Phase, Reason

# The figures are true even if a threshold was broken.
_TRUSTED = frozenset({Verdict.PASSED, Verdict.FAILED})


@dataclass(frozen=True, slots=True)
class EarlierTest:
    """A test that may be a baseline, with its status as far as it can be read."""

    body: Manifest
    status: TestStatus

    @classmethod
    def of(cls, body: Manifest) -> "EarlierTest":
        """Return a test as the API server shows it."""
        return cls(body, read_fitting(TestStatus, body.get("status")))

    @property
    def ref(self) -> BaselineStatus:
        """The test's name and its result."""
        metadata = self.body["metadata"]
        return BaselineStatus(
            test=metadata["name"],
            uid=metadata.get("uid", ""),
            verdict=self.status.verdict,
            completion_time=self.status.completion_time,
        )

    @property
    def is_finished(self) -> bool:
        """Whether it has finished."""
        return self.status.phase is Phase.FINISHED

    @property
    def passed_but_for_a_baseline(self) -> bool:
        """Whether it passed, or would have passed with a baseline."""
        return self.status.verdict is Verdict.PASSED or self.lacked_only_a_baseline

    @property
    def lacked_only_a_baseline(self) -> bool:
        """Whether only its own baseline was missing, as for the first test of a schedule."""
        return self.status.reason in (Reason.NO_BASELINE, Reason.BASELINE_DIFFERS)

    @property
    def was_ended_early(self) -> bool:
        """Whether its load was ended because a threshold was broken."""
        return self.status.results is not None and self.status.results.ended_early is not None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A test that finished before the run began, and passed or only lacked a baseline.

    `measured` identifies what it measured, and on what pods, by its status: equal for equal measurements. `clean` means
    that nothing in its status prevents a comparison with it.
    """

    ref: BaselineStatus
    completion_time: datetime
    measured: str
    clean: bool

    @property
    def age(self) -> tuple[datetime, str]:
        """The key by which the oldest candidate is the first."""
        return self.completion_time, self.ref.test


def candidate(plan: Plan, test: EarlierTest, start_time: datetime) -> Candidate | None:
    """Return a test as a candidate for the baseline of a run that started at `start_time`, None if it is not one."""
    ref, status = test.ref, test.status
    if not test.is_finished or ref.completion_time is None or ref.completion_time > start_time:
        return None
    if ref.uid == plan.test.uid or not test.passed_but_for_a_baseline:
        return None
    measured = f"{status.spec_hash} {installed_hash(status)}"
    clean = bool(status.spec_hash) and not test.was_ended_early and is_clean(plan.spec, own_delay_ms(status))
    return Candidate(ref, ref.completion_time, measured, clean)


def installed_hash(status: TestStatus) -> str:
    """Return a hash of the resources that the installation gave the pods of a run, empty if the status has none."""
    installed = status.installed
    if installed is None:
        return ""
    return hashlib.sha256(json.dumps(written(installed), sort_keys=True).encode()).hexdigest()[:16]


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in order of preference: first those that passed, then others; each newest first."""
    newest_first = sorted(candidates, key=lambda one: one.age, reverse=True)
    return sorted(newest_first, key=lambda one: one.ref.verdict is not Verdict.PASSED)


def is_clean(ours: LoadTestSpec, delay_ms: float | None) -> bool:
    """Return whether a run can be compared with a test whose generator had this delay."""
    return delay_ms is None or not compares_figures(ours)


def compares_figures(spec: LoadTestSpec) -> bool:
    """Return whether anything but capacities is compared with the baseline: capacities rest on judged trials."""
    return any(not threshold.is_on_capacity for threshold in spec.relative_thresholds)


@dataclass(frozen=True, slots=True)
class Found:
    """A baseline with which the run can be compared, with its status.

    `oldest` is the oldest test of the schedule that can also be a baseline, None if that is the same test. If runs were
    compared only with the latest one, a server that gets a little slower each time would pass for ever.
    """

    ref: BaselineStatus
    status: TestStatus
    oldest: "Found | None" = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why there is no baseline for the run. `ref` is the test concerned, if there is one."""

    reason: Reason
    message: str
    ref: BaselineStatus | None = None


def find_baseline(plan: Plan, observed: ObservedBaseline | None, start_time: datetime) -> Found | Unusable:
    """Return the baseline, among the observed tests, of a run that started at `start_time`; or why there is none."""
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
        said = f"ended as {verdict} ({status.reason}), so nothing can be compared with it"
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} {said}. Run it again", ref)
    return judge_candidate(plan, test)


def _last_passed(plan: Plan, bodies: Sequence[Manifest], start_time: datetime) -> Found | Unusable:
    """Return the newest test that passed and can be compared; if there is none, one that only lacked a baseline."""
    tests = [EarlierTest.of(body) for body in bodies]
    by_uid = {test.ref.uid: test for test in tests}
    candidates = filter(None, (candidate(plan, test, start_time) for test in tests))
    judged = [judge_candidate(plan, by_uid[one.ref.uid]) for one in best_first(candidates)]
    if not judged:
        message = "no earlier test of the schedule has passed and is kept. The next test is compared with this one"
        return Unusable(Reason.NO_BASELINE, message)
    found = [one for one in judged if isinstance(one, Found)]
    if not found:
        return judged[0]
    oldest = min(found, key=lambda one: (one.ref.completion_time, one.ref.test))
    return found[0] if oldest is found[0] else replace(found[0], oldest=oldest)


def measured_by(test: EarlierTest) -> str | None:
    """Return the hash of what a test measured if a later test of its schedule can have it as its baseline, else None.

    The hash is that of `comparable_hash`. A schedule keeps it for each of its tests, because specs can be large.
    """
    if not test.is_finished or test.status.completion_time is None:
        return None
    spec = _measured_spec(test) if test.passed_but_for_a_baseline else None
    return None if spec is None else comparable_hash(spec)


def judge_candidate(plan: Plan, test: EarlierTest) -> Found | Unusable:
    """Return a valid test as the baseline, or why a run of this plan cannot be compared with it. Parses its spec."""
    ref, status, ours = test.ref, test.status, plan.spec
    spec = _measured_spec(test)
    if spec is None:
        message = f"the spec of the baseline {ref.test} is not the one that it measured"
        return Unusable(Reason.NO_BASELINE, f"{message}: it was changed since. Run it again", ref)
    field = difference(ours, spec) or installed_difference(plan.installed, status.installed)
    if field:
        message = f"the baseline {ref.test} measured something else: {field}"
        return Unusable(Reason.BASELINE_DIFFERS, message, ref)
    if test.was_ended_early:
        message = (
            f"the load of the baseline {ref.test} ended early because a threshold was broken, so it shows only the"
            " worst part"
        )
        return Unusable(Reason.NO_BASELINE, message, ref)
    delay_ms = own_delay_ms(status)
    if delay_ms is not None and not is_clean(ours, delay_ms):
        message = (
            f"the baseline {ref.test} is not clean: its latencies may include {delay_ms:.4g} ms of its generator's own "
            f"delay. Run it again, with whole CPUs for its workers"
        )
        return Unusable(Reason.NO_BASELINE, message, ref)
    return Found(ref, status)


def _measured_spec(test: EarlierTest) -> LoadTestSpec | None:
    """Return the spec that the test measured, None if its spec was changed since.

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
