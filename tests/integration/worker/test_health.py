import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, monotonic_ns

import gevent
import pytest
from free_ports import free_port
from sshload_contract.vocabulary import Outcome
from sshload_worker.recording import health as health_module
from sshload_worker.recording.health import HealthMonitor, available_ports, run_delay_ns, waiting_ports

DEADLINE_S = 300.0


@pytest.fixture
def monitor() -> Iterator[HealthMonitor]:
    """Return a monitor that is yet to be started; it watches no longer than the test."""
    monitor = HealthMonitor()
    yield monitor
    monitor.stop()


def stand_still(seconds: float) -> None:
    end_s = monotonic() + seconds
    while monotonic() < end_s:
        pass


def test_a_loop_that_stands_still_is_seen_in_its_lag(monitor: HealthMonitor) -> None:
    monitor.start()
    gevent.sleep(0.1)
    stand_still(0.5)
    gevent.sleep(0.1)
    health = monitor.health(connections=0, overflows=0)
    assert health.loop_lag_max_us >= health.loop_lag_p99_us >= 400_000  # alike with too few samples for a percentile


def test_when_a_loop_stood_still_is_known_for_the_failures_near_it(monitor: HealthMonitor) -> None:
    monitor.start()
    gevent.sleep(0.1)
    begin_ns = monotonic_ns()
    stand_still(0.5)
    gevent.sleep(0.1)
    far_ns = monotonic_ns() + 100_000_000_000
    assert monitor.pauses.may_have_caused(Outcome.STEP_TIMEOUT, begin_ns, monotonic_ns())
    assert not monitor.pauses.may_have_caused(Outcome.STEP_TIMEOUT, far_ns, far_ns + 1_000_000_000)


def test_a_long_lag_weighs_as_much_as_the_time_that_it_took(monitor: HealthMonitor) -> None:
    monitor.start()
    for _ in range(4):
        gevent.sleep(0.05)
        stand_still(0.5)
    gevent.sleep(1.2)
    health = monitor.health(connections=0, overflows=0)
    assert health.loop_lag_max_us >= health.loop_lag_p999_us >= health.loop_lag_p99_us >= 400_000
    assert health.loop_lag_mean_us >= 50_000


def test_a_busy_second_is_seen_in_the_cpu_share(monitor: HealthMonitor) -> None:
    monitor.start()
    gevent.sleep(0)
    idle = monitor.health(connections=0, overflows=0).cpu_share
    stand_still(1.5)
    gevent.sleep(0.1)
    busy = monitor.health(connections=0, overflows=0).cpu_share
    assert idle is None  # there was no whole second yet
    assert busy is not None
    assert 0.0 < busy <= 1.1


def test_a_program_that_the_worker_runs_is_seen_in_the_cpu_share(monitor: HealthMonitor) -> None:
    monitor.start()
    began_s = monotonic()
    gevent.sleep(0.1)
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"], check=True)
    gevent.sleep(1.2)
    whole_s = monotonic() - began_s
    health = monitor.health(connections=0, overflows=0)
    assert (health.cpu_share or 0.0) >= 1 / whole_s / len(os.sched_getaffinity(0))
    assert (health.cpu_cores or 0.0) >= 1 / whole_s


def test_the_cpu_time_is_counted_from_the_start_on_with_that_of_programs_that_ended(monitor: HealthMonitor) -> None:
    stand_still(0.2)
    monitor.start()
    before_s = monitor.health(connections=0, overflows=0).cpu_s
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"], check=True)
    used_s = monitor.health(connections=0, overflows=0).cpu_s
    assert before_s < 0.1
    assert used_s >= before_s + 1


def test_the_most_memory_that_there_was_is_told_after_it_is_free_again(monitor: HealthMonitor) -> None:
    before = monitor.health(connections=0, overflows=0).memory_peak_bytes
    held = bytearray(200_000_000)
    held[::4096] = bytes(len(held[::4096]))
    del held
    after = monitor.health(connections=0, overflows=0).memory_peak_bytes
    assert before is not None
    assert after is not None
    assert after >= 200_000_000


def test_waiting_for_a_cpu_is_counted_from_the_start_on(monitor: HealthMonitor) -> None:
    stand_still(0.05)
    monitor.start()
    share = monitor.health(connections=0, overflows=0).run_delay_share
    assert run_delay_ns() is not None
    assert share is not None
    assert 0.0 <= share <= 1.0


def test_what_the_host_took_from_the_machine_is_counted_from_the_start_on(monitor: HealthMonitor) -> None:
    monitor.start()
    gevent.sleep(0.1)
    share = monitor.health(connections=0, overflows=0).stolen_share
    assert share is not None
    assert 0.0 <= share <= 1.0


def test_no_share_of_waiting_is_above_one_though_the_cpu_is_taken_away_while_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began_ns = monotonic_ns()
    kept_waiting_s = iter((0.0, 0.0, 0.05))

    def waited_all_the_time_ns() -> int:
        gevent.sleep(next(kept_waiting_s))
        return monotonic_ns() - began_ns

    monkeypatch.setattr(health_module, "run_delay_ns", waited_all_the_time_ns)
    monitor = HealthMonitor()
    monitor.start()
    share = monitor.health(connections=0, overflows=0).run_delay_share
    assert share is not None
    assert share <= 1.0
    monitor.stop()


def test_what_a_kernel_does_not_tell_is_left_out_and_the_rest_is_watched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in gVisor, which has none of these files."""
    for name in ("_SCHEDSTAT", "_SOCKSTAT", "_PORT_RANGE"):
        monkeypatch.setattr(health_module, name, tmp_path / name)
    monitor = HealthMonitor()
    monitor.start()
    gevent.sleep(0.05)
    stand_still(0.2)
    gevent.sleep(0.05)
    health = monitor.health(connections=3, overflows=0)
    monitor.stop()
    assert health.run_delay_share is None
    assert (health.ports_used, health.ports_available) == (3, 28_232)
    assert health.loop_lag_max_us > 0


def port_without_past() -> int:
    """Return a port that no connection of this machine has had lately, and that no other test will take."""
    return next(port for port in iter(free_port, 0) if waiting_ports(port) == 0)


def leave_in_time_wait(server: socket.socket, connections: int) -> None:
    for _ in range(connections):
        client = socket.create_connection(server.getsockname()[:2])
        accepted, _ = server.accept()
        client.close()
        assert accepted.recv(1) == b""
        accepted.close()


@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"]
)
def test_ports_that_are_not_free_again_are_those_of_connections_to_the_target(
    family: socket.AddressFamily, address: str
) -> None:
    """More of them than the kernel lists at once; others' connections, and what others closed, are not among them."""
    with (
        socket.create_server((address, port_without_past()), family=family) as target,
        socket.create_server((address, port_without_past()), family=family) as other,
    ):
        port = target.getsockname()[1]
        leave_in_time_wait(other, 5)
        leave_in_time_wait(target, 1_000)
        deadline_s = monotonic() + DEADLINE_S
        while waiting_ports(port) < 1_000:  # the kernel may deal with the last packet a little later
            assert monotonic() < deadline_s
            gevent.sleep(0.01)
        assert (waiting_ports(port), waiting_ports(other.getsockname()[1])) == (1_000, 5)


def test_a_kernel_that_lists_no_sockets_tells_how_many_wait_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> socket.socket:
        raise OSError("Address family not supported by protocol")

    with socket.create_server(("127.0.0.1", 0)) as other:
        leave_in_time_wait(other, 3)
        port = other.getsockname()[1]
        deadline_s = monotonic() + DEADLINE_S
        while waiting_ports(port) < 3:
            assert monotonic() < deadline_s
            gevent.sleep(0.01)
    monkeypatch.setattr("sshload_contract.kernel_sockets.socket.socket", refuse)
    assert waiting_ports(1) >= 3


def test_the_kernels_port_range_is_what_is_available() -> None:
    assert 1_000 < available_ports() <= 65_536
