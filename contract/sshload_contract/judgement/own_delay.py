"""OwnDelay: how much of a latency may be the generator's own delay, by the lag of its event loop and of its starts.

docs/reference/validity.md has the rule and its reasons.
"""

from dataclasses import dataclass

from sshload_contract.judgement.figures import find_step
from sshload_contract.percentiles import percentile_key
from sshload_contract.steal import is_stolen
from sshload_contract.vocabulary import Invalidity, Timing, Window
from sshload_contract.wire.run_summary import GeneratorStats, StepStats, Trial

CPU_SHARE_LIMIT = 0.9
SOUND_BELOW_US = 20_000
SOUND_SHARE_OF_LIMIT = 0.1
PROMPT_BELOW_US = 5_000
"""A median delay up to which a worker is prompt but for its pauses: ten such delays are a pause of 50 ms."""

HIDDEN_DELAYS = 2
"""A timing with delays in it may be shorter than without them, by at most so many of the largest delays."""

ADDED_DELAYS = 10
"""Any timing may be longer than without delays, by at most so many of the largest: so often it waits for the loop."""

MAY_DIFFER = "the generator's own delays may have made the difference"
_COMMON_PERCENTILE = 90.0
_RARE_PERCENTILE = 99.0
MORE_CPU = (
    "Use more workers (spec.workers.replicas), whole CPUs for them, or nodes that they do not share with the target"
)
OTHER_MACHINE = "Use another machine, or one with dedicated CPUs: more workers and whole CPUs do not help"


@dataclass(frozen=True, slots=True)
class OwnDelay:
    """The delays of the worst worker in microseconds: the larger of the event loop's lag and the delay of starts.

    A timing of an iteration may contain several such delays.
    """

    p50_us: int
    p99_us: int
    p999_us: int
    largest_us: int
    cpu_share: float | None
    invalidity: Invalidity
    figures: str
    stolen_share: float | None = None

    def at(self, percentile: float) -> int:
        """Return the delay to compare with a percentile of a latency: one that is at least ten times as rare.

        A pause of the generator also delays the iterations that follow those in flight.
        """
        if percentile <= _COMMON_PERCENTILE:
            return self.p99_us
        return self.p999_us if percentile <= _RARE_PERCENTILE else self.largest_us

    def is_small(self, percentile: float, limit_us: float) -> bool:
        """Return whether a percentile of a latency can be compared with a limit as it was measured."""
        tolerated_us = max(SOUND_BELOW_US, SOUND_SHARE_OF_LIMIT * limit_us)
        return not self.is_cpu_used_up and self.at(percentile) <= tolerated_us

    @property
    def is_cpu_used_up(self) -> bool:
        """Whether a worker used up its CPU in its busiest second."""
        return _is_used_up(self.cpu_share)

    @property
    def is_small_beside_any_limit(self) -> bool:
        """Whether thresholds can be judged as measured, whatever their limits are."""
        return self.is_small(_COMMON_PERCENTILE, 0)

    @property
    def is_lasting(self) -> bool:
        """Whether the worker was late nearly all the time, and not only in pauses."""
        return self.is_cpu_used_up or self.p50_us > PROMPT_BELOW_US

    @property
    def advice(self) -> str:
        """What was seen, and what to change."""
        if self.invalidity is not Invalidity.CPU_STOLEN:
            return f"{self.figures}. {MORE_CPU}"
        return f"{self.figures}. {steal_in_words(self.stolen_share or 0.0)}. {OTHER_MACHINE}"


def own_delay(trial: Trial) -> OwnDelay:
    """Return the generator's own delay in a run or trial."""
    generator, starts = trial.generator, find_step(trial, Timing.START_DELAY, Window.MEASURED)
    start_p50_us, start_p99_us, start_p999_us = (_start_delay(starts, percentile) for percentile in (50, 99, 99.9))
    start_max_us = _start_delay(starts, None)
    largest_us = max(generator.loop_lag_max_us, start_max_us)
    return OwnDelay(
        p50_us=max(generator.loop_lag_p50_us, start_p50_us),
        p99_us=max(generator.loop_lag_p99_us, start_p99_us),
        p999_us=max(generator.loop_lag_p999_us, start_p999_us),
        largest_us=largest_us,
        cpu_share=generator.cpu_share,
        invalidity=_cause(generator, start_max_us),
        figures=_figures(trial, start_max_us),
        stolen_share=generator.stolen_share,
    )


def steal_in_words(share: float) -> str:
    """Return a sentence, without its full stop, on the CPU time that a host took from a worker's machine."""
    return f"The host of a worker's machine gave {share:.0%} of its CPU time to others (steal)"


def _cause(generator: GeneratorStats, start_max_us: int) -> Invalidity:
    if is_stolen(generator.stolen_share):
        return Invalidity.CPU_STOLEN
    if start_max_us > generator.loop_lag_max_us and not _is_used_up(generator.cpu_share):
        return Invalidity.LATE_ARRIVALS
    return Invalidity.GENERATOR_SATURATED


def _is_used_up(cpu_share: float | None) -> bool:
    return cpu_share is not None and cpu_share > CPU_SHARE_LIMIT


def _start_delay(starts: StepStats | None, percentile: float | None) -> int:
    """Return a percentile of the delay of starts; the longest delay if that is not stated, or for None."""
    if starts is None:
        return 0
    stated_us = None if percentile is None else starts.percentiles_us.get(percentile_key(percentile))
    return (starts.max_us or 0) if stated_us is None else stated_us


def _figures(trial: Trial, start_max_us: int) -> str:
    generator = trial.generator
    waited = "this kernel does not report how long it waited for a CPU"
    if generator.run_delay_share is not None:
        waited = f"for {generator.run_delay_share:.0%} of the time it was ready to run and got no CPU"
    used = "its CPU use is not known, because the run took less than a second"
    if generator.cpu_share is not None:
        used = f"a worker used {generator.cpu_share:.0%} of the CPU that it may use in its busiest second"
    return (
        f"A worker's event loop woke up to {generator.loop_lag_max_us / 1_000:.1f} ms late "
        f"({generator.loop_lag_p99_us / 1_000:.1f} ms at p99), iterations began up to {start_max_us / 1_000:.1f} ms "
        f"after they were due, {used}, and "
        f"{waited}"
    )
