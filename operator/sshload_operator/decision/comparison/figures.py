"""The figures of one test that are compared, from its status; each has a key that names its step and its unit."""

from collections.abc import Iterable, Iterator, Mapping

from sshload_contract.vocabulary import Timing, Verdict

from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import GatewayResult, GeneratorResult, ProxyResult, Results, TargetResult
from sshload_operator.api.status.steps import rank_of

# A broken threshold, or too few samples for one, makes the figures no less true.
MEASURED = frozenset({Verdict.PASSED, Verdict.FAILED, Verdict.INCONCLUSIVE})
CAPACITY = "capacity"
ERROR_PERCENT = "errorPercent"
COMPLETED_RATE = "completedRate"
_STEPS = tuple(step.value for step in Timing)
_PERCENTILES = (50, 90, 99)
_MEAN = "meanMs"
_PARTS = frozenset(_STEPS[: _STEPS.index(Timing.COMMAND)]) - {Timing.LOGIN}
# What all tests together keep is half of what etcd takes as one object: each figure has 60 characters or so.
_MOST_OF_A_TEST = 150
_MOST_OF_ALL_TESTS = 15_000

Figures = Mapping[str, float]


def figures(status: TestStatus) -> Figures:
    """Return a measured test's figures by key: `completedRate`, or `login.p50Ms` of a step; none that is not stated.

    Of a search there is one, its capacity: the rest are of trials at loads that differ from test to test. Where the
    search ended at a bound of its own, that bound is no capacity. A load that was ended for a broken threshold has
    none, because it ended where it was worst.
    """
    results, capacity = status.results, status.capacity
    if results is not None and results.ended_early is not None:
        return {}
    if capacity is not None:
        return {} if capacity.found is None else {CAPACITY: capacity.found}
    return {} if results is None else dict(_figures(results))


def most_of_each(tests: int) -> int:
    """Return how many figures each of so many tests can keep."""
    return min(_MOST_OF_A_TEST, _MOST_OF_ALL_TESTS // tests)


def most_telling(keys: Iterable[str], most: int) -> frozenset[str]:
    """Return at most so many of the keys: whole tests' first, then the whole iteration's, then whole steps' and logins.

    Parts of steps come last. Which stay does not follow from their order, so that they are the same of each test.
    """
    return frozenset(sorted(keys, key=_weight)[:most])


def split(key: str) -> tuple[str, str]:
    """Return the step (empty for a figure of the whole test) and the figure of a key."""
    step, _, figure = key.rpartition(".")
    return step, figure


def is_latency(key: str) -> bool:
    """Return whether the figure of a key is a latency, in milliseconds: those of whole tests are CPU times."""
    step, figure = split(key)
    return bool(step) and figure.endswith("Ms")


def is_of_whole_step(key: str) -> bool:
    """Return whether the figure of a key is of a whole step, the login or the whole iteration, not of a part of one."""
    step, _ = split(key)
    return bool(step) and step.rpartition(".")[2] not in _PARTS


def place(key: str) -> tuple[int, str, int, str]:
    """Return where a key stands among others, to sort by: the whole test's first, then steps as they happen.

    It does not follow from the order in which a status has them, because the API server sorts a map by its keys.
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
        for step in results.steps
        for name, value in ((f"p{percentile}Ms", step.percentile_ms(percentile)) for percentile in _PERCENTILES)
    }
    means = {key: step.mean_ms for step in results.steps if is_of_whole_step(key := f"{step.step}.{_MEAN}")}
    for key, value in (*of_whole_test.items(), *of_steps.items(), *means.items()):
        if value is not None:
            yield key, float(value)
