"""Searches for the capacity of servers whose limit is known, by a real master and real workers."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import gevent
import pytest
from master_here import master_here
from played_target import played_target, quiet
from run_configs import EXEC_TRUE, LONG, arrivals, endpoint, run_config, scenario
from runs import target_stats
from ssh_server import SshServer
from sshload_contract.load import BurstLoad, HoldLoad, Load, Search
from sshload_contract.steps import SleepStep
from sshload_contract.thresholds import ErrorRateThreshold
from sshload_contract.vocabulary import RunEnd, SearchEnd, TrialState
from sshload_contract.wire.master_log import Stage, read_master_log
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary, SearchOutcome
from sshload_contract.wire.target import TargetStats
from sshload_operator.local.process_tree import at_real_time, may_run_at_real_time
from sshload_worker.coordination.master import Master
from unkind_servers import limited_relay
from whole_run import WholeRun, whole_run

LIMIT = 6
NO_ERRORS = ErrorRateThreshold(below=0.01)
BURST = BurstLoad(connections=2, repeat=1, interval_s=1.0)
HOLD = HoldLoad(sessions=2, ramp_up_s=0.2, duration_s=4.0, keep_alive_s=0.0, probe_rate=0.0)
ARRIVALS = arrivals(4, 1.0)


def searching(server: SshServer, port: int, load: Load, most: float, **changes: Any) -> RunConfig:
    """Return a search from the load on, of iterations that take a second more than the login: so long is the trial."""
    target = replace(endpoint(server), port=port, known_hosts_path="")
    search = Search(load, most, precision=0.05, confirm=1, budget_s=120.0)
    return replace(
        run_config(target, load, workers=2),
        scenario=scenario(EXEC_TRUE, SleepStep(1.0)),
        load=replace(search, **changes),
        thresholds=(NO_ERRORS,),
        drain_s=5.0,
    )


def found(summary: RunSummary) -> SearchOutcome:
    assert summary.search is not None
    assert [trial.number for trial in summary.trials] == list(range(1, len(summary.trials) + 1))
    starts = [trial.started_s for trial in summary.trials]
    assert starts == sorted(set(starts))
    assert starts[0] == 0.0
    return summary.search


@pytest.mark.alone
@pytest.mark.full
def test_two_searches_at_a_time_each_find_the_limit_of_their_server(sshd: SshServer, tmp_path: Path) -> None:
    """Each run has its CPU as a local run has it, so that no trial is invalid because of who else is busy."""
    launcher = at_real_time([]) if may_run_at_real_time() else []
    with ExitStack() as searches:
        runs = []
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            port = searches.enter_context(limited_relay(sshd.port, LIMIT))
            runs.append(searches.enter_context(whole_run(folder, long_bursts(sshd, port), launcher=launcher)))
        for run in runs:
            assert_limit_found(run.summary())
            assert run.exit_codes() == [0, 0], run.stderr_path.read_text()


def assert_limit_found(summary: RunSummary) -> None:
    assert (summary.end, summary.message) == (RunEnd.COMPLETED, "")
    result = found(summary)
    said = [(trial.amount, trial.message) for trial in summary.trials]
    assert (result.end, result.lower, result.upper) == (SearchEnd.FOUND, LIMIT, LIMIT + 1), said
    for trial in summary.trials:
        assert trial.state in {TrialState.INVALID, passes(trial.amount <= LIMIT)}, said
        assert trial.load.started == trial.amount
    reported = summary.trial
    assert (reported.amount, reported.state) == (LIMIT, TrialState.PASSED)
    assert (summary.trial.load, summary.trial.generator) == (reported.load, reported.generator)
    assert sum(agreed.count for agreed in summary.trial.negotiated) == LIMIT


def long_bursts(server: SshServer, port: int) -> RunConfig:
    """Return a search by bursts whose connections are all open at once, even if one worker hears of its start late."""
    config = searching(server, port, replace(BURST, connections=4), 100, budget_s=600.0)
    return replace(config, scenario=scenario(EXEC_TRUE, SleepStep(1.5)), drain_s=LONG)


def passes(holds: bool) -> TrialState:  # noqa: FBT001 - a verdict by what it is
    return TrialState.PASSED if holds else TrialState.FAILED


def in_trial(run: WholeRun, number: int) -> Callable[[], bool]:
    """Tell whether the trial of this number is under way."""

    def is_under_way() -> bool:
        snapshot = run.log().snapshot
        return snapshot is not None and snapshot.search is not None and snapshot.search.trial >= number

    return is_under_way


def assert_ended_in_mid_search(summary: RunSummary, end: RunEnd, trials: int) -> None:
    result = found(summary)
    assert (summary.end, result.end) == (end, SearchEnd.RUN_ENDED)
    assert len(summary.trials) >= trials
    assert all(trial.load.started > 0 for trial in summary.trials[:trials])


def test_a_worker_that_is_killed_in_mid_search_ends_the_run_with_the_trials_so_far(
    sshd: SshServer, tmp_path: Path
) -> None:
    with whole_run(tmp_path, searching(sshd, sshd.port, ARRIVALS, 8, confirm=5)) as run:
        run.wait_until(in_trial(run, 2), "the second trial")
        run.workers[1].kill()
        summary = run.summary()
    assert_ended_in_mid_search(summary, RunEnd.WORKER_LOST, trials=1)
    assert "worker 1" in summary.message


def test_a_worker_that_is_told_to_go_in_mid_search_is_lost_at_once(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, searching(sshd, sshd.port, ARRIVALS, 8, confirm=5)) as run:
        run.wait_until(in_trial(run, 2), "the second trial")
        run.workers[0].terminate()
        summary = run.summary()
        assert run.exit_codes() == [1, 0]
    assert_ended_in_mid_search(summary, RunEnd.WORKER_LOST, trials=1)
    assert "worker 0 left: told to terminate" in summary.message


def test_a_master_that_is_told_to_go_in_mid_search_tells_what_it_has(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, searching(sshd, sshd.port, ARRIVALS, 8, confirm=5)) as run:
        run.wait_until(in_trial(run, 3), "the third trial")
        run.master.terminate()
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert_ended_in_mid_search(summary, RunEnd.STOPPED, trials=2)


def is_in_second_trial(master: Master) -> bool:
    return master.trial.started and master.trial.order.number >= 2


def test_a_server_that_dies_in_mid_search_is_not_searched_for_its_limit(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_sshd("")
    with master_here(tmp_path, searching(server, server.port, ARRIVALS, 8, confirm=5), capsys) as run:
        run.begin()
        run.wait_until(is_in_second_trial)
        server.process.terminate()
        run.lose_patience()
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert_ended_in_mid_search(summary, RunEnd.TARGET_UNREACHABLE, trials=1)
    assert re.search(r"was not ready again within \d+ s", summary.message)
    assert "Connection refused" in summary.message


def test_no_trial_is_begun_that_would_end_after_the_budget(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, searching(sshd, sshd.port, ARRIVALS, 8, confirm=5, budget_s=5.0)) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    result = found(summary)
    assert (summary.end, result.end) == (RunEnd.COMPLETED, SearchEnd.OUT_OF_TIME)
    assert summary.trials[-1].started_s + 1.0 <= 5.0


def test_a_target_that_is_gone_is_not_waited_for_beyond_the_budget(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_sshd("")
    with master_here(tmp_path, searching(server, server.port, ARRIVALS, 8, confirm=5), capsys) as run:
        run.begin()
        run.wait_until(is_in_second_trial)
        server.process.terminate()
        run.wait_until(lambda master: master._is_settling and master._is_target_gone)
        run.use_up_budget()
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert_ended_in_mid_search(summary, RunEnd.TARGET_UNREACHABLE, trials=1)
    assert "Connection refused" in summary.message


def test_a_target_that_never_comes_to_rest_is_not_waited_for_beyond_the_budget(sshd: SshServer, tmp_path: Path) -> None:
    """That it was not ready for a moment is over by then."""

    def restless(fetch: int) -> TargetStats:
        return target_stats(accepted=fetch * 10_000, sessions=0 if fetch < 2 else 5)

    with played_target(restless, lambda ask: ask != 2) as stats_url:
        config = searching(sshd, sshd.port, BURST, 8, budget_s=5.0)
        with whole_run(tmp_path, replace(config, stats_url=stats_url)) as run:
            summary = run.summary()
            assert run.exit_codes() == [0, 0]
    result = found(summary)
    assert (summary.end, result.end) == (RunEnd.COMPLETED, SearchEnd.OUT_OF_TIME)
    assert [trial.number for trial in summary.trials] == [1]


def test_a_target_that_tells_its_counts_after_the_budget_gets_no_trial_for_them(
    sshd: SshServer, tmp_path: Path
) -> None:
    def late(fetch: int) -> TargetStats:
        if fetch == 5:  # before the second trial, once it was found idle
            gevent.sleep(4.5)
        return quiet(fetch)

    with played_target(late) as stats_url:
        config = searching(sshd, sshd.port, BURST, 8, budget_s=5.0)
        with whole_run(tmp_path, replace(config, stats_url=stats_url)) as run:
            summary = run.summary()
            assert run.exit_codes() == [0, 0]
    result = found(summary)
    assert (summary.end, result.end) == (RunEnd.COMPLETED, SearchEnd.OUT_OF_TIME)
    assert [trial.number for trial in summary.trials] == [1]


def test_a_trial_begins_once_the_target_is_idle_after_the_one_before(sshd: SshServer, tmp_path: Path) -> None:
    """From the end of the first trial on, the played target has sessions until the master has said that it waits."""
    waits = False

    def stats(fetch: int) -> TargetStats:
        return target_stats(accepted=fetch * 10_000, sessions=5 if fetch > 2 and not waits else 0)

    with played_target(stats) as stats_url:
        config = replace(searching(sshd, sshd.port, BURST, 2), stats_url=stats_url)
        with whole_run(tmp_path, config) as run:
            run.wait_until(
                lambda: (told := run.log().snapshot) is not None and told.stage is Stage.SETTLING, "settling"
            )
            waits = True
            summary = run.summary()
    assert found(summary).others
    assert all(trial.target_before is not None and trial.target_before.sessions == 0 for trial in summary.trials)


@pytest.mark.parametrize("searched", [False, True], ids=["a plain run", "a search"])
def test_the_targets_counts_are_taken_while_sessions_are_held(
    sshd: SshServer,
    tmp_path: Path,
    searched: bool,  # noqa: FBT001 - as parametrised
) -> None:
    with played_target() as stats_url:
        config = replace(searching(sshd, sshd.port, HOLD, 2), stats_url=stats_url)
        with whole_run(tmp_path, config if searched else replace(config, load=HOLD)) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    for trial in summary.trials:
        assert trial.target_before is not None
        assert trial.target_held is not None
        assert trial.target_after is not None
        counts = [stats.accepted for stats in (trial.target_before, trial.target_held, trial.target_after)]
        assert counts == sorted(set(counts))


def test_a_search_that_has_begun_never_says_again_that_it_waits_for_its_workers(
    sshd: SshServer, tmp_path: Path
) -> None:
    """The operator takes that for another master, which the results of the first are gone with."""

    def slow(fetch: int) -> TargetStats:
        gevent.sleep(1.2)  # longer than from one snapshot to the next
        return quiet(fetch)

    with played_target(slow) as stats_url:
        config = replace(searching(sshd, sshd.port, BURST, 2), stats_url=stats_url)
        with whole_run(tmp_path, config) as run:
            assert found(run.summary()).others
            lines = run.stdout_path.read_text().splitlines()
    told = [log.snapshot.stage for log in map(read_master_log, lines) if log.snapshot is not None]
    begun = [stage is not Stage.WAITING_FOR_WORKERS for stage in told]
    assert all(begun[begun.index(True) :])
