"""Which tests of a schedule may be a run's baseline, as far as their statuses tell: no spec is read here."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.shapes import read_fitting
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.status.head import written
from sshload_operator.api.status.load_test import BaselineStatus, TestStatus
from sshload_operator.api.thresholds import RelativeCapacity
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Manifest, Phase, Reason


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
        """Which test it is, and what became of it."""
        metadata = self.body["metadata"]
        return BaselineStatus(
            test=metadata["name"],
            uid=metadata.get("uid", ""),
            verdict=self.status.verdict,
            completion_time=self.status.completion_time,
        )

    @property
    def is_finished(self) -> bool:
        """Whether it is over."""
        return self.status.phase is Phase.FINISHED

    @property
    def passed_but_for_a_baseline(self) -> bool:
        """Whether it passed, or lacked but a baseline."""
        return self.status.verdict is Verdict.PASSED or self.lacked_only_a_baseline

    @property
    def lacked_only_a_baseline(self) -> bool:
        """Whether all was well with it but for its own baseline, as with the first of a row."""
        return self.status.reason in (Reason.NO_BASELINE, Reason.BASELINE_DIFFERS)

    @property
    def was_ended_early(self) -> bool:
        """Whether its load was ended for a broken threshold."""
        return self.status.results is not None and self.status.results.ended_early is not None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A test that was over before the run began, and passed or lacked but a baseline.

    `measured` tells what it has measured, and on what pods, as its status has it: the same text, the same measurement.
    `clean` says that nothing in its status forbids to hold the run against it.
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
    """Return a test as a candidate for the baseline of a run that was started then, None where it is none."""
    ref, status = test.ref, test.status
    if not test.is_finished or ref.completion_time is None or ref.completion_time > start_time:
        return None
    if ref.uid == plan.test.uid or not test.passed_but_for_a_baseline:
        return None
    measured = f"{status.spec_hash} {installed_hash(status)}"
    clean = bool(status.spec_hash) and not test.was_ended_early and is_clean(plan.spec, own_delay_ms(status))
    return Candidate(ref, ref.completion_time, measured, clean)


def installed_hash(status: TestStatus) -> str:
    """Return a hash of the resources that the installation gave the pods of a run, empty where a status says none."""
    installed = status.installed_resources
    if installed is None:
        return ""
    return hashlib.sha256(json.dumps(written(installed), sort_keys=True).encode()).hexdigest()[:16]


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in the order in which they are preferred: those that passed, then others; newest first."""
    newest_first = sorted(candidates, key=lambda one: one.age, reverse=True)
    return sorted(newest_first, key=lambda one: one.ref.verdict is not Verdict.PASSED)


def is_clean(ours: LoadTestSpec, delay_ms: float | None) -> bool:
    """Tell whether a run can be held against a test with so much delay of its generator's own."""
    return delay_ms is None or not compares_figures(ours)


def compares_figures(spec: LoadTestSpec) -> bool:
    """Tell whether anything but capacities is held against the baseline: these rest on trials that were judged."""
    return any(not isinstance(threshold, RelativeCapacity) for threshold in spec.relative_thresholds)
