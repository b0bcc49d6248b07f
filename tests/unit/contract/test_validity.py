"""What makes a summary invalid, at the limits, and with which number it is told."""

from dataclasses import replace

import pytest
from runs import generator, load, steps, summary
from sshload_contract.judgement.figures import total_step
from sshload_contract.judgement.validity import defects, tail_us
from sshload_contract.vocabulary import Invalidity, Window
from sshload_contract.wire.report import PORTS_SHARE_LIMIT
from sshload_contract.wire.run_summary import GeneratorStats, RunSummary, StepStats

ALL_PORTS = 1_000
MOST_PORTS = round(PORTS_SHARE_LIMIT * ALL_PORTS)


def told(found: RunSummary) -> list[tuple[Invalidity, str]]:
    return [(defect.invalidity, defect.message) for defect in defects(found, managed=True)]


def total(found: RunSummary) -> StepStats:
    step = total_step(found, Window.MEASURED)
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
