"""How a whole run ends when its processes leave it, stay away or cannot do what they are told."""

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from master_here import master_here
from reports import counts_of
from run_configs import arrivals, client, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome, RunEnd
from whole_run import whole_run


def test_a_killed_worker_ends_the_run_as_lost(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        run.workers[1].kill()
        summary = run.summary()
        assert run.exit_codes() == [0, -signal.SIGKILL], run.stderr_path.read_text()
    assert summary.end is RunEnd.WORKER_LOST
    assert "worker 1" in summary.message
    assert summary.trial.generator.workers_lost == 1
    assert summary.trial.generator.reports_missing >= 1
    without_end = summary.trial.load.started - summary.trial.load.succeeded - summary.trial.load.failed
    assert without_end >= summary.series[-1].in_flight  # what the lost worker had then, and what the other cut off
    assert counts_of(summary, Outcome.UNFINISHED) == 0
    assert 0 < summary.trial.load.duration_s < 60


def test_a_terminated_worker_ends_the_run_at_once(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        run.workers[0].terminate()
        summary = run.summary()
        assert run.exit_codes() == [1, 0]
    assert summary.end is RunEnd.WORKER_LOST
    assert "worker 0 left: told to terminate" in summary.message


def test_a_terminated_master_stops_the_workers_and_prints_its_summary(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        run.master.terminate()
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.STOPPED
    assert summary.trial.load.started > 5
    assert summary.trial.load.started >= summary.trial.load.succeeded + summary.trial.load.failed == counts_of(summary)
    assert counts_of(summary, Outcome.UNFINISHED) == summary.trial.load.failed == 0


def test_a_killed_master_is_missed_by_its_workers(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        run.master.kill()
        assert run.exit_codes() == [1, 1]
        assert "the master was silent" in run.stderr_path.read_text()


def test_a_worker_that_was_replaced_before_the_start_adds_nothing_to_the_load(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = start_sshd("")
    config = run_config(endpoint(server), arrivals(20, 2.0), workers=2)
    with master_here(tmp_path, config, capsys, workers=1) as run:
        (replaced,) = run.master.worker_registry.client_ids
        run.add_worker(0)
        run.wait_until(lambda master: replaced not in master.worker_registry.client_ids)
        run.begin()
        run.add_worker(1)
        summary = run.summary()
        assert run.exit_codes() == [0]
    assert (summary.end, summary.trial.generator.reports_missing) == (RunEnd.COMPLETED, 0)
    assert (summary.trial.load.started, summary.trial.load.succeeded, server.accepted()) == (40, 40, 40)


def test_workers_that_do_not_come_are_named(
    sshd: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0), workers=3)
    with master_here(tmp_path, config, capsys, workers=1) as run:
        run.begin()
        run.lose_patience()
        summary = run.summary()
        assert run.exit_codes() == [0]
    assert summary.end is RunEnd.WORKERS_MISSING
    assert "workers 1, 2" in summary.message
    assert summary.trial.load.started == 0


def test_a_worker_that_comes_late_is_waited_for(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 1.0), workers=2), workers=1) as run:
        run.wait_until(lambda: run.connected() == 1, "the first worker")
        assert run.get("/readyz")[0] == 503
        run.add_worker(1)
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert summary.trial.load.succeeded == 10


def test_a_client_that_the_library_cannot_be_is_the_generators_fault(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0), workers=2)
    config = replace(config, client=replace(client(), ciphers=("enigma",)))
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        # The other one may be told to end before it finds the fault, or look for a master that has ended.
        run.wait_until(lambda: any(worker.poll() == 1 for worker in run.workers), "the end of a worker with a fault")
    assert summary.end is RunEnd.GENERATOR_FAULT
    assert "enigma" in summary.message


def test_a_config_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    config = tmp_path / "run.json"
    config.write_text("{}")
    command = [sys.executable, "-m", "sshload_worker", "--role", "master", "--config", config]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "missing field" in done.stderr
