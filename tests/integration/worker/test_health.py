import os
import socket
import subprocess
import sys
from time import monotonic

import gevent
from sshload_worker.recording.health import HealthMonitor, available_ports, run_delay_ns, waiting_ports


def stand_still(seconds: float) -> None:
    end_s = monotonic() + seconds
    while monotonic() < end_s:
        pass


def test_a_loop_that_stands_still_is_seen_in_its_lag() -> None:
    monitor = HealthMonitor()
    monitor.start()
    gevent.sleep(0.1)
    stand_still(0.5)
    gevent.sleep(0.1)
    health = monitor.health(connections=0, overflows=0)
    assert health.loop_lag_max_us >= 400_000
    assert health.loop_lag_p99_us == health.loop_lag_max_us  # too few samples for a percentile


def test_a_long_lag_weighs_as_much_as_the_time_that_it_took() -> None:
    monitor = HealthMonitor()
    monitor.start()
    for _ in range(4):
        gevent.sleep(0.05)
        stand_still(0.5)
    gevent.sleep(1.2)
    assert monitor.health(connections=0, overflows=0).loop_lag_p99_us >= 400_000


def test_a_busy_second_is_seen_in_the_cpu_share() -> None:
    monitor = HealthMonitor()
    monitor.start()
    gevent.sleep(0.1)
    idle = monitor.health(connections=0, overflows=0).cpu_share
    stand_still(1.5)
    gevent.sleep(0.1)
    assert idle == 0.0
    assert 0.0 < monitor.health(connections=0, overflows=0).cpu_share <= 1.1


def test_a_program_that_the_worker_runs_is_seen_in_the_cpu_share() -> None:
    monitor = HealthMonitor()
    monitor.start()
    began_s = monotonic()
    gevent.sleep(0.1)
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"], check=True)
    gevent.sleep(1.2)
    cpus_s = (monotonic() - began_s) * len(os.sched_getaffinity(0))
    assert monitor.health(connections=0, overflows=0).cpu_share >= 1 / cpus_s


def test_waiting_for_a_cpu_is_counted_from_the_start_on() -> None:
    monitor = HealthMonitor()
    stand_still(0.05)
    monitor.start()
    assert run_delay_ns() >= 0
    assert 0.0 <= monitor.health(connections=0, overflows=0).run_delay_share <= 1.0


def test_ports_in_use_are_those_open_and_those_in_time_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        client.close()
        assert accepted.recv(1) == b""
        accepted.close()
    assert waiting_ports() >= 1
    assert HealthMonitor().health(connections=7, overflows=0).ports_used >= 8


def test_the_kernels_port_range_is_what_is_available() -> None:
    assert 1_000 < available_ports() <= 65_536
