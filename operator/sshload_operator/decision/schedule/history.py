"""Which finished tests are kept, and what became of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sshload_contract.vocabulary import Verdict

from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.api.status.schedule import MOST_POINTS, TrendPoint
from sshload_operator.decision.baseline.candidates import is_clean
from sshload_operator.decision.baseline.differs import comparable_hash
from sshload_operator.decision.schedule.facts import ScheduledTest


def surplus(spec: ScheduleSpec, tests: Iterable[ScheduledTest]) -> tuple[ScheduledTest, ...]:
    """Return the finished tests beyond the limits, the oldest of each sort: Passed, and every other verdict.

    Those that the next test is held against are kept whatever the limits.
    """
    finished = [test for test in in_order(tests) if test.finished and not test.deleting]
    passed = [test for test in finished if test.verdict is Verdict.PASSED]
    failed = [test for test in finished if test.verdict is not Verdict.PASSED]
    kept = _baselines(spec, finished)
    old = (*_oldest(passed, spec.passed_limit), *_oldest(failed, spec.failed_limit))
    return tuple(test for test in old if test not in kept)


def _baselines(spec: ScheduleSpec, tests: Iterable[ScheduledTest]) -> Sequence[ScheduledTest]:
    """Return the tests that the next one is held against: the last that passed, and the oldest (see find_baseline).

    The installation is taken to be that of the newest of them: those on pods of other resources are no baselines.
    """
    ours = spec.template.parsed
    if ours.baseline is None or ours.baseline.test:
        return ()
    wanted = comparable_hash(ours)
    usable = sorted(
        (test for test in tests if test.measured == wanted and is_clean(ours, test.delay_ms)),
        key=_completion,
    )
    installed = usable[-1].installed if usable else ""
    usable = [test for test in usable if not installed or test.installed in ("", installed)]
    passed = [test for test in usable if test.verdict is Verdict.PASSED]
    return (*usable[:1], *(passed or usable)[-1:])


def in_order(tests: Iterable[ScheduledTest]) -> list[ScheduledTest]:
    """Return the tests by the time that they were scheduled for."""
    return sorted(tests, key=lambda test: (test.time, test.name))


def last_completed(tests: Iterable[ScheduledTest]) -> ScheduledTest | None:
    """Return the finished test that ended last."""
    ended = [test for test in tests if test.finished and test.completion_time is not None]
    return max(ended, key=_completion, default=None)


def last_passed_time(tests: Iterable[ScheduledTest]) -> datetime | None:
    """Return when the last of the tests that passed ended."""
    passed = last_completed(test for test in tests if test.verdict is Verdict.PASSED)
    return passed.completion_time if passed is not None else None


def trend(tests: Iterable[ScheduledTest]) -> tuple[TrendPoint, ...]:
    """Return what the kept runs found, the oldest first, as a status has it."""
    return tuple(_point(test) for test in in_order(tests) if test.finished)[-MOST_POINTS:]


def _oldest(tests: Sequence[ScheduledTest], limit: int) -> Sequence[ScheduledTest]:
    return tests[: max(0, len(tests) - limit)]


def _completion(test: ScheduledTest) -> tuple[datetime, str]:
    assert test.completion_time is not None  # noqa: S101 - the callers have sorted out those without
    return test.completion_time, test.name


def _point(test: ScheduledTest) -> TrendPoint:
    return TrendPoint(
        test=test.name,
        time=test.time,
        verdict=test.verdict,
        capacity=test.figures.capacity,
        capacity_in_words=test.figures.capacity_in_words,
        p99_ms=test.figures.p99_ms,
        completed_rate=test.figures.completed_rate,
    )
