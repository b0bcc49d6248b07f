"""Which test a run is held against, and whether it can be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse import parse
from sshload_operator.api.spec import LoadTestSpec, RelativeCapacity
from sshload_operator.decision.baseline.differs import difference
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.decision.findings import read_time, word
from sshload_operator.planning.plan import Plan, is_of_generation, is_same_spec, spec_hash
from sshload_operator.state import BaselineRef, BaselineSight, Manifest, Phase, Reason

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
    ref = _ref(test)
    if ref.uid == plan.test.uid:
        return Unusable(Reason.NO_BASELINE, "a test cannot be its own baseline: name another in spec.baseline.testRef")
    if not _is_finished(test):
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} is not finished", ref)
    status = test["status"]
    if ref.verdict not in _TRUSTED and not _lacked_only_a_baseline(test):
        said = f"ended as {status.get('verdict')} ({status.get('reason')}), which is nothing to be held against"
        return Unusable(Reason.NO_BASELINE, f"the baseline {ref.test} {said}. Run it again", ref)
    return _comparable(plan.spec, test)


def _last_passed(plan: Plan, tests: Iterable[Manifest], start_time: datetime) -> Found | Unusable:
    """Return the newest test that passed and can be compared; until there is one, one that lacked but a baseline."""
    earlier = [test for test in tests if _is_over_before(test, start_time) and _ref(test).uid != plan.test.uid]
    earlier.sort(key=_newest_last, reverse=True)
    passed = [test for test in earlier if _ref(test).verdict is Verdict.PASSED]
    firsts = list(filter(_lacked_only_a_baseline, earlier))
    judged = [_comparable(plan.spec, test) for test in (*passed, *firsts)]
    if not judged:
        message = "no earlier test of the schedule has passed and is kept. The next test is held against this one"
        return Unusable(Reason.NO_BASELINE, message)
    found = [one for one in judged if isinstance(one, Found)]
    if not found:
        return judged[0]
    oldest = min(found, key=lambda one: (one.ref.completion_time, one.ref.test))
    return found[0] if oldest is found[0] else replace(found[0], oldest=oldest)


def measured_by(test: Manifest) -> LoadTestSpec | None:
    """Return what a test measured if a later test of its schedule can have it as its baseline, else None."""
    if not _is_finished(test) or _ref(test).completion_time is None:
        return None
    sound = _ref(test).verdict is Verdict.PASSED or _lacked_only_a_baseline(test)
    return _measured_spec(test) if sound else None


def is_comparable(ours: LoadTestSpec, measured: LoadTestSpec, delay_ms: float | None) -> bool:
    """Tell whether a run can be held against a test that measured this with so much delay of its generator's own."""
    return not difference(ours, measured) and (delay_ms is None or not compares_figures(ours))


def _comparable(ours: LoadTestSpec, test: Manifest) -> Found | Unusable:
    ref = _ref(test)
    spec = _measured_spec(test)
    if spec is None:
        message = f"the spec of the baseline {ref.test} is not the one that it measured"
        return Unusable(Reason.NO_BASELINE, f"{message}: it was changed since. Run it again", ref)
    field = difference(ours, spec)
    if field:
        message = f"the baseline {ref.test} measured something else: {field}"
        return Unusable(Reason.BASELINE_DIFFERS, message, ref)
    if "endedEarly" in test["status"].get("results", {}):
        message = f"the load of the baseline {ref.test} was ended for a broken threshold, and so where it was worst"
        return Unusable(Reason.NO_BASELINE, message, ref)
    delay_ms = own_delay_ms(test["status"])
    if not is_comparable(ours, spec, delay_ms):
        message = (
            f"the baseline {ref.test} is not clean: its latencies may include {delay_ms:.4g} ms of its generator's own "
            f"delay. Run it again, with whole CPUs for its workers"
        )
        return Unusable(Reason.NO_BASELINE, message, ref)
    return Found(ref, test["status"])


def compares_figures(spec: LoadTestSpec) -> bool:
    """Tell whether anything but capacities is held against the baseline: these rest on trials that were judged."""
    return any(not isinstance(threshold, RelativeCapacity) for threshold in spec.relative_thresholds)


def _measured_spec(test: Manifest) -> LoadTestSpec | None:
    """Return what the test has measured, None where its spec does not say so any more.

    A schedule asks this of each of its tests in each pass: what is not needed is neither parsed nor hashed.
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


def _lacked_only_a_baseline(test: Manifest) -> bool:
    """Tell whether all was well with a test but for its own baseline, as with the first of a row."""
    return word(Reason, test["status"].get("reason")) in (Reason.NO_BASELINE, Reason.BASELINE_DIFFERS)


def _is_finished(test: Manifest) -> bool:
    status = test.get("status") or {}
    return status.get("phase") == Phase.FINISHED


def _is_over_before(test: Manifest, start_time: datetime) -> bool:
    completed = _ref(test).completion_time
    return _is_finished(test) and completed is not None and completed <= start_time


def _newest_last(test: Manifest) -> tuple[datetime, str]:
    ref = _ref(test)
    assert ref.completion_time is not None  # noqa: S101 - those that are sorted are over
    return ref.completion_time, ref.test


def _ref(test: Manifest) -> BaselineRef:
    metadata, status = test["metadata"], test.get("status") or {}
    return BaselineRef(
        test=metadata["name"],
        uid=metadata.get("uid", ""),
        verdict=word(Verdict, status.get("verdict")),
        completion_time=read_time(status.get("completionTime")),
    )
