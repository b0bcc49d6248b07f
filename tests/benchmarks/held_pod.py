"""What a pod of two worker processes costs while it does nothing but hold sessions."""

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cost import Clients
from run_configs import EXEC_TRUE
from speed_rows import Row
from sshload_contract.load import HoldLoad, Load
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from used import Used, used
from whole_run import WholeRun

_PROCESSES = 2
_LOGINS_PER_S = 200
_KEEP_ALIVE_S = 30.0
_CALM_S = 3.0
_SLACK_S = 60.0
"""How much longer than it takes the load may last: it is ended when all is measured."""


def held_pod_row(clients: Clients, sessions: int, held_s: float) -> Row:
    """Hold so many sessions in one pod, each checked every 30 s, and measure for `held_s` when all are there.

    A probe a second runs meanwhile, as in any such load. The CPU is that of both processes.
    """
    load = HoldLoad(
        sessions=sessions,
        ramp_up_s=sessions / _LOGINS_PER_S,
        duration_s=held_s + _SLACK_S,
        keep_alive_s=_KEEP_ALIVE_S,
        probe_rate=1.0,
    )
    config = clients.config(load, (EXEC_TRUE,), SessionReuse.NONE)
    config = replace(config, warm_up_s=0.0, workers=_PROCESSES, processes_per_pod=_PROCESSES)
    with TemporaryDirectory() as folder:
        begin, end, least = _held(config, Path(folder), ("env",), clients.python, held_s)
    cores = sum(
        (after.cpu_s - before.cpu_s) / (after.at_s - before.at_s) for before, after in zip(begin, end, strict=True)
    )
    resident_mb = sum(process.resident_mb for process in end)
    figure = f"{cores:.1%} of a core, {resident_mb:.0f} MB, {least:,} of {sessions:,} held"
    return Row(f"{sessions:,} idle sessions in a pod of {_PROCESSES} processes", "5 %", figure)


def _held(
    config: RunConfig, folder: Path, launcher: tuple[str, ...], python: tuple[str, ...], held_s: float
) -> tuple[list[Used], list[Used], int]:
    """Return what the pod's processes had used when all was held, and `held_s` later, and the fewest held meanwhile."""
    sessions = config.trial_load.held_sessions
    run = WholeRun(folder, config, launcher, python)
    try:
        parent = run.add_worker(0)
        run.wait_until(lambda: _is_held(run, config.trial_load), f"{sessions} held sessions")
        time.sleep(_CALM_S)  # the last logins' work is done
        begin, known = _used(parent.pid), len(run.snapshots())
        time.sleep(held_s)
        end, fewest = _used(parent.pid), min(snapshot.held for snapshot in run.snapshots()[known - 1 :])
    finally:
        run.end()
    return begin, end, fewest


def _is_held(run: WholeRun, load: Load) -> bool:
    """Return whether all sessions are held, or so much time is over that no more are to come."""
    snapshot = run.log().snapshot
    late_s = load.before_iterations_s + _SLACK_S / 2
    return snapshot is not None and (snapshot.held == load.held_sessions or snapshot.elapsed_s > late_s)


def _used(parent: int) -> list[Used]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    assert len(children) == _PROCESSES, f"the pod has {len(children)} worker processes"
    return [used(int(pid)) for pid in children]
