"""Loads that end early because a threshold stays broken: nothing more is begun, and what was measured is whole."""

from dataclasses import replace
from pathlib import Path

import pytest
from reports import assert_reconciled, counts_of
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.load import BurstLoad, Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import ExecStep
from sshload_contract.thresholds import ErrorRateThreshold, Threshold
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from whole_run import whole_run

LONG_S = 600.0
FEW_ERRORS = ErrorRateThreshold(below=0.0001, abort_on_fail=True)
USERS = UsersLoad(stages=(UsersStage(users=4, duration_s=LONG_S),), spawn_rate=0.0, think_time=ThinkTime(1.0, 1.0))
FAILS = replace(EXEC_TRUE, command="sleep 0.5; exit 3")
FAILS_LATER = replace(EXEC_TRUE, command="case {iteration} in *-?|*-1?|*[02468]) sleep 4;; *) exit 3;; esac")


def with_threshold(server: SshServer, load: Load, step: ExecStep, threshold: Threshold) -> RunConfig:
    config = run_config(endpoint(server), load, workers=2)
    return replace(config, scenario=scenario(step), thresholds=(threshold,), warm_up_s=1.0)


def assert_ended_early(summary: RunSummary, threshold: str) -> None:
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert summary.early_end is not None
    assert summary.early_end.threshold == threshold
    assert summary.trial.load.duration_s == summary.early_end.after_s - 1.0
    assert counts_of(summary, Outcome.UNFINISHED) == 0
    assert_reconciled(summary)


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(arrivals(10, LONG_S), id="arrivals", marks=pytest.mark.full),
        pytest.param(USERS, id="users"),
        pytest.param(BurstLoad(connections=5, repeat=100, interval_s=LONG_S / 100), id="bursts"),
    ],
)
def test_a_load_in_which_all_fails_ends_when_that_is_certain(sshd: SshServer, tmp_path: Path, load: Load) -> None:
    with whole_run(tmp_path, with_threshold(sshd, load, FAILS, FEW_ERRORS)) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert_ended_early(summary, "error rate below 0.01 %")
    assert summary.trial.load.failed == summary.trial.load.started > 1
    assert summary.trial.load.duration_s < LONG_S / 10


def test_the_rates_of_a_load_that_ends_in_its_first_moments_are_no_higher_than_was_asked_for(
    sshd: SshServer, tmp_path: Path
) -> None:
    few_at_once = arrivals(100, 60.0, max_in_flight=10)  # which a slow server too has soon logged in
    config = with_threshold(sshd, few_at_once, replace(EXEC_TRUE, command="exit 3"), FEW_ERRORS)
    with whole_run(tmp_path, replace(config, warm_up_s=0.0)) as run:
        summary = run.summary()
    assert summary.early_end is not None
    assert summary.trial.load.scheduled <= 100 * summary.trial.load.duration_s + config.workers


def test_iterations_under_way_at_an_early_end_come_to_theirs_and_are_in_no_rate(
    sshd: SshServer, tmp_path: Path
) -> None:
    """After the first twenty of each worker, each second one fails at once, so that others are under way then."""
    with whole_run(tmp_path, with_threshold(sshd, arrivals(5, 60.0), FAILS_LATER, FEW_ERRORS)) as run:
        summary = run.summary()
    assert_ended_early(summary, "error rate below 0.01 %")
    in_time = round(summary.trial.load.completed_rate * summary.trial.load.duration_s)
    assert summary.trial.load.failed == counts_of(summary, Outcome.EXIT_CODE) > 0, summary.trial.errors
    assert 0 < in_time < summary.trial.load.succeeded


def test_a_load_that_keeps_its_threshold_runs_to_its_end(sshd: SshServer, tmp_path: Path) -> None:
    kept = ErrorRateThreshold(below=0.5, abort_on_fail=True)
    with whole_run(tmp_path, with_threshold(sshd, arrivals(10, 3.0), EXEC_TRUE, kept)) as run:
        summary = run.summary()
    assert (summary.early_end, summary.trial.load.started, summary.trial.load.duration_s) == (None, 30, 3.0)
