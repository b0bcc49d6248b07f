import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from free_ports import free_port
from gevent.pywsgi import WSGIServer
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.codec import to_json
from sshload_contract.load import ArrivalProcess, BurstLoad, Load, UsersLoad, UsersStage
from sshload_contract.run_config import SleepStep
from sshload_contract.run_summary import RunSummary
from sshload_contract.snapshot import Stage
from sshload_contract.target_stats import TARGET_STATS_VERSION, TargetStats
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_worker.recording.histogram import LatencyHistogram
from whole_run import whole_run

STATS = TargetStats(
    version=TARGET_STATS_VERSION,
    at_unix_s=0.0,
    sshd_version="OpenSSH_9.2",
    accepted=0,
    auth_failed=0,
    dropped_max_startups=0,
    dropped_penalty=0,
    dropped_is_lower_bound=True,
    sessions=0,
    cpu_s=0.0,
    cpu_throttled_s=0.0,
    cpu_limit_cores=None,
    memory_bytes=0,
    memory_is_upper_bound=False,
    memory_peak_bytes=0,
    memory_limit_bytes=None,
    processes=0,
    processes_limit=None,
    oom_kills=0,
    refused_forks=0,
    listen_overflows=0,
)
BURST = BurstLoad(connections=20, repeat=2, interval_s=1.0)
POISSON = replace(arrivals(20, 3.0), process=ArrivalProcess.POISSON)
USERS = UsersLoad(
    stages=(UsersStage(users=4, duration_s=2.0), UsersStage(users=2, duration_s=1.0)),
    spawn_rate=8.0,
    think_time_min_s=0.01,
    think_time_max_s=0.05,
)


class PlayedTarget:
    """The HTTP port of a managed target: not ready for the first answers, then ready, counting its own fetches."""

    def __init__(self, not_ready_answers: int) -> None:
        self._not_ready_answers = not_ready_answers
        self._fetches = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if environ["PATH_INFO"] == "/readyz":
            self._not_ready_answers -= 1
            start_response("503 Not Ready" if self._not_ready_answers >= 0 else "200 OK", [])
            return [b""]
        self._fetches += 1
        start_response("200 OK", [])
        return [to_json(replace(STATS, accepted=self._fetches)).encode()]


@contextmanager
def ready_target(not_ready_answers: int = 0) -> Iterator[int]:
    """Play a managed target's HTTP port in this process; its port is given."""
    server = WSGIServer(("127.0.0.1", 0), PlayedTarget(not_ready_answers), log=None)
    server.start()
    try:
        yield server.server_port
    finally:
        server.stop()


def counts_of(summary: RunSummary, outcome: Outcome | None = None) -> int:
    """Return how many totals of the measured window the histograms hold."""
    return sum(
        histogram.count
        for histogram in summary.histograms
        if histogram.step == "total"
        and histogram.window is Window.MEASURED
        and (outcome is None or histogram.outcome is outcome)
    )


def assert_reconciled(summary: RunSummary) -> None:
    """Every count of a summary agrees with every other."""
    load = summary.load
    assert load.scheduled == load.started + load.dropped
    assert load.started == load.succeeded + load.failed == counts_of(summary)
    assert load.succeeded == counts_of(summary, Outcome.OK)
    assert load.failed == sum(error.count for error in summary.errors if error.window is Window.MEASURED)
    assert all(LatencyHistogram.decode(one.data).count == one.count for one in summary.histograms)
    in_windows = sum(one.count for one in summary.histograms if one.step == "total")
    assert sum(point.succeeded + point.failed for point in summary.series) == in_windows
    assert summary.generator.reports_missing == 0


@pytest.mark.parametrize(
    ("load", "iterations"),
    [
        pytest.param(arrivals(20, 3.0), 60, id="constant arrivals"),
        pytest.param(POISSON, None, id="Poisson arrivals"),
        pytest.param(USERS, None, id="users"),
        pytest.param(BURST, 40, id="burst"),
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
    assert summary.load.failed == 0, summary.errors
    assert summary.load.started == server.accepted() > 10
    assert sum(agreed.count for agreed in summary.negotiated) == server.accepted()
    if iterations is not None:
        assert summary.load.started == iterations


def test_the_warm_up_is_told_apart(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    server = start_sshd("")
    config = replace(run_config(endpoint(server), arrivals(20, 2.0), workers=2), warm_up_s=1.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    totals = {step.window: step.count for step in summary.steps if step.step == "total"}
    assert totals == {Window.WARM_UP: 20, Window.MEASURED: 40}
    assert summary.load.started == 40
    assert summary.load.duration_s == 2.0
    assert summary.load.offered_rate == summary.load.achieved_rate == 20.0
    assert server.accepted() == 60
    assert_reconciled(summary)


def test_percentiles_are_shown_only_where_samples_suffice(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(20, 2.0), workers=2)) as run:
        summary = run.summary()
    (total,) = (step for step in summary.steps if step.step == "total")
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
    assert [(error.step, error.outcome, error.count) for error in summary.errors] == [
        ("auth", Outcome.AUTH_REJECTED, 20)
    ]
    assert (summary.load.succeeded, summary.load.failed, summary.load.completed_rate) == (0, 20, 0.0)
    assert_reconciled(summary)


def test_arrivals_without_room_are_dropped_and_counted(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(20, 2.0, max_in_flight=2), workers=2)
    with whole_run(tmp_path, replace(config, scenario=scenario(EXEC_TRUE, SleepStep(duration_s=1.0)))) as run:
        summary = run.summary()
    assert summary.load.scheduled == 40
    assert summary.load.dropped > 20
    assert_reconciled(summary)


def test_what_outlasts_the_drain_is_unfinished(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0), workers=2)
    config = replace(config, scenario=scenario(SleepStep(duration_s=60.0)), drain_s=1.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.COMPLETED
    assert counts_of(summary, Outcome.UNFINISHED) == summary.load.failed == 10
    assert_reconciled(summary)


def test_users_of_a_closed_port_are_told_of_it_and_the_run_ends(sshd: SshServer, tmp_path: Path) -> None:
    """An instant refusal must not keep the event loop from anything else: the run still ends in time."""
    with ready_target() as stats_port:
        target = replace(endpoint(sshd), port=free_port(), known_hosts_path="")
        load = UsersLoad((UsersStage(users=2, duration_s=1.0),), 0.0, 0.0, 0.0)
        config = replace(run_config(target, load), stats_url=f"http://127.0.0.1:{stats_port}/stats")
        with whole_run(tmp_path, config) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert counts_of(summary, Outcome.REFUSED) == summary.load.started > 0
    assert summary.load.duration_s == 1.0
    assert_reconciled(summary)


def test_snapshots_say_how_the_run_stands(sshd: SshServer, tmp_path: Path) -> None:
    config = replace(run_config(endpoint(sshd), arrivals(20, 3.0), workers=2), warm_up_s=2.0)
    stages = []
    with whole_run(tmp_path, config) as run:
        while run.master.poll() is None:
            snapshot = run.log().snapshot
            if snapshot is not None and (not stages or stages[-1] is not snapshot.stage):
                stages.append(snapshot.stage)
            if snapshot is not None and snapshot.stage is Stage.MEASURING:
                assert snapshot.elapsed_s + snapshot.remaining_s == pytest.approx(5.0)
                assert snapshot.workers_connected == 2
        summary = run.summary()
    order = [Stage.WAITING_FOR_WORKERS, Stage.WARM_UP, Stage.MEASURING, Stage.DRAINING]
    assert [stage for stage in order if stage in stages] == stages
    assert stages[:3] == order[:3]
    assert [point.at_s for point in summary.series] == sorted(point.at_s for point in summary.series)


def test_a_killed_worker_ends_the_run_as_lost(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        run.workers[1].kill()
        summary = run.summary()
        assert run.exit_codes() == [0, -signal.SIGKILL], run.stderr_path.read_text()
    assert summary.end is RunEnd.WORKER_LOST
    assert "worker 1" in summary.message
    assert summary.generator.workers_lost == 1
    assert summary.generator.reports_missing >= 1
    without_end = summary.load.started - summary.load.succeeded - summary.load.failed
    assert without_end in range(5)  # what the lost worker had in flight when it last reported
    assert 0 < summary.load.duration_s < 60


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
    assert summary.load.started > 5
    assert_reconciled(summary)


def test_a_killed_master_is_missed_by_its_workers(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 60.0), workers=2)) as run:
        run.wait_until(lambda: run.iterations() > 5, "the first iterations")
        run.master.kill()
        assert run.exit_codes() == [1, 1]
        assert "the master was silent" in run.stderr_path.read_text()


def test_workers_that_do_not_come_are_named(sshd: SshServer, tmp_path: Path) -> None:
    config = replace(run_config(endpoint(sshd), arrivals(10, 1.0), workers=3), workers_timeout_s=4.0)
    with whole_run(tmp_path, config, workers=1) as run:
        summary = run.summary()
        assert run.exit_codes() == [0]
    assert summary.end is RunEnd.WORKERS_MISSING
    assert "workers 1, 2" in summary.message
    assert summary.load.started == 0


def test_a_worker_that_comes_late_is_waited_for(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(10, 1.0), workers=2), workers=1) as run:
        run.wait_until(lambda: run.connected() == 1, "the first worker")
        assert run.get("/readyz")[0] == 503
        run.add_worker(1)
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert summary.load.succeeded == 10


def test_a_target_that_takes_no_connections_is_unreachable(sshd: SshServer, tmp_path: Path) -> None:
    target = replace(endpoint(sshd), port=free_port(), known_hosts_path="")
    config = replace(run_config(target, arrivals(10, 1.0), workers=2), workers_timeout_s=8.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.TARGET_UNREACHABLE
    assert "Connection refused" in summary.message


def test_a_name_that_does_not_resolve_is_an_unreachable_target(sshd: SshServer, tmp_path: Path) -> None:
    target = replace(endpoint(sshd), host="no-such-host.invalid", known_hosts_path="")
    config = replace(run_config(target, arrivals(10, 1.0)), workers_timeout_s=8.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    assert summary.end is RunEnd.TARGET_UNREACHABLE
    assert "no-such-host.invalid" in summary.message


def test_a_client_that_the_library_cannot_be_is_the_generators_fault(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0), workers=2)
    config = replace(config, client=replace(client(), ciphers=("enigma",)), workers_timeout_s=10.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert 1 in run.exit_codes()  # the other one may have been told to end before it found the fault
    assert summary.end is RunEnd.GENERATOR_FAULT
    assert "enigma" in summary.message


def test_a_config_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    config = tmp_path / "run.json"
    config.write_text("{}")
    command = [sys.executable, "-m", "sshload_worker", "--role", "master", "--config", config]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "missing field" in done.stderr


def test_a_managed_target_is_waited_for_and_its_counts_are_taken(sshd: SshServer, tmp_path: Path) -> None:
    with ready_target(not_ready_answers=5) as stats_port:
        config = run_config(endpoint(sshd), arrivals(10, 1.0))
        with whole_run(tmp_path, replace(config, stats_url=f"http://127.0.0.1:{stats_port}/stats")) as run:
            summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert summary.target_before is not None
    assert summary.target_after is not None
    assert summary.target_after.accepted == summary.target_before.accepted + 1


def test_a_managed_target_that_never_gets_ready_is_unreachable(sshd: SshServer, tmp_path: Path) -> None:
    config = run_config(endpoint(sshd), arrivals(10, 1.0))
    config = replace(config, stats_url=f"http://127.0.0.1:{free_port()}/stats", workers_timeout_s=8.0)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
        assert run.exit_codes() == [0]
    assert summary.end is RunEnd.TARGET_UNREACHABLE
    assert "Connection refused" in summary.message
    assert summary.load.started == 0


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
