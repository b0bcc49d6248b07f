"""Rates by a real sshd, beside what the commands themselves write down on the server about when they ended or wrote."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import gevent
import pytest
from client_kinds import SSH2_PYTHON, Kind, every_kind
from one_iteration import prepare
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Client
from sshload_contract.load import Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import ScenarioStep, SftpReadStep, SftpWriteStep, Verify
from sshload_contract.vocabulary import Window
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due
from unkind_servers import speaking
from whole_run import whole_run

WARM_UP_S, WINDOW_S = 2.0, 4.0
USERS = UsersLoad((UsersStage(15, WINDOW_S),), 0.0, ThinkTime(0.0, 0.0))
SIZE_BYTES = 3_000_000
PIECE_BYTES = 65_536


@pytest.fixture
def sftp_server(tmp_path: Path, keys: Keys) -> Iterator[SshServer]:
    with ssh_server(tmp_path, keys, "Subsystem sftp internal-sftp") as server:
        yield server


def written_in_window(log: Path, summary: RunSummary) -> int:
    """Return how many lines of the server's log are of the measured window: each is a time, in seconds."""
    begin_s = summary.started_unix_s + WARM_UP_S
    return sum(begin_s <= float(line) < begin_s + WINDOW_S for line in log.read_text().splitlines())


@pytest.mark.parametrize("load", [arrivals(10, WINDOW_S), USERS], ids=["arrivals", "users"])
def test_the_completed_rate_is_what_the_server_ended_in_the_window_of_iterations_longer_than_a_third_of_it(
    sshd: SshServer, tmp_path: Path, load: Load
) -> None:
    log = tmp_path / "ends"
    slow = replace(EXEC_TRUE, command=f"sleep 1.5; date +%s.%N >> {log}")
    config = replace(run_config(endpoint(sshd), load, workers=2), scenario=scenario(slow), warm_up_s=WARM_UP_S)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    by_server, by_client = written_in_window(log, summary), round(summary.trial.load.completed_rate * WINDOW_S)
    rates = {step.step: step.rate for step in summary.trial.steps if step.window is Window.MEASURED}
    assert by_server > 0
    assert abs(by_client - by_server) <= 3, "an end is heard of a little after it is written down"
    assert rates["total"] == summary.trial.load.completed_rate
    assert abs(rates["command"] * WINDOW_S - by_server) <= 3


def test_bytes_per_second_are_what_the_server_wrote_in_the_window(sshd: SshServer, tmp_path: Path) -> None:
    log = tmp_path / "pieces"
    piece = f"head -c 50000 /dev/zero; date +%s.%N >> {log}; sleep 0.1; "
    slow = replace(EXEC_TRUE, command=20 * piece)
    config = replace(run_config(endpoint(sshd), arrivals(3, WINDOW_S)), scenario=scenario(slow), warm_up_s=WARM_UP_S)
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    (command,) = (one for one in summary.trial.steps if (one.step, one.window) == ("command", Window.MEASURED))
    by_server = written_in_window(log, summary)
    assert by_server > 0
    assert abs((command.bytes_per_second or 0) * WINDOW_S / 50_000 - by_server) <= 0.1 * by_server


@contextmanager
def slow_relay(port: int, passed: Callable[[int], None]) -> Iterator[int]:
    """Relay connections to a port of loopback piece by piece; tell how many bytes have passed so far, both ways."""
    total = 0

    def pump(source: socket.socket, sink: socket.socket) -> None:
        nonlocal total
        with suppress(OSError):
            while data := source.recv(PIECE_BYTES):
                sink.sendall(data)
                total += len(data)
                passed(total)
                gevent.sleep(0.02)

    def relay(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as behind:
            ways = [gevent.spawn(pump, connection, behind), gevent.spawn(pump, behind, connection)]
            gevent.wait(ways, count=1)
            gevent.killall(ways)

    with speaking(relay) as listening:
        yield listening


def moved_around_the_end(server: SshServer, step: ScenarioStep, by: Client) -> dict[Window | None, int]:
    """Return what a step moved in the window and after it, if the window ends when half of a file has passed."""
    recorder = Recorder("test-run", 0)

    def end_at_half(passed: int) -> None:
        if passed > SIZE_BYTES / 2:
            recorder.rated.end_at(monotonic_ns())

    with slow_relay(server.port, end_at_half) as port:
        target = replace(endpoint(server), port=port, known_hosts_path="")
        config = replace(run_config(target, arrivals(1, 1)), scenario=scenario(step), client=by)
        iteration = prepare(config, recorder)
        iteration.run(Due(monotonic_ns(), Window.MEASURED))
        iteration.sessions.close()
    report = recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=True)
    assert report.errors == ()
    return {one.window: one.count for one in report.moved}


def assert_split(moved: dict[Window | None, int]) -> None:
    assert set(moved) == {Window.MEASURED, None}
    assert sum(moved.values()) == SIZE_BYTES
    assert min(moved.values()) > SIZE_BYTES / 5, moved


@every_kind
def test_of_a_file_that_the_end_of_the_window_cuts_in_two_each_half_counts_where_it_moved(
    sftp_server: SshServer, tmp_path: Path, kind: Kind
) -> None:
    (tmp_path / "file").write_bytes(bytes(SIZE_BYTES))
    step = SftpReadStep("", str(tmp_path / "file"), SIZE_BYTES, "")
    assert_split(moved_around_the_end(sftp_server, step, kind.client()))


def test_so_does_a_file_that_is_written(sftp_server: SshServer, tmp_path: Path) -> None:
    step = SftpWriteStep("", str(tmp_path / "file"), SIZE_BYTES, Verify.NONE)
    assert_split(moved_around_the_end(sftp_server, step, SSH2_PYTHON.client()))
