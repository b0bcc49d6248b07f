"""What the processes of a run cost besides SSH: CPU until they are ready, memory while they wait, CPU per sample."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic_ns, process_time
from urllib.error import URLError

from cost import Clients
from run_configs import EXEC_TRUE
from speed_rows import Row, spread
from sshload_contract.load import ThinkTime, UsersLoad, UsersStage
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.run_config import RunConfig, SessionReuse
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.parts import Parts
from sshload_worker.scenario.step_clock import Due, StepClock
from used import Used, used
from whole_run import WholeRun

_LOGIN = Parts.of("", Timing.LOGIN, Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH)
_COMMAND = Parts.of("", Timing.COMMAND, Timing.CHANNEL_OPEN, Timing.EXEC, Timing.READ, Timing.CLOSE)
_SAMPLES = 13  # these, and the start's delay and the whole
_SAMPLES_PER_REPORT = 25_000  # half a second of 50,000 per second
_NS_PER_STEP = 1_700_000
_US_PER_S = 1_000_000
_NEVER_S = 3_600.0


def start_rows(clients: Clients, repeats: int) -> list[Row]:
    """Start a master and a worker again and again, each as `python -m sshload_worker` with its files compiled.

    The master is ready when it answers, the worker when the master has ordered it to start.
    """
    load = UsersLoad(stages=(UsersStage(users=1, duration_s=1.0),), spawn_rate=0.0, think_time=ThinkTime(0.0, 0.0))
    config = replace(clients.config(load, (EXEC_TRUE,), SessionReuse.NONE), start_lead_s=_NEVER_S)
    starts = [_started(config, clients) for _ in range(repeats + 1)][1:]  # the first may have compiled the files
    workers, masters = [worker for _, worker in starts], [master for master, _ in starts]
    shared_mb = spread([start.proportional_mb for start in workers], "MB")
    resident_mb = spread([start.resident_mb for start in workers], "MB")
    return [
        Row("worker, CPU from start to ready", "0.25 s", spread([start.cpu_s for start in workers], "s")),
        Row("master, CPU from start to ready", "0.25 s", spread([start.cpu_s for start in masters], "s")),
        Row("idle worker, memory (RSS)", "45 MB", resident_mb),
        Row("idle worker, memory (PSS), beside one master", "", shared_mb),
    ]


def recording_row(repeats: int) -> Row:
    """Record samples as an iteration does, reports included, and nothing else."""
    return Row("recorded sample, CPU", "1 us", spread([_recorded() for _ in range(repeats)], "us"))


def _started(config: RunConfig, clients: Clients) -> tuple[Used, Used]:
    """Return what a master and its one worker have used when they are ready."""
    launcher = ("env", "-u", "PYTHONDONTWRITEBYTECODE")
    with TemporaryDirectory() as folder:
        run = WholeRun(Path(folder), config, launcher, clients.python)
        try:
            run.wait_until(lambda: _answers(run, "/healthz"), "the master's answer")
            master = used(run.master.pid)
            worker = run.add_worker(0)
            run.wait_until(lambda: _answers(run, "/readyz"), "the order to start")
            return master, used(worker.pid)
        finally:
            run.end()


def _answers(run: WholeRun, path: str) -> bool:
    with suppress(URLError):
        return run.get(path)[0] == 200
    return False


def _recorded() -> float:
    """Return the CPU time of one sample of many, in microseconds."""
    recorder, health = Recorder("run", 0), HealthMonitor().health(connections=0, overflows=0)
    begin_s = process_time()
    for _ in range(_SAMPLES_PER_REPORT // _SAMPLES):
        now_ns = monotonic_ns()
        begin_ns, *instants_ns = range(now_ns - 10 * _NS_PER_STEP, now_ns, _NS_PER_STEP)
        clock = StepClock(recorder, Due(begin_ns, Window.MEASURED))
        clock.begin()
        _LOGIN.count_success(clock, begin_ns, (begin_ns, *instants_ns[:4]))
        _COMMAND.count_success(clock, instants_ns[4], tuple(instants_ns[4:]), instants_ns[7])
        clock.total(Outcome.OK, "")
    report = recorder.take_report(health, final=True)
    cpu_s = process_time() - begin_s
    counted = sum(histogram.count for histogram in report.histograms)
    return cpu_s / counted * _US_PER_S
