import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from run_configs import arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.load import ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import SleepStep
from sshload_contract.vocabulary import RunEnd
from sshload_contract.wire.run_config import RunConfig
from whole_run import WholeRun, whole_run

PARENT_MEMORY_LIMIT_KB = 30_000


def pods_of_two(server: SshServer, seconds: float, workers: int = 4) -> RunConfig:
    return replace(run_config(endpoint(server), arrivals(20, seconds), workers=workers), processes_per_pod=2)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def await_processes(run: WholeRun) -> list[int]:
    """Wait until each pod has its two worker processes, and return them all."""
    run.wait_until(lambda: all(len(children(pod.pid)) == 2 for pod in run.workers), "every process")
    return [child for pod in run.workers for child in children(pod.pid)]


def await_load(run: WholeRun) -> list[int]:
    """Wait until iterations are run, and return the worker processes of all pods."""
    run.wait_until(lambda: run.iterations() > 0, "an iteration")
    return [child for pod in run.workers for child in children(pod.pid)]


def memory_kb(pid: int) -> int:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


def test_each_pod_runs_its_processes_below_a_small_parent_and_all_of_them_share_the_load(
    start_sshd: Callable[[str], SshServer], tmp_path: Path
) -> None:
    server = start_sshd("")
    with whole_run(tmp_path, replace(pods_of_two(server, 6.0), load=arrivals(10, 6.0))) as run:
        processes = await_processes(run)
        assert len(set(processes)) == 4
        await_load(run)
        assert all(memory_kb(pod.pid) < PARENT_MEMORY_LIMIT_KB for pod in run.workers)
        summary = run.summary()
        assert run.exit_codes() == [0, 0]
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert summary.trial.generator.workers_connected == 4
    assert summary.trial.load.started == summary.trial.load.succeeded == server.accepted() == 60
    assert not any(is_running(pid) for pid in processes)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        pytest.param(signal.SIGTERM, "told to terminate", id="SIGTERM"),
        pytest.param(signal.SIGINT, "interrupted", id="SIGINT", marks=pytest.mark.full),
    ],
)
def test_a_signal_to_the_pod_reaches_every_process(
    sshd: SshServer, tmp_path: Path, number: signal.Signals, reason: str
) -> None:
    with whole_run(tmp_path, pods_of_two(sshd, 60.0, workers=2)) as run:
        processes = await_load(run)
        os.kill(run.workers[0].pid, number)
        summary = run.summary()
        assert run.exit_codes() == [1]
    assert summary.end is RunEnd.WORKER_LOST
    assert reason in summary.message
    assert not any(is_running(pid) for pid in processes)


def test_a_process_that_dies_takes_its_pod_along(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, pods_of_two(sshd, 60.0, workers=2)) as run:
        processes = await_load(run)
        os.kill(processes[0], signal.SIGKILL)
        summary = run.summary()
        assert run.exit_codes() == [128 + signal.SIGKILL]
    assert summary.end is RunEnd.WORKER_LOST
    assert not any(is_running(pid) for pid in processes)


def test_processes_leave_when_their_parent_is_killed(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, pods_of_two(sshd, 60.0, workers=2)) as run:
        processes = await_load(run)
        run.workers[0].kill()
        summary = run.summary()
        run.wait_until(lambda: not any(is_running(pid) for pid in processes), "the processes' end")
    assert summary.end is RunEnd.WORKER_LOST
    assert "parent process is gone" in summary.message


def test_a_fault_of_one_process_is_a_fault_of_the_run(sshd: SshServer, tmp_path: Path) -> None:
    config = pods_of_two(sshd, 60.0, workers=2)
    faulty = replace(config, target=replace(config.target, private_key_path=str(tmp_path / "absent")))
    with whole_run(tmp_path, faulty) as run:
        summary = run.summary()
        assert run.exit_codes() == [1]
    assert summary.end is RunEnd.GENERATOR_FAULT
    assert "private key (absent) cannot be read" in summary.message


def test_source_ports_are_those_of_all_processes_of_the_pod(sshd: SshServer, tmp_path: Path) -> None:
    users = UsersLoad(stages=(UsersStage(users=12, duration_s=3.0),), spawn_rate=0.0, think_time=ThinkTime(0, 0))
    config = replace(pods_of_two(sshd, 1.0, workers=2), load=users, scenario=scenario(SleepStep(duration_s=2.0)))
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED
    assert summary.trial.generator.ports_used >= 12
