"""A real Prometheus scrapes a whole run, master and target, while it goes on."""

import getpass
from dataclasses import replace
from pathlib import Path

from prometheus_server import Prometheus, prometheus, promtool_faults
from run_configs import NOWHERE, arrivals, run_config, scenario
from running_target import TargetFolder, make_target_folder, ready_target
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import RunConfig
from whole_run import WholeRun, whole_run

BOUNDED_LABELS = {"__name__", "job", "instance", "namespace", "test", "step", "outcome", "le", "reason", "version"}
WORKERS = 2
SERIES_OF_A_RUN = 18
SERIES_OF_BUCKETS = 16
STEPS_OF_ONE_COMMAND = 13
SERIES_OF_ONE_COMMAND = 266
TEST = '{namespace="tests",test="loopback"}'


def _run_config(folder: TargetFolder) -> RunConfig:
    target = replace(
        NOWHERE,
        host="127.0.0.1",
        port=folder.config.sshd_port,
        user=getpass.getuser(),
        private_key_path=str(folder.path / "keys/id_ed25519"),
        known_hosts_path=str(folder.path / "known_hosts"),
    )
    echo = ExecStep(name="echo", command="echo 123456789", expect_exit_code=0, expect_stdout="")
    return replace(run_config(target, arrivals(rate=10, seconds=12), workers=WORKERS), scenario=scenario(echo))


def _check_while_it_runs(run: WholeRun, server: Prometheus) -> None:
    run.wait_until(lambda: run.iterations() >= 20, "20 iterations")
    status, page = run.get("/metrics")
    assert status == 200
    assert promtool_faults(page) == ""
    server.wait_for(f"{_most(f'sshload_iterations_succeeded_total{TEST}')} >= bool 20", 1)
    server.wait_for(_most(f"sshload_workers_connected{TEST}"), 2)
    logins = _most(f'sshload_step_latency_seconds_bucket{{step="login",{TEST[1:]}')
    server.wait_for(f"histogram_quantile(0.99, sum by (le) ({logins})) > bool 0.001", 1)
    server.wait_for(_most(f"sshload_workers_lost{TEST}"), 0)
    server.wait_for(_most(f"sshload_held_sessions{TEST}"), 0)
    moved = _most(f'sshload_step_bytes_total{{step="echo.command",{TEST[1:]}')
    server.wait_for(f"{moved} >= bool 200", 1)
    _check_the_number_of_series(server)


def _check_the_number_of_series(server: Prometheus) -> None:
    """As docs/reference/metrics.md states it, so that nobody's Prometheus is surprised.

    The run may be over by now, or its newest scrape may have failed.
    """
    of_steps = {name: _count(server, f"sshload_{name}") for name in ("steps_total", "step_bytes_total")}
    steps = _count(server, "sshload_step_latency_seconds_count")
    buckets = _count(server, "sshload_step_latency_seconds_bucket")
    assert buckets == SERIES_OF_BUCKETS * steps
    assert steps <= of_steps["steps_total"] <= len(Outcome) * steps
    assert of_steps["step_bytes_total"] <= steps
    of_the_run = f'{{__name__=~"sshload_.*",{TEST[1:]}'
    (every,) = server.query(f"count({_newest(of_the_run)})").values()
    assert every == SERIES_OF_A_RUN + buckets + 2 * steps + sum(of_steps.values())
    assert (steps, every) == (STEPS_OF_ONE_COMMAND, SERIES_OF_ONE_COMMAND)


def _count(server: Prometheus, name: str) -> float:
    (found,) = server.query(f"count({_newest(f'{name}{TEST}')})").values()
    return found


def _newest(series: str) -> str:
    """Return the expression for what Prometheus has seen last, which a scrape that fails does not take away."""
    return f"last_over_time({series}[5m])"


def _most(series: str) -> str:
    """Return the expression for what Prometheus has seen at most, which stays when the run is over."""
    return f"max_over_time({series}[5m])"


def test_prometheus_sees_a_run_from_both_of_its_ends(tmp_path: Path) -> None:
    target_path, run_path = tmp_path / "target", tmp_path / "run"
    target_path.mkdir()
    run_path.mkdir()
    folder = make_target_folder(target_path, "LogLevel INFO\nMaxStartups 1000:30:1000\n")
    with ready_target(folder) as target, whole_run(run_path, _run_config(folder), workers=0) as run:
        ports = {"target": folder.config.stats_port, "master": run.http_port}
        with prometheus(tmp_path, ports) as server:
            server.wait_for(f"sshload_workers_connected{TEST}", 0)
            for index in range(WORKERS):
                run.add_worker(index)
            _check_while_it_runs(run, server)
            load = run.summary().trial.load
            assert (load.started, load.failed) == (120, 0)
            server.wait_for("sshload_target_accepted_total", 120)
            (highest,) = server.query(_most(f"sshload_iterations_started_total{TEST}")).values()
            assert 20 <= highest <= 120
            assert server.label_names('{__name__=~"sshload_.*"}') <= BOUNDED_LABELS
        assert target.stats().accepted == 120
