"""What a load comes to, by its spec alone: samples of each timing, and bytes that steps write."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from sshload_contract.steps import ScenarioStep
from sshload_contract.vocabulary import PARTS_OF_AUTH, Timing, owner_and_timing
from sshload_contract.wire.run_config import Scenario, SessionReuse

from sshload_operator.api.spec import LoadTestSpec

_HELD = "held"
_JUMP_HOST = "via"
_LOGIN = frozenset({Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, *PARTS_OF_AUTH, Timing.LOGIN})
_ITERATION = "{iteration}"


def most_samples(spec: LoadTestSpec, step: str) -> float | None:
    """Return how many samples of `step` the least trial's measured window can have; None if that is not known.

    For a step of some alternatives it is what their weights make of it, give or take chance.
    """
    load = spec.load.least
    prefix, timing = owner_and_timing(step)
    held = load.held_sessions if prefix.startswith(_JUMP_HOST) else 0
    if load.held_sessions and prefix == _HELD:
        return load.held_samples(timing)
    if timing in _LOGIN and spec.scenario.session_reuse is SessionReuse.POOL:
        return held  # the pool has logged in before the measured window
    if timing in _LOGIN and spec.scenario.session_reuse is SessionReuse.USER:
        return None
    if spec.locustfile is not None and timing not in {*_LOGIN, Timing.TOTAL}:
        return None
    iterations = load.most_iterations(spec.scenario.slept_s)
    if iterations is None:
        return None
    return held + iterations * spec.scenario.share_of(step) * spec.scenario.samples_of(step)


def most_attempts(spec: LoadTestSpec) -> float | None:
    """Return how many iterations and held sessions a fixed load's measured window can have; None if not known."""
    iterations = spec.load.least.most_iterations(spec.scenario.slept_s)
    return None if iterations is None else spec.load.least.held_sessions + iterations


@dataclass(frozen=True, slots=True)
class WrittenBytes:
    """What stays: once for all iterations (a path without `{iteration}`), and again for each of them, on average.

    `while_running` is what an iteration takes away again before its end, but has there meanwhile.
    """

    once: int
    each: int
    while_running: int


def written_bytes(scenario: Scenario) -> WrittenBytes:
    """Return how much the steps write. What commands and locustfiles do is not known, and counts as nothing."""
    of_mixes = [_written_by(steps) for steps in scenario.mixes]
    weights = [alternative.weight for alternative in scenario.alternatives] or [1]
    return WrittenBytes(
        once=_written_by(scenario.steps).once,
        each=ceil(fmean((mix.each for mix in of_mixes), weights)),
        while_running=max(mix.while_running for mix in of_mixes),
    )


def _written_by(steps: tuple[ScenarioStep, ...]) -> WrittenBytes:
    once = each = while_running = 0
    for path, size_bytes, later in _writes(steps):
        if _ITERATION not in path:
            once += size_bytes
        elif _is_removed(path, later):
            while_running += size_bytes
        else:
            each += size_bytes
    return WrittenBytes(once, each, while_running)


def leaves_files(steps: tuple[ScenarioStep, ...]) -> bool:
    """Return whether the steps write a file that no later one removes."""
    return any(not _is_removed(path, later) for path, _, later in _writes(steps))


def _writes(steps: tuple[ScenarioStep, ...]) -> Iterator[tuple[str, int, tuple[ScenarioStep, ...]]]:
    """Yield the path and size of what each step writes, with the steps that follow it."""
    for index, step in enumerate(steps):
        if step.written is not None:
            yield *step.written, steps[index + 1 :]


def _is_removed(path: str, later: tuple[ScenarioStep, ...]) -> bool:
    """Return whether later steps remove the file, whatever they rename it to before."""
    for step in later:
        path = step.place_after(path)
    return not path
