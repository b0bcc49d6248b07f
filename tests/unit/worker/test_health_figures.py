"""What a worker says of its own health, by played clocks and by what a kernel tells of it.

`tests/integration/worker/test_health.py` has the same with the machine's own.
"""

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from gevent import GreenletExit
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import Health
from sshload_worker.recording import health as health_module
from sshload_worker.recording.health import (
    TIME_WAIT_S,
    HealthMonitor,
    add_program,
    available_ports,
    companions_cpu_s,
    forget_companion,
    has_port_room,
    memory_peak_bytes,
    programs_cpu_s,
    remove_program,
    waiting_ports,
    watch_companion,
)

MS_NS = 1_000_000
S_NS = 1_000 * MS_NS
STAT = "cpu {0} 0 0 0 0 0 0 {1} 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"
"""By the ticks of all CPUs that were used, and those that were stolen; a second has 100."""


@dataclass
class Kernel:
    """What a kernel tells, and the clocks. `files` are those of /proc, by name."""

    proc: Path
    now_ns: int = 50 * S_NS
    thread_s: float = 5.0
    process_s: float = 6.0
    children_s: tuple[float, float] = (0.0, 0.0)
    cpus: int = 4
    turns: list[dict[str, float]] = field(default_factory=list)
    started: list[HealthMonitor] = field(default_factory=list)

    def tell(self, name: str, text: str) -> None:
        """Write a file of /proc."""
        path = self.proc / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def sleep(self, seconds: float) -> None:
        """Let the time of a turn pass, in which so much CPU is used; after the last turn the watching ends."""
        if not self.turns:
            raise GreenletExit
        turn = self.turns.pop(0)
        self.now_ns += round(seconds * S_NS)
        self.thread_s += turn.get("own", 0.0)
        user_s, system_s = self.children_s
        self.children_s = user_s + turn.get("user", 0.0), system_s + turn.get("system", 0.0)
        if "companion" in turn:
            self.tell("7/schedstat", f"{round(turn['companion'] * S_NS)} 0 1")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """Return a kernel that tells nothing yet."""
    found = Kernel(tmp_path)
    names = {
        "_PROC": "",
        "_SCHEDSTAT": "thread-self/schedstat",
        "_STAT": "stat",
        "_SOCKSTAT": "sockstat",
        "_STATUS": "self/status",
        "_PORT_RANGE": "range",
    }
    for constant, name in names.items():
        monkeypatch.setattr(health_module, constant, tmp_path / name)
    monkeypatch.setattr(health_module, "monotonic_ns", lambda: found.now_ns)
    monkeypatch.setattr(health_module, "monotonic", lambda: found.now_ns / S_NS)
    monkeypatch.setattr(health_module, "thread_time", lambda: found.thread_s)
    monkeypatch.setattr(health_module, "process_time", lambda: found.process_s)
    used = SimpleNamespace(
        RUSAGE_CHILDREN=1,
        getrusage=lambda who: SimpleNamespace(ru_utime=found.children_s[0] * who, ru_stime=found.children_s[1] * who),
    )
    monkeypatch.setattr(health_module, "resource", used)
    monkeypatch.setattr(health_module, "gevent", SimpleNamespace(sleep=found.sleep))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(found.cpus)))
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    yield found
    for monitor in found.started:
        monitor.stop()
    health_module._companions.clear()
    health_module._programs.clear()


@pytest.fixture
def monitor(kernel: Kernel) -> HealthMonitor:
    """Return a monitor that was started."""
    return started_monitor(kernel)


def started_monitor(kernel: Kernel) -> HealthMonitor:
    """Return a monitor that was started, and is stopped at the end of the test."""
    started = HealthMonitor()
    started.start()
    kernel.started.append(started)
    return started


def figures(monitor: HealthMonitor, connections: int = 0) -> Health:
    return monitor.health(connections=connections, overflows=9)


@pytest.fixture
def lags(kernel: Kernel) -> Iterator[int]:
    """Watch a companion, and return where it writes its lags."""
    kernel.tell("7/schedstat", "0 0 1")
    reading, writing = os.pipe()
    watch_companion(7, reading)
    yield writing
    forget_companion(7)
    os.close(reading)
    os.close(writing)


def say(lags: int, *lags_us: int) -> None:
    os.write(lags, array("I", lags_us).tobytes())


def test_the_share_of_waiting_for_a_cpu_is_of_the_time_since_the_start(kernel: Kernel) -> None:
    kernel.tell("thread-self/schedstat", f"100 {3 * MS_NS} 5")
    early = HealthMonitor()
    kernel.started.append(early)
    kernel.now_ns += 100 * MS_NS
    kernel.tell("thread-self/schedstat", f"200 {7 * MS_NS} 6")
    early.start()
    kernel.now_ns += 10 * MS_NS
    kernel.tell("thread-self/schedstat", f"300 {9 * MS_NS} 7")
    assert figures(early).run_delay_share == pytest.approx(0.2)


def test_the_waiting_of_a_companion_counts_where_it_is_more(kernel: Kernel, lags: int) -> None:
    assert lags
    kernel.tell("thread-self/schedstat", "0 0 1")
    kernel.tell("7/schedstat", f"0 {4 * MS_NS} 1")
    monitor = started_monitor(kernel)
    kernel.now_ns += 10 * MS_NS
    kernel.tell("thread-self/schedstat", f"0 {2 * MS_NS} 1")
    kernel.tell("7/schedstat", f"0 {9 * MS_NS}")
    assert figures(monitor).run_delay_share == pytest.approx(0.5)
    kernel.tell("thread-self/schedstat", f"0 {6 * MS_NS} 1")
    assert figures(monitor).run_delay_share == pytest.approx(0.6)


def test_of_a_companion_that_came_later_only_what_is_known_of_it_counts(kernel: Kernel) -> None:
    kernel.tell("thread-self/schedstat", "0 0 1")
    monitor = started_monitor(kernel)
    kernel.tell("7/schedstat", f"0 {400 * MS_NS} 1")
    reading, writing = os.pipe()
    watch_companion(7, reading)
    kernel.now_ns += 10 * MS_NS
    assert figures(monitor).run_delay_share == 0.0
    os.close(reading)
    os.close(writing)


def test_a_companion_that_has_ended_waits_for_nothing_and_has_no_cpu(kernel: Kernel, lags: int) -> None:
    assert lags
    kernel.tell("thread-self/schedstat", "0 0 1")
    kernel.tell("7/schedstat", "")
    assert figures(started_monitor(kernel)).run_delay_share == 0.0
    assert companions_cpu_s() == {}


def test_a_monitor_that_was_stopped_probes_no_more(kernel: Kernel) -> None:
    monitor = started_monitor(kernel)
    assert monitor._probe.active
    monitor.stop()
    assert not monitor._probe.active


def test_a_kernel_keeps_the_port_of_a_closed_connection_for_a_minute() -> None:
    assert TIME_WAIT_S == 60.0


@pytest.mark.parametrize("text", ["", "100"])
def test_without_the_kernels_word_the_share_of_waiting_is_not_known(kernel: Kernel, text: str) -> None:
    kernel.tell("thread-self/schedstat", text)
    monitor = started_monitor(kernel)
    assert figures(monitor).run_delay_share is None
    kernel.tell("thread-self/schedstat", "100 5 1")
    assert figures(monitor).run_delay_share is None


def test_what_the_host_took_is_of_the_time_since_the_start(kernel: Kernel) -> None:
    kernel.tell("stat", STAT.format(1_000, 0))
    early = HealthMonitor()
    kernel.started.append(early)
    kernel.tell("stat", STAT.format(2_000, 500))
    early.start()
    kernel.tell("stat", STAT.format(2_300, 600))
    found = figures(early)
    assert found.stolen_share == 0.25
    assert found.machine_cpu is not None
    assert (found.machine_cpu.total_s, found.machine_cpu.stolen_s) == (4.0, 1.0)


def probe(monitor: HealthMonitor, kernel: Kernel, late_us: int) -> None:
    """Let the next probe be so late."""
    kernel.now_ns = monitor._probe_due_ns + late_us * 1_000
    monitor._on_probe()


def test_a_probe_is_due_10_ms_after_the_one_before(monitor: HealthMonitor, kernel: Kernel) -> None:
    began_ns = kernel.now_ns
    assert monitor._probe_due_ns == began_ns + 10 * MS_NS
    probe(monitor, kernel, 3_000)
    assert monitor._probe_due_ns == began_ns + 23 * MS_NS


def test_a_lag_counts_once_for_each_probe_that_it_kept_from_running(monitor: HealthMonitor, kernel: Kernel) -> None:
    probe(monitor, kernel, 9_999)
    assert monitor._lag.count == 1
    monitor._lag.counts.clear()
    probe(monitor, kernel, 35_000)
    assert sorted(monitor._lag.counts) == pytest.approx([5_000, 15_000, 25_000, 35_000], rel=0.01)
    probe(monitor, kernel, -2_000)
    found = figures(monitor)
    assert found.loop_lag_max_us == 35_000
    assert found.loop_lag_mean_us == pytest.approx(80_000 / 5, rel=0.01)


def test_a_lag_of_more_than_20_ms_is_a_pause_since_the_probe_before(monitor: HealthMonitor, kernel: Kernel) -> None:
    probe(monitor, kernel, 20_000)
    assert not monitor.pauses.may_have_caused(Outcome.STEP_TIMEOUT, kernel.now_ns - S_NS // 10, kernel.now_ns)
    probe(monitor, kernel, 21_000)
    assert monitor.pauses._paused_ns(0) == 31 * MS_NS


def test_a_percentile_of_lags_is_their_maximum_until_there_are_enough(monitor: HealthMonitor, kernel: Kernel) -> None:
    for late_us in (100, 9_000, 200):
        probe(monitor, kernel, late_us)
    found = figures(monitor)
    assert (found.loop_lag_p50_us, found.loop_lag_p99_us, found.loop_lag_p999_us) == (9_000, 9_000, 9_000)
    for late_us in range(1, 3_001):
        probe(monitor, kernel, 3 * late_us)
    found = figures(monitor)
    assert found.loop_lag_p50_us == pytest.approx(4_500, rel=0.01)
    assert found.loop_lag_p99_us == pytest.approx(8_910, rel=0.01)
    assert found.loop_lag_p999_us == pytest.approx(8_991, rel=0.002)


def test_the_lags_of_a_companion_are_lags_and_pauses_of_the_worker(kernel: Kernel, lags: int) -> None:
    say(lags, 99_000)
    monitor = started_monitor(kernel)
    probe(monitor, kernel, 1_000)
    assert figures(monitor).loop_lag_max_us == 1_000  # nothing from before counts
    say(lags, 2_000, 60_000)
    found = figures(monitor)
    assert (found.loop_lag_max_us, found.loop_lag_p99_us) == (60_000, 60_000)
    assert found.loop_lag_mean_us == pytest.approx(31_000, rel=0.01)
    assert monitor.pauses._paused_ns(0) == 60 * MS_NS
    say(lags, 70_000)
    probe(monitor, kernel, 0)
    assert monitor._companions_lag_max_us == 70_000


def test_the_most_ports_that_were_used_and_all_that_were_there_are_told(monitor: HealthMonitor, kernel: Kernel) -> None:
    kernel.tell("range", "40000 40099\n")
    assert [figures(monitor, count).ports_used for count in (0, 3, 7, 5)] == [0, 3, 7, 7]
    found = figures(monitor)
    assert (found.ports_available, found.overflows) == (100, 9)


def watched(kernel: Kernel, *turns: dict[str, float]) -> Health:
    """Return the health after seconds in which so much CPU was used."""
    monitor = started_monitor(kernel)
    kernel.turns = list(turns)
    with pytest.raises(GreenletExit):
        monitor._watch_cpu()
    return figures(monitor)


def test_before_a_second_has_passed_no_share_of_a_cpu_is_known(kernel: Kernel) -> None:
    found = watched(kernel)
    assert (found.cpu_share, found.cpu_cores) == (None, None)


def test_the_busiest_second_counts_of_the_worker_itself(kernel: Kernel) -> None:
    found = watched(kernel, {"own": 0.25}, {"own": 0.75}, {"own": 0.5})
    assert (found.cpu_share, found.cpu_cores) == pytest.approx((0.75, 0.75))


def test_programs_that_have_ended_use_the_cpus_of_the_machine_together_with_the_worker(kernel: Kernel) -> None:
    """Two of four CPUs are a half; the worker alone has a quarter of one."""
    found = watched(kernel, {"own": 0.25, "user": 1.0, "system": 0.75})
    assert (found.cpu_share, found.cpu_cores) == pytest.approx((0.5, 2.0))


def test_a_companion_has_one_cpu_as_the_worker_has(kernel: Kernel, lags: int) -> None:
    assert lags
    kernel.tell("7/schedstat", f"{3 * S_NS} 0 1")
    found = watched(kernel, {"own": 0.25, "companion": 3.875})
    assert (found.cpu_share, found.cpu_cores) == pytest.approx((0.875, 1.125))


def test_the_cpu_time_is_that_since_the_start_with_that_of_programs(kernel: Kernel) -> None:
    early = HealthMonitor()
    kernel.started.append(early)
    kernel.process_s, kernel.children_s = 7.0, (1.0, 2.0)
    early.start()
    assert figures(early).cpu_s == 0.0
    kernel.process_s, kernel.children_s = 7.5, (1.25, 4.0)
    assert figures(early).cpu_s == pytest.approx(0.5 + 0.25 + 2.0)


def test_running_programs_that_are_counted_have_their_user_and_system_time_whatever_their_name_is(
    kernel: Kernel,
) -> None:
    kernel.tell("8/stat", "8 (a) R b) S 1 2 3 4 5 6 7 8 9 10 150 250 999 999 20 0 1")
    add_program(8)
    add_program(9)
    assert programs_cpu_s() == 4.0
    remove_program(8)
    remove_program(8)
    assert programs_cpu_s() == 0.0


def test_the_peak_of_memory_is_the_sum_of_all_and_not_known_where_one_is_not(kernel: Kernel) -> None:
    assert memory_peak_bytes() is None
    kernel.tell("self/status", "Name:\tx\nVmPeak:\t999 kB\nVmHWM:\t   100 kB\nVmRSS:\t50 kB\n")
    assert memory_peak_bytes() == 102_400
    kernel.tell("8/status", "VmHWM:\t 50 kB\n")
    add_program(8)
    assert memory_peak_bytes() == 153_600
    add_program(9)
    assert memory_peak_bytes() is None
    remove_program(9)


def test_ports_are_the_usual_ones_where_the_kernel_does_not_say(kernel: Kernel) -> None:
    assert available_ports() == 28_232
    kernel.tell("range", "1 10")
    assert available_ports() == 10


SOCKSTAT = "sockets: used 5\nTCP: inuse 4 orphan 0 tw {} alloc 6 mem 1\nUDP: inuse 0\n"


def test_ports_that_wait_are_asked_for_only_where_some_do(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {health_module.AF_INET: 3, health_module.AF_INET6: 4}
    monkeypatch.setattr(
        health_module, "count", lambda family, _state, remote_port: counted[family] * (remote_port == 22)
    )
    assert waiting_ports(22) == 0
    kernel.tell("sockstat", SOCKSTAT.format(0))
    assert waiting_ports(22) == 0
    kernel.tell("sockstat", SOCKSTAT.format(9))
    assert (waiting_ports(22), waiting_ports(23)) == (7, 0)

    def refuse(*_: object, **__: object) -> int:
        raise OSError("no such family")

    monkeypatch.setattr(health_module, "count", refuse)
    assert waiting_ports(22) == 9


def test_there_is_room_for_connections_up_to_nine_tenths_of_the_ports_with_those_that_wait(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.tell("range", "1 100")
    assert [has_port_room(needed, 22) for needed in (90, 91)] == [True, False]
    kernel.tell("sockstat", SOCKSTAT.format(40))
    monkeypatch.setattr(health_module, "count", lambda *_, **__: 20)
    assert [has_port_room(needed, 22) for needed in (50, 51)] == [True, False]
