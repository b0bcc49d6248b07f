"""The target of a whole run: waited for, asked for its counts, and missed."""

from dataclasses import replace
from pathlib import Path

import pytest
from free_ports import free_port
from master_here import master_here
from played_target import played_target
from run_configs import arrivals, endpoint, run_config
from runs import target_stats
from ssh_server import SshServer
from sshload_contract.vocabulary import RunEnd
from sshload_worker.coordination.master import Master
from whole_run import whole_run


def has_heard_of_a_problem(master: Master) -> bool:
    return bool(master._target_problem)


def test_a_target_that_takes_no_connections_is_unreachable(
    sshd: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = replace(endpoint(sshd), port=free_port(), known_hosts_path="")
    config = run_config(target, arrivals(10, 1.0), workers=2)
    with master_here(tmp_path, config, capsys) as run:
        run.begin()
        run.wait_until(has_heard_of_a_problem)
        run.lose_patience()
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.TARGET_UNREACHABLE
    assert "Connection refused" in summary.message


def test_a_name_that_does_not_resolve_is_an_unreachable_target(
    sshd: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = replace(endpoint(sshd), host="no-such-host.invalid", known_hosts_path="")
    config = run_config(target, arrivals(10, 1.0))
    with master_here(tmp_path, config, capsys) as run:
        run.begin()
        run.wait_until(has_heard_of_a_problem)
        run.lose_patience()
        summary = run.summary()
    assert summary.end is RunEnd.TARGET_UNREACHABLE
    assert "no-such-host.invalid" in summary.message


def test_a_managed_target_is_waited_for_and_its_counts_are_taken(sshd: SshServer, tmp_path: Path) -> None:
    with played_target(target_stats, lambda ask: ask > 5) as stats_url:
        config = replace(run_config(endpoint(sshd), arrivals(10, 1.0)), stats_url=stats_url)
        with whole_run(tmp_path, config) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert summary.trial.target_before is not None
    assert summary.trial.target_after is not None
    assert summary.trial.target_after.accepted == summary.trial.target_before.accepted + 1


def test_a_managed_target_is_asked_what_it_uses_from_the_start_of_the_load_to_its_end(
    sshd: SshServer, tmp_path: Path
) -> None:
    with played_target(target_stats) as stats_url:
        config = replace(run_config(endpoint(sshd), arrivals(5, 5.0)), stats_url=stats_url)
        with whole_run(tmp_path, config) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert summary.trial.target_before is not None
    assert summary.trial.target_after is not None
    asked = summary.trial.target_after.accepted - summary.trial.target_before.accepted
    assert asked - len(summary.trial.server_series) in {2, 3}  # the end of the load may cut off an answer
    seconds = [point.at_s for point in summary.trial.server_series]
    assert seconds
    assert seconds == sorted(seconds)
    assert {round(point.cores, 6) for point in summary.trial.server_series} == {0.03}


def test_a_managed_target_that_never_gets_ready_is_unreachable(
    sshd: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0))
    config = replace(config, stats_url=f"http://127.0.0.1:{free_port()}/stats")
    with master_here(tmp_path, config, capsys) as run:
        run.begin()
        run.wait_until(has_heard_of_a_problem)
        run.lose_patience()
        summary = run.summary()
        assert run.exit_codes() == [0]
    assert summary.end is RunEnd.TARGET_UNREACHABLE
    assert "Connection refused" in summary.message
    assert summary.trial.load.started == 0
