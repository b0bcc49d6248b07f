from dataclasses import replace

import pytest
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.master_log import SNAPSHOT_LINE_LIMIT_BYTES, snapshot_line
from sshload_contract.snapshot import Stage
from sshload_worker.recording.histogram import LatencyHistogram
from sshload_worker.summary.live import remaining_s, run_stage, snapshot
from sshload_worker.summary.merge import NO_COUNTS
from sshload_worker.summary.progress import NOTHING_YET, Progress

CONFIG = replace(run_config(NOWHERE, arrivals(1, 10)), warm_up_s=2.0, drain_s=5.0)


@pytest.mark.parametrize(
    ("at_s", "stage", "left_s"),
    [
        pytest.param(0.0, Stage.WARM_UP, 12.0, id="the start"),
        pytest.param(2.0, Stage.MEASURING, 10.0, id="the end of the warm-up"),
        pytest.param(12.0, Stage.DRAINING, 5.0, id="the end of the load"),
        pytest.param(20.0, Stage.DRAINING, 0.0, id="overdue"),
    ],
)
def test_the_stage_and_what_is_left_follow_the_plan(at_s: float, stage: Stage, left_s: float) -> None:
    assert run_stage(CONFIG, at_s, started=True) is stage
    assert remaining_s(CONFIG, at_s) == left_s


def test_before_the_start_workers_are_waited_for_and_all_is_left() -> None:
    assert run_stage(CONFIG, 0.0, started=False) is Stage.WAITING_FOR_WORKERS
    assert remaining_s(CONFIG, 0.0) == 12.0


def progress_at(at_s: float, ended: int) -> Progress:
    counts = replace(NO_COUNTS, scheduled=ended + 4, started=ended + 4, succeeded=ended - 1, failed=1)
    return Progress(
        at_s=at_s, users=0, held=3, in_flight=4, counts=counts, totals_ok=LatencyHistogram([7] * (ended - 1))
    )


def test_rates_are_of_the_time_since_the_snapshot_before() -> None:
    told = snapshot(CONFIG, Stage.MEASURING, 2, progress_at(3.0, 100), progress_at(5.0, 400))
    assert (told.offered_rate, told.completed_rate) == (150.0, 150.0)
    assert (told.iterations, told.failures, told.in_flight, told.p99_us) == (400, 1, 4, 7)


def test_where_no_time_has_passed_there_is_no_rate() -> None:
    told = snapshot(CONFIG, Stage.WAITING_FOR_WORKERS, 0, NOTHING_YET, NOTHING_YET)
    assert (told.offered_rate, told.completed_rate, told.p99_us) == (0.0, 0.0, None)


def test_a_snapshot_fits_into_its_line() -> None:
    config = replace(CONFIG, run_id="x" * 253)
    told = snapshot(config, Stage.MEASURING, 10**6, progress_at(1e7 / 3, 10**4), progress_at(2e7 / 3, 10**5))
    assert len(snapshot_line(told)) < SNAPSHOT_LINE_LIMIT_BYTES
