"""The figures of a test's status that are compared. The key of each names its step and its unit."""

from collections.abc import Iterable, Iterator, Mapping

from sshload_contract.vocabulary import Timing

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import GatewayResult, GeneratorResult, ProxyResult, Results, TargetResult
from sshload_operator.api.status.steps import rank_of

CAPACITY = "capacity"
ERROR_PERCENT = "errorPercent"
COMPLETED_RATE = "completedRate"
_STEPS = tuple(step.value for step in Timing)
_PERCENTILES = (50, 90, 99)
_MEAN = "meanMs"
_PARTS = frozenset(_STEPS[: _STEPS.index(Timing.COMMAND)]) - {Timing.LOGIN}
# The figures of all tests take half of etcd's limit for one object: each has about 60 characters.
_MOST_OF_A_TEST = 150
_MOST_OF_ALL_TESTS = 15_000

Figures = Mapping[str, float]


def figures(status: TestStatus) -> Figures:
    """Return the stated figures of a measured test by key: `completedRate`, or `login.p50Ms` for a step.

    A search has only one, its capacity, because the others are of trials whose load differs between tests. If the
    search ended at its min or max, it has none: that bound is not a capacity. A load that was ended because a threshold
    was broken has none either, because it ended at its worst.
    """
    results, capacity = status.results, status.capacity
    if results is not None and results.ended_early is not None:
        return {}
    if capacity is not None:
        return {} if capacity.found is None else {CAPACITY: capacity.found}
    return {} if results is None else dict(_figures(results))


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


def is_of_whole_step(key: str) -> bool:
    """Return whether the figure of a key is of a whole step, the login or the whole iteration, not of a part of one."""
    step, _ = split(key)
    return bool(step) and step.rpartition(".")[2] not in _PARTS


def place(key: str) -> tuple[int, str, int, str]:
    """Return the sort key of a figure's key: the whole test first, then steps in the order in which they happen.

    The order in a status cannot be used, because the API server sorts a map by its keys.
    """
    step, figure = split(key)
    if not step:
        return 0, "", 0, figure
    group, rank = rank_of(step)
    return group, step.rpartition(".")[0], rank, figure


def _weight(key: str) -> tuple[int, str]:
    step, _ = split(key)
    if not step:
        return 0, key
    return (1 if step == Timing.TOTAL else 2 if is_of_whole_step(key) else 3), key


def _figures(results: Results) -> Iterator[tuple[str, float]]:
    target, generator = results.target or TargetResult(), results.generator or GeneratorResult()
    proxy, gateway = results.proxy or ProxyResult(), results.gateway or GatewayResult()
    of_whole_test = {
        ERROR_PERCENT: results.error_percent,
        COMPLETED_RATE: results.completed_rate,
        "cpuPerLoginMs": target.cpu_per_login_ms,
        "cpuPerIterationMs": target.cpu_per_iteration_ms,
        "memoryPeakBytes": target.memory_peak_bytes,
        "memoryPerSessionBytes": target.memory_per_session_bytes,
        "proxyCpuPerLoginMs": proxy.cpu_per_login_ms,
        "proxyCpuPerIterationMs": proxy.cpu_per_iteration_ms,
        "proxyMemoryPeakBytes": proxy.memory_peak_bytes,
        "gatewayCpuPerIterationMs": gateway.cpu_per_iteration_ms,
        "gatewayMemoryPeakBytes": gateway.memory_peak_bytes,
        "generatorCpuPerIterationMs": generator.cpu_per_iteration_ms,
        "generatorMemoryPeakBytes": generator.memory_peak_bytes,
    }
    of_steps = {
        f"{step.step}.{name}": value
        for step in results.all_steps
        for name, value in ((f"p{percentile}Ms", step.percentile_ms(percentile)) for percentile in _PERCENTILES)
    }
    means = {key: step.mean_ms for step in results.all_steps if is_of_whole_step(key := f"{step.step}.{_MEAN}")}
    for key, value in (*of_whole_test.items(), *of_steps.items(), *means.items()):
        if value is not None:
            yield key, float(value)
