"""Steps on sessions that are kept: iterations share a session and never each other's SFTP subsystem."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic, monotonic_ns

import gevent
import pytest
from one_iteration import prepare
from run_configs import arrivals, client, endpoint, run_config
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Library
from sshload_contract.steps import (
    ExecStep,
    ScenarioStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpStatStep,
    SftpWriteStep,
    Verify,
)
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.run_config import RunConfig, Scenario, SessionReuse
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due

AT_ONCE = 4
MAX_SESSIONS = 2 * AT_ONCE  # a server gives a closed channel's place to another a moment after its close
ITERATIONS = 12
CHANNELS_END_WITHIN_S = 300.0
Endings = Counter[tuple[str, Outcome]]


@pytest.fixture(params=[Library.SSH2_PYTHON, Library.PARAMIKO])
def library(request: pytest.FixtureRequest) -> Library:
    """Return each client library that closes what a step leaves open."""
    return Library(request.param)


@pytest.fixture
def server(tmp_path: Path, keys: Keys) -> Iterator[SshServer]:
    """Run a server whose sessions have few channels."""
    directives = f"Subsystem sftp internal-sftp\nMaxSessions {MAX_SESSIONS}"
    with ssh_server(tmp_path, keys, directives) as server:
        yield server


def config_for(server: SshServer, library: Library, reuse: SessionReuse, *steps: ScenarioStep) -> RunConfig:
    config = run_config(endpoint(server), arrivals(1, 1))
    return replace(config, scenario=Scenario(reuse, 1, steps, ""), client=replace(client(), library=library))


def run_many(config: RunConfig, at_once: int, before_close: Callable[[], None] = lambda: None) -> Endings:
    """Run iterations of one user, or of a pool so many at a time; return how their steps ended.

    `before_close` is called before the sessions are closed.
    """
    recorder = Recorder(config.run_id, 0)
    iteration = prepare(config, recorder)
    now_ns = monotonic_ns()
    due = Due(at_ns=now_ns, window=Window.MEASURED)

    def run_some() -> None:
        for _ in range(ITERATIONS // at_once):
            iteration.run(due, 0)

    gevent.joinall([gevent.spawn(run_some) for _ in range(at_once)], raise_error=True)
    before_close()
    iteration.sessions.close()
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    return Counter({(histogram.step, histogram.outcome): histogram.count for histogram in report.histograms})


def test_a_pools_iterations_move_files_at_once_over_one_login(
    server: SshServer, library: Library, tmp_path: Path
) -> None:
    path = f"{tmp_path}/file-{{iteration}}"
    write = SftpWriteStep("write", path, 700_000, Verify.CONTENT)
    config = config_for(server, library, SessionReuse.POOL, write, SftpRemoveStep("remove", path))
    endings = run_many(config, at_once=AT_ONCE)
    assert endings["total", Outcome.OK] == ITERATIONS, endings
    assert endings["write.subsystem", Outcome.OK] == ITERATIONS
    assert server.accepted() == 1
    assert list(tmp_path.glob("file-*")) == []


def test_iterations_that_fail_leave_no_channel_open_on_a_pools_session(
    start_sshd: Callable[[str], SshServer], library: Library
) -> None:
    server = start_sshd("Subsystem sftp internal-sftp\nLogLevel VERBOSE")

    def await_channels_end() -> None:
        """All but the last: paramiko's reader holds on to that until it hears of another."""
        deadline_s = monotonic() + CHANNELS_END_WITHIN_S
        while (closed := server.log.count("\nClose session: ")) < ITERATIONS - 1:
            assert monotonic() < deadline_s, f"only {closed} of {ITERATIONS} channels are closed"
            gevent.sleep(0.02)

    config = config_for(server, library, SessionReuse.POOL, SftpReadStep("", "/nowhere", None, ""))
    endings = run_many(config, 1, await_channels_end)
    assert endings["total", Outcome.SFTP_NO_SUCH_FILE] == ITERATIONS, endings
    assert server.accepted() == 1


@pytest.mark.parametrize("last", [ExecStep("", "true", 0, ""), ExecStep("", "false", 0, "")], ids=["well", "ill"])
def test_a_users_session_never_runs_out_of_channels(server: SshServer, library: Library, last: ExecStep) -> None:
    config = config_for(server, library, SessionReuse.USER, SftpStatStep("", "/"), last)
    endings = run_many(config, at_once=1)
    went_well = last.command == "true"
    assert endings["total", Outcome.OK if went_well else Outcome.EXIT_CODE] == ITERATIONS, endings
    assert server.accepted() == (1 if went_well else ITERATIONS)
