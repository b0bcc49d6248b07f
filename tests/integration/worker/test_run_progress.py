"""What a run's master says while the run goes on: snapshots, and metrics."""

import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from run_configs import arrivals, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.wire.master_log import Stage
from whole_run import whole_run

_SELDOM = """
import sys
from sshload_worker.locust_runner.locust_import import import_runner

import_runner()
import sshload_worker.coordination.master

sshload_worker.coordination.master.SNAPSHOT_INTERVAL_S = 3_600
from sshload_worker.__main__ import main

sys.exit(main(sys.argv[4:]))
"""
"""A launcher of processes whose master prints a snapshot each hour."""


def test_snapshots_say_how_the_run_stands(sshd: SshServer, tmp_path: Path) -> None:
    config = replace(run_config(endpoint(sshd), arrivals(20, 4.0), workers=2), warm_up_s=4.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        snapshots = run.snapshots()
    order = [Stage.WAITING_FOR_WORKERS, Stage.WARM_UP, Stage.MEASURING, Stage.DRAINING]
    stages = [stage for stage, _ in groupby(snapshot.stage for snapshot in snapshots)]
    assert stages in (order, order[:3])
    for snapshot in snapshots:
        if snapshot.stage is Stage.MEASURING:
            assert snapshot.elapsed_s + snapshot.remaining_s == pytest.approx(8.0)
            assert snapshot.workers_connected == 2
            assert snapshot.offered_rate > 0
    points_s = [point.at_s for point in summary.series]
    assert points_s == sorted(set(points_s))
    assert len(points_s) > 4


def test_a_snapshot_is_printed_when_the_load_is_ordered_however_far_off_the_next_one_is(
    sshd: SshServer, tmp_path: Path
) -> None:
    config = run_config(endpoint(sshd), arrivals(20, 1.0))
    with whole_run(tmp_path, config, launcher=(sys.executable, "-c", _SELDOM)) as run:
        assert run.summary().trial.load.succeeded > 0
        waiting, *others = run.snapshots()
    assert waiting.stage is Stage.WAITING_FOR_WORKERS
    assert [snapshot.stage is Stage.WAITING_FOR_WORKERS for snapshot in others] == [False]


def test_the_masters_metrics_satisfy_promtool_and_agree_with_the_snapshot(sshd: SshServer, tmp_path: Path) -> None:
    assert shutil.which("promtool"), "promtool is missing: install the package prometheus"
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 10, "the first iterations")
        at_least = run.iterations()
        assert run.get("/healthz")[0] == run.get("/readyz")[0] == 200
        assert run.get("/nothing")[0] == 404
        status, text = run.get("/metrics")
    assert status == 200
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    succeeded = float(values['sshload_iterations_succeeded_total{namespace="tests",test="loopback"}'])
    ok = float(values['sshload_steps_total{namespace="tests",outcome="ok",step="total",test="loopback"}'])
    assert succeeded == ok >= at_least
