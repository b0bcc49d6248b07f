"""What a whole run counts, and that its counts agree with each other and with the server's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from free_ports import free_port
from played_target import played_target
from reports import assert_reconciled, counts_of
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.judgement.figures import find_step
from sshload_contract.load import ArrivalProcess, BurstLoad, Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.load.waves import WaveLoad
from sshload_contract.steps import SleepStep
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from whole_run import whole_run

BURST = BurstLoad(connections=20, repeat=2, interval_s=1.0)
POISSON = replace(arrivals(20, 3.0), process=ArrivalProcess.POISSON)
WAVE = WaveLoad(2.0, 28.0, 4.0, 1, ArrivalProcess.CONSTANT, max_in_flight=100, seed=1)
USERS = UsersLoad(
    stages=(UsersStage(users=4, duration_s=2.0), UsersStage(users=2, duration_s=1.0)),
    spawn_rate=8.0,
    think_time=ThinkTime(0.01, 0.05),
)

of_one_run = pytest.mark.xdist_group("one run whose counts are read")


@pytest.mark.parametrize(
    ("load", "iterations"),
    [
        pytest.param(arrivals(20, 3.0), 60, id="constant arrivals"),
        pytest.param(POISSON, None, id="Poisson arrivals", marks=pytest.mark.full),
        pytest.param(USERS, None, id="users"),
        pytest.param(BURST, 40, id="burst", marks=pytest.mark.full),
        pytest.param(WAVE, 60, id="wave"),
    ],
)
def test_the_clients_count_is_the_servers(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, load: Load, iterations: int | None
) -> None:
    server = start_sshd("")
    with whole_run(tmp_path, run_config(endpoint(server), load, workers=2)) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert_reconciled(summary)
    assert summary.trial.load.failed == 0, summary.trial.errors
    assert summary.trial.load.started == server.accepted() > 0
    assert sum(agreed.count for agreed in summary.trial.negotiated) == server.accepted()
    if iterations is not None:
        assert summary.trial.load.started == iterations


@dataclass(frozen=True)
class Ended:
    """A run that has ended: what it was told, what it says, and how many logins the server accepted."""

    config: RunConfig
    summary: RunSummary
    accepted: int


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Ended:
    """Run a load with a warm-up, which several tests read."""
    with ssh_server(tmp_path_factory.mktemp("sshd"), keys) as server:
        config = replace(run_config(endpoint(server), arrivals(20, 2.0), workers=2), warm_up_s=1.0)
        with whole_run(tmp_path_factory.mktemp("run"), config) as run:
            return Ended(config, run.summary(), server.accepted())


@of_one_run
def test_the_warm_up_is_told_apart(ended: Ended) -> None:
    summary = ended.summary
    totals = {step.window: step.count for step in summary.trial.steps if step.step == "total"}
    assert totals == {Window.WARM_UP: 20, Window.MEASURED: 40}
    assert summary.trial.load.started == 40
    assert summary.trial.load.duration_s == 2.0
    assert summary.trial.load.offered_rate == summary.trial.load.achieved_rate == 20.0
    assert ended.accepted == 60
    assert_reconciled(summary)


@of_one_run
def test_the_summary_says_what_the_master_was_told(ended: Ended) -> None:
    assert from_json(RunConfig, ended.summary.run_json) == ended.config


@of_one_run
def test_percentiles_are_shown_only_where_samples_suffice(ended: Ended) -> None:
    total = find_step(ended.summary.trial, "total", Window.MEASURED)
    assert total is not None
    assert set(total.percentiles_us) == {"50", "90", "99"}
    assert total.percentiles_us["99"] is None
    assert total.min_us is not None
    assert total.max_us is not None
    assert total.min_us <= (total.percentiles_us["50"] or 0) <= (total.percentiles_us["90"] or 0) <= total.max_us


def test_failures_are_counted_by_step_and_outcome(sshd: SshServer, tmp_path: Path) -> None:
    target = replace(endpoint(sshd), private_key_path=str(sshd.keys.stranger))
    with whole_run(tmp_path, run_config(target, arrivals(20, 1.0), workers=2)) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert [(error.step, error.outcome, error.count) for error in summary.trial.errors] == [
        ("auth", Outcome.AUTH_REJECTED, 20)
    ]
    assert (summary.trial.load.succeeded, summary.trial.load.failed, summary.trial.load.completed_rate) == (0, 20, 0.0)
    assert_reconciled(summary)


def test_arrivals_without_room_are_dropped_and_counted(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(20, 2.0, max_in_flight=2), workers=2)
    with whole_run(tmp_path, replace(config, scenario=scenario(EXEC_TRUE, SleepStep(duration_s=1.0)))) as run:
        summary = run.summary()
    assert summary.trial.load.scheduled == 40
    assert summary.trial.load.dropped > 20
    assert_reconciled(summary)


def test_what_ends_after_the_window_is_counted_and_has_no_part_in_its_rates(sshd: SshServer, tmp_path: Path) -> None:
    slow = replace(EXEC_TRUE, command="sleep 2; printf %01000d 0")
    config = replace(run_config(endpoint(sshd), arrivals(5, 1.0)), scenario=scenario(slow))
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    assert (summary.trial.load.succeeded, summary.trial.load.completed_rate) == (5, 0.0)
    steps = {step.step: (step.count, step.rate, step.bytes_per_second) for step in summary.trial.steps}
    assert steps["total"] == (5, 0.0, None)
    assert steps["command"] == (5, 0.0, 0.0)


def test_what_outlasts_the_drain_is_unfinished(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0), workers=2)
    config = replace(config, scenario=scenario(SleepStep(duration_s=60.0)), drain_s=1.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.COMPLETED
    assert counts_of(summary, Outcome.UNFINISHED) == summary.trial.load.failed == 10
    assert_reconciled(summary)


def test_users_of_a_closed_port_are_told_of_it_and_the_run_ends(sshd: SshServer, tmp_path: Path) -> None:
    """An instant refusal must not keep the event loop from anything else: the run still ends in time."""
    with played_target() as stats_url:
        target = replace(endpoint(sshd), port=free_port(), known_hosts_path="")
        load = UsersLoad((UsersStage(users=2, duration_s=1.0),), 0.0, ThinkTime(0.0, 0.0))
        config = replace(run_config(target, load), stats_url=stats_url)
        with whole_run(tmp_path, config) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert counts_of(summary, Outcome.REFUSED) == summary.trial.load.started > 0
    assert summary.trial.load.duration_s == 1.0
    assert_reconciled(summary)
