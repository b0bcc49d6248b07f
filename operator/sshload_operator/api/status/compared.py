"""The figures of a test's status that are compared. The key of each names its step and its unit."""

from collections.abc import Iterable, Mapping
from typing import Final

from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import Timing, owner_and_timing

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.measured import CAPACITY, COMPARED, figures
from sshload_operator.api.status.steps import rank_of

_MEAN = "meanMs"
_PARTS = frozenset(TIMINGS[: TIMINGS.index(Timing.COMMAND)]) - {Timing.LOGIN}
# The figures of all tests take half of etcd's limit for one object: each has about 60 characters.
_MOST_OF_A_TEST: Final = 150
_MOST_OF_ALL_TESTS: Final = 15_000
_DECIMALS: Final = ((100.0, 0), (10.0, 1), (1.0, 2), (0.0, 3))

Figures = Mapping[str, float]


def compared_figures(status: TestStatus) -> Figures:
    """Return the stated figures of a measured test by key: `completedRate`, or `login.p50Ms` for a step.

    A search has only one, its capacity, because the others are of trials whose load differs between tests. If the
    search ended at its min or max, it has none: that bound is not a capacity. A load that was ended because a threshold
    was broken has none either, because it ended at its worst. Of the parts of steps no means are compared.
    """
    if status.results is not None and status.results.ended_early is not None:
        return {}
    stated = ((one.key, one) for one in figures(status) if one.name in COMPARED)
    return {
        key: float(one.value)
        for key, one in stated
        if one.value is not None
        and (one.name == CAPACITY or status.capacity is None)
        and (one.name != _MEAN or _is_of_whole_step(split(key)[0]))
    }


def most_of_each(tests: int) -> int:
    """Return how many figures can be kept for each of so many tests."""
    return min(_MOST_OF_A_TEST, _MOST_OF_ALL_TESTS // tests)


def most_telling(keys: Iterable[str], most: int) -> frozenset[str]:
    """Return at most `most` of the keys: first those of whole tests, then of whole iterations, whole steps and logins.

    Parts of steps come last. The choice does not depend on the order of the keys, so it is the same for each test.
    """
    return frozenset(sorted(keys, key=_weight)[:most])


def split(key: str) -> tuple[str, str]:
    """Return the step (empty for a figure of the whole test) and the figure of a key."""
    step, _, figure = key.rpartition(".")
    return step, figure


def is_latency(key: str) -> bool:
    """Return whether the figure of a key is a latency. Milliseconds of a whole test are CPU time."""
    step, figure = split(key)
    return bool(step) and figure.endswith("Ms")


def _is_of_whole_step(step: str) -> bool:
    """Return whether a measured step is a whole one, the login or the whole iteration, not a part of one."""
    return owner_and_timing(step)[1] not in _PARTS


def place(key: str) -> tuple[int, str, int, str]:
    """Return the sort key of a figure's key: the whole test first, then steps in the order in which they happen.

    A comparison's status has the figures of its tests in maps, which the API server sorts by their keys.
    """
    step, figure = split(key)
    if not step:
        return 0, "", 0, figure
    group, rank = rank_of(step)
    return group, owner_and_timing(step)[0], rank, figure


def _weight(key: str) -> tuple[int, str]:
    step, _ = split(key)
    if not step:
        return 0, key
    return (1 if step == Timing.TOTAL else 2 if _is_of_whole_step(step) else 3), key


def milliseconds_text(difference_ms: float) -> str:
    """Return a difference with its sign, rounded to three digits or the microsecond: `+1,120`, `-3.25`, `+0.041`."""
    decimals = next(decimals for least, decimals in _DECIMALS if abs(difference_ms) >= least)
    return f"{difference_ms:+,.{decimals}f}"
