"""What makes a summary invalid, at the limits, and with which number it is told."""

from dataclasses import replace
from typing import Any

import pytest
from runs import errors, generator, load, retold, steps, summary, target_stats
from sshload_contract.judgement.figures import total_step
from sshload_contract.judgement.validity import arrivals_dropped, defects, figures_spoiled, tail_us
from sshload_contract.vocabulary import Invalidity, Outcome, Window
from sshload_contract.wire.report import PORTS_SHARE_LIMIT
from sshload_contract.wire.run_summary import GeneratorStats, RunSummary, StepStats

ALL_PORTS = 1_000
MOST_PORTS = round(PORTS_SHARE_LIMIT * ALL_PORTS)


def told(found: RunSummary) -> list[tuple[Invalidity, str]]:
    return [(defect.invalidity, defect.message) for defect in defects(found.trial, managed=True)]


def total(found: RunSummary) -> StepStats:
    step = total_step(found.trial, Window.MEASURED)
    assert step is not None
    return step


@pytest.mark.parametrize(("used", "is_valid"), [(MOST_PORTS, True), (MOST_PORTS + 1, False)])
def test_as_many_source_ports_as_the_limit_may_be_used(used: int, *, is_valid: bool) -> None:
    found = told(summary(generator=generator(ports_used=used, ports_available=ALL_PORTS)))
    assert [invalidity for invalidity, _ in found] == [Invalidity.SOURCE_PORTS_USED_UP] * (not is_valid)


@pytest.mark.parametrize(
    "lost",
    [
        generator(workers_expected=5, workers_connected=5, workers_lost=2),
        generator(workers_expected=5, workers_connected=3),
        generator(workers_expected=5, workers_connected=4, workers_lost=2),
    ],
    ids=["lost", "never came", "both"],
)
def test_workers_that_came_not_and_those_that_were_lost_are_told_by_the_larger_number(lost: GeneratorStats) -> None:
    ((invalidity, message),) = told(summary(generator=lost))
    assert invalidity is Invalidity.WORKER_LOST
    assert message.startswith("2 of 5 workers")


def test_the_only_source_port_that_there_is_can_be_used_up() -> None:
    found = told(summary(generator=generator(ports_used=1, ports_available=1)))
    assert [invalidity for invalidity, _ in found] == [Invalidity.SOURCE_PORTS_USED_UP]


def test_failures_that_the_histograms_do_not_have_are_a_disagreement() -> None:
    found = summary(600, 10, load=load(600, 10), steps=steps(600, 9))
    assert [invalidity for invalidity, _ in told(found)] == [Invalidity.COUNTS_DISAGREE]
    assert told(summary(600, 10)) == []


def test_the_tail_is_the_highest_percentile_that_is_stated_else_the_longest_latency() -> None:
    step, stated = total(summary()), {"50": 1, "90": 2, "95": 3, "99": 4}
    for percentile in ("99", "95", "90", "50"):
        assert tail_us(replace(step, percentiles_us=stated)) == stated[percentile]
        del stated[percentile]
    assert tail_us(replace(step, percentiles_us=stated)) == step.max_us
    assert tail_us(replace(step, percentiles_us={}, max_us=None)) == 0


def test_what_the_target_had_accepted_before_the_run_is_not_of_the_run() -> None:
    before = target_stats(50)
    assert told(summary(target_before=before, target_after=target_stats(750))) == []
    assert told(summary(target_before=before, target_after=target_stats(749))) == [
        (
            Invalidity.COUNTS_DISAGREE,
            (
                "the target accepted 699 logins, 1 fewer than the 700 that the workers count: it was restarted, or"
                " something else answered in its place"
            ),
        )
    ]


@pytest.mark.parametrize(("changes", "when"), [({"target_before": None}, "start"), ({"target_after": None}, "end")])
def test_a_target_that_could_not_be_read_confirms_nothing(changes: dict[str, Any], when: str) -> None:
    said = f"the target's own count of logins could not be read at the {when}, so nothing confirms the workers' 700"
    assert told(summary(**changes)) == [(Invalidity.COUNTS_DISAGREE, said)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            summary(load=load(600, scheduled=601)),
            "601 iterations were due, but 600 were begun and 0 dropped. Samples were lost: run again",
        ),
        (
            summary(load=load(600, scheduled=601, started=601)),
            "601 iterations were begun, but 600 succeeded and 0 failed. Samples were lost: run again",
        ),
        (
            summary(600, steps=steps(599, 0)),
            (
                "599 iterations were timed and 0 failed by the histograms, but 600 and 0 by the workers' counters."
                " Samples were lost: run again"
            ),
        ),
        (
            summary(generator=generator(overflows=1)),
            "1 latencies were longer than the 100 hours that a histogram holds. Shorten spec.client.timeouts",
        ),
    ],
    ids=["due", "begun", "timed", "too long"],
)
def test_counts_that_disagree_are_told(found: RunSummary, said: str) -> None:
    assert told(found) == [(Invalidity.COUNTS_DISAGREE, said)]


def test_arrivals_that_were_dropped_were_neither_begun_nor_lost() -> None:
    found = summary(load=load(600, scheduled=615, dropped=15, offered_rate=20.5))
    assert told(found) == []
    dropped = arrivals_dropped(found.trial)
    assert dropped is not None
    assert dropped.message.startswith(
        "15 of 615 arrivals found maxInFlight iterations under way and were not begun (limit 0): 20.0/s were begun of"
        " 20.5/s."
    )
    assert arrivals_dropped(summary().trial) is None


def test_each_fault_of_the_workers_is_counted_and_the_first_that_has_words_is_quoted() -> None:
    faults = (*errors(2, Outcome.GENERATOR_FAULT, ""), *errors(3, Outcome.GENERATOR_FAULT, "no memory"), *errors(5))
    assert told(summary(590, 10, errors=faults)) == [
        (
            Invalidity.GENERATOR_FAULT,
            "5 failures were the workers' own fault (no memory) (limit 0). See the workers' logs, and run again",
        )
    ]
    never = (replace(faults[0], count=0),)
    assert told(summary(600, errors=never)) == []


def test_a_worker_whose_ports_are_not_known_has_not_used_them_up() -> None:
    assert told(summary(generator=generator(ports_used=5, ports_available=0))) == []


def test_a_run_in_which_nothing_was_timed_has_no_histograms_to_disagree_with() -> None:
    assert told(summary(0, steps=(), load=load(0))) == []


def test_of_several_defects_the_most_serious_is_named_first_and_all_are_told() -> None:
    everything = retold(
        summary(
            590,
            10,
            load=load(590, 10, scheduled=700),
            errors=errors(2, Outcome.GENERATOR_FAULT, "no memory"),
            generator=generator(workers_lost=1, reports_missing=1, ports_used=ALL_PORTS, ports_available=ALL_PORTS),
        ),
        target_after=None,
    )
    assert [invalidity for invalidity, _ in told(everything)] == [
        Invalidity.WORKER_LOST,
        Invalidity.REPORTS_MISSING,
        Invalidity.GENERATOR_FAULT,
        Invalidity.COUNTS_DISAGREE,
        Invalidity.COUNTS_DISAGREE,
        Invalidity.SOURCE_PORTS_USED_UP,
    ]
    assert [one.invalidity for one in defects(everything.trial, managed=False)].count(Invalidity.COUNTS_DISAGREE) == 1


@pytest.mark.parametrize(("missing", "said"), [(0, []), (1, ["1 reports of workers never reached"])])
def test_not_one_report_may_be_missing(missing: int, said: list[str]) -> None:
    found = told(summary(generator=generator(reports_missing=missing)))
    assert [message[:34] for _, message in found] == said


def spoiled(p99_us: int, *, tail: int = 1_000_000, slept_s: float = 0.0, cpu_share: float = 0.1) -> str | None:
    """Return why figures with this tail are spoiled by a generator that lagged so much."""
    found = summary(generator=generator(loop_lag_p99_us=p99_us, loop_lag_max_us=p99_us, cpu_share=cpu_share))
    percentiles = {**total(found).percentiles_us, "99": tail}
    slow = retold(
        found,
        steps=tuple(
            replace(step, percentiles_us=percentiles) if step == total(found) else step for step in found.trial.steps
        ),
    )
    defect = figures_spoiled(slow.trial, slept_s)
    return None if defect is None else defect.message


def test_figures_are_spoiled_by_a_delay_of_more_than_a_tenth_of_their_tail_without_its_sleeps_or_of_20_ms() -> None:
    assert spoiled(100_000) is None
    assert spoiled(100_001) is not None
    assert spoiled(50_000, slept_s=0.5) is None
    assert spoiled(50_001, slept_s=0.5) is not None
    assert spoiled(20_000, tail=1_000) is None
    assert spoiled(20_001, tail=1_000) is not None


def test_a_spoiled_figure_says_by_how_much_it_may_be_and_the_limit_in_milliseconds() -> None:
    message = spoiled(150_000)
    assert message is not None
    assert "150.0 ms of the generator's own delay (limit 100.0 ms at p99" in message


def test_figures_of_a_worker_that_used_up_its_core_are_spoiled_however_little_it_lagged() -> None:
    assert spoiled(1, cpu_share=1.0) is not None


def test_a_scenario_that_does_not_sleep_has_nothing_taken_from_its_tail() -> None:
    slow = summary(generator=generator(loop_lag_p99_us=60_000, loop_lag_max_us=60_000))
    percentiles = {**total(slow).percentiles_us, "99": 1_000_000}
    steps_of = (replace(step, percentiles_us=percentiles) if step == total(slow) else step for step in slow.trial.steps)
    assert figures_spoiled(retold(slow, steps=tuple(steps_of)).trial) is None


def test_without_an_iteration_the_limit_of_the_delay_is_20_ms() -> None:
    for lag_us, is_spoiled in ((20_000, False), (20_001, True)):
        nothing = summary(0, steps=(), load=load(0), generator=generator(loop_lag_p99_us=lag_us))
        assert (figures_spoiled(nothing.trial) is not None) is is_spoiled
