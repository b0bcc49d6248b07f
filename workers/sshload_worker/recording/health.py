"""HealthMonitor: how far this worker's numbers can be trusted, by its own lag and shortages.

A generator without enough CPU measures itself. The kernel reports this exactly (schedstat: how long the process was
runnable and not running), and the event loop shows it by how late it wakes. The kernel also reports the source ports in
use. Some kernels report less: gVisor, for example, has no schedstat. Figures that are not reported are left out, and
the event loop's lag remains.
"""

import os
import resource
import struct
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from socket import AF_INET, AF_INET6
from time import monotonic, monotonic_ns, process_time, thread_time
from typing import Any

import gevent
from gevent import get_hub
from gevent.pool import Group
from sshload_contract.judgement.own_delay import SOUND_BELOW_US
from sshload_contract.judgement.pauses import Pauses
from sshload_contract.kernel_sockets import TIME_WAIT, count
from sshload_contract.steal import machine_cpu, passed_since, stolen_share
from sshload_contract.wire.report import PORTS_SHARE_LIMIT, Health

from sshload_worker.recording.histogram import LatencyHistogram

_PROBE_INTERVAL_S = 0.01
_CPU_INTERVAL_S = 1.0
_NS_PER_S = 1_000_000_000
_PROBE_INTERVAL_NS = int(_PROBE_INTERVAL_S * _NS_PER_S)
_NS_PER_US = 1_000
_US_PER_S = 1_000_000
_BYTES_PER_KB = 1_024
_LAGS_BYTES = 65_536
_PROC = Path("/proc")
_SCHEDSTAT = _PROC / "thread-self/schedstat"
_STAT = Path("/proc/stat")
_SOCKSTAT = Path("/proc/net/sockstat")
_STATUS = Path("/proc/self/status")
_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_PORT_RANGE = "32768 60999"
"""Linux's default, for a kernel that does not report it."""

TIME_WAIT_S = 60.0
"""How long Linux keeps a closed connection's port (TCP_TIMEWAIT_LEN in include/net/tcp.h)."""


class HealthMonitor:
    """Monitors the thread that it is started in, from `start` to `stop`. `pauses` has when it stood still."""

    def __init__(self) -> None:
        self.pauses = Pauses()
        self._lag = LatencyHistogram()
        self._lag_max_us = 0
        self._companions_lag = LatencyHistogram()
        self._companions_lag_max_us = 0
        self._cpu_share: float | None = None
        self._cpu_cores: float | None = None
        self._begin_ns = monotonic_ns()
        self._delay_before_ns, self._companions_before_ns = run_delay_ns(), companions_delay_ns()
        self._machine_before = machine_cpu(_read_proc_file(_STAT))
        self._cpu_before_s = used_cpu_s()
        self._ports_used = 0
        self._watching = Group()
        self._probe: Any = get_hub().loop.timer(_PROBE_INTERVAL_S, _PROBE_INTERVAL_S)
        self._probe_due_ns = 0

    def start(self) -> None:
        """Begin to monitor. Nothing from before counts."""
        self._begin_ns = monotonic_ns()
        self._delay_before_ns, self._companions_before_ns = run_delay_ns(), companions_delay_ns()
        self._machine_before = machine_cpu(_read_proc_file(_STAT))
        self._cpu_before_s = used_cpu_s()
        for _ in _companion_lags_us():
            pass
        self._await_probe()
        self._watching.spawn(self._watch_cpu)

    def stop(self) -> None:
        """Stop monitoring."""
        self._probe.close()
        self._watching.kill()

    def health(self, *, connections: int, overflows: int) -> Health:
        """Return the figures since the start. `connections` have a source port now: open ones, and `waiting_ports`."""
        self._hear_companions()
        self._ports_used = max(self._ports_used, connections)
        machine_now = machine_cpu(_read_proc_file(_STAT))
        delay_ns, companions_ns = run_delay_ns(), companions_delay_ns()
        elapsed_ns = max(monotonic_ns() - self._begin_ns, 1)  # read last, so that no wait is longer than this
        run_delay_share = None
        if delay_ns is not None and self._delay_before_ns is not None:
            waited_ns = [now - self._companions_before_ns.get(pid, now) for pid, now in companions_ns.items()]
            run_delay_share = max([delay_ns - self._delay_before_ns, *waited_ns]) / elapsed_ns
        return Health(
            cpu_share=self._cpu_share,
            run_delay_share=run_delay_share,
            stolen_share=stolen_share(self._machine_before, machine_now),
            loop_lag_mean_us=round(max(self._lag.mean_us() or 0, self._companions_lag.mean_us() or 0)),
            loop_lag_p50_us=self._lag_percentile_us(50),
            loop_lag_p99_us=self._lag_percentile_us(99),
            loop_lag_p999_us=self._lag_percentile_us(99.9),
            loop_lag_max_us=max(self._lag_max_us, self._companions_lag_max_us),
            ports_used=self._ports_used,
            ports_available=available_ports(),
            overflows=overflows,
            machine_cpu=passed_since(self._machine_before, machine_now),
            cpu_s=used_cpu_s() - self._cpu_before_s,
            memory_peak_bytes=memory_peak_bytes(),
            cpu_cores=self._cpu_cores,
        )

    def _lag_percentile_us(self, percentile: float) -> int:
        """Return the higher percentile, the worker's or the companions'. With too few samples, the maximum counts."""
        own_us, companions_us = self._lag.percentile_us(percentile), self._companions_lag.percentile_us(percentile)
        return max(
            self._lag_max_us if own_us is None else own_us,
            self._companions_lag_max_us if companions_us is None else companions_us,
        )

    def _await_probe(self) -> None:
        """Have the loop call `_on_probe` after one interval. A waiting greenlet would double the cost of a probe."""
        self._probe_due_ns = monotonic_ns() + _PROBE_INTERVAL_NS
        self._probe.again(self._on_probe)

    def _on_probe(self) -> None:
        now_ns = monotonic_ns()
        lag_us = max(now_ns - self._probe_due_ns, 0) // _NS_PER_US
        if lag_us > SOUND_BELOW_US:
            # It began at any time since the last probe.
            self.pauses.add(self._probe_due_ns - _PROBE_INTERVAL_NS, now_ns)
        self._lag_max_us = max(self._lag_max_us, lag_us)
        # The probes that could not run during a long lag would have waited too, each for one interval less.
        for missed_us in range(lag_us, -1, -int(_PROBE_INTERVAL_S * _US_PER_S)):
            self._lag.record(missed_us)
        self._hear_companions()
        self._await_probe()

    def _hear_companions(self) -> None:
        now_ns = monotonic_ns()
        for lag_us in _companion_lags_us():
            self.pauses.add(now_ns - lag_us * _NS_PER_US, now_ns)
            self._companions_lag.record(lag_us)
            self._companions_lag_max_us = max(self._companions_lag_max_us, lag_us)

    def _watch_cpu(self) -> None:
        wall_s, own_s, programs_s, companions_s = monotonic(), thread_time(), programs_cpu_s(), companions_cpu_s()
        while True:
            gevent.sleep(_CPU_INTERVAL_S)
            wall_now_s, own_now_s, programs_now_s = monotonic(), thread_time(), programs_cpu_s()
            companions_now_s = companions_cpu_s()
            passed_s = wall_now_s - wall_s
            used_s = own_now_s - own_s + programs_now_s - programs_s
            beside_s = [used - companions_s.get(pid, used) for pid, used in companions_now_s.items()]
            cores = (used_s + sum(beside_s)) / passed_s
            self._cpu_cores = max(self._cpu_cores or 0.0, cores)
            self._cpu_share = max(
                self._cpu_share or 0.0,
                *(of_one_s / passed_s for of_one_s in (own_now_s - own_s, *beside_s)),
                cores / len(os.sched_getaffinity(0)),
            )
            wall_s, own_s, programs_s, companions_s = wall_now_s, own_now_s, programs_now_s, companions_now_s


_companions: dict[int, int] = {}
_programs: set[int] = set()


def add_program(pid: int) -> None:
    """Count a running program, which may use several CPUs, with the worker's ended programs."""
    _programs.add(pid)


def remove_program(pid: int) -> None:
    """Stop counting a program by its pid."""
    _programs.discard(pid)


def watch_companion(pid: int, lags: int) -> None:
    """Monitor a process of one thread that the measurement depends on, with the same limits as the worker itself.

    `lags` is the descriptor from which its lags can be read, in microseconds, as numbers of four bytes each.
    """
    os.set_blocking(lags, False)
    _companions[pid] = lags


def _companion_lags_us() -> Iterator[int]:
    """Yield the lags that companions have reported since the last call."""
    for lags in _companions.values():
        with suppress(BlockingIOError):
            while data := os.read(lags, _LAGS_BYTES):
                yield from array("I", data)


def forget_companion(pid: int) -> None:
    """Stop monitoring a companion."""
    _companions.pop(pid, None)


def companions_cpu_s() -> dict[int, float]:
    """Return the CPU time of each running companion, by its pid, if the kernel reports it."""
    return {pid: ran_ns / _NS_PER_S for pid, (ran_ns, _) in _companions_ns().items()}


def companions_delay_ns() -> dict[int, int]:
    """Return for how long each of them was runnable and not running, by its pid."""
    return {pid: waited_ns for pid, (_, waited_ns) in _companions_ns().items()}


def _companions_ns() -> dict[int, tuple[int, int]]:
    fields = {pid: _read_proc_file(_PROC / str(pid) / "schedstat").split() for pid in _companions}
    return {pid: (int(words[0]), int(words[1])) for pid, words in fields.items() if len(words) > 1}


def run_delay_ns() -> int | None:
    """Return for how long this thread was runnable and not running since it began; None if this is unknown."""
    words = _read_proc_file(_SCHEDSTAT).split()
    return int(words[1]) if len(words) > 1 else None


def programs_cpu_s() -> float:
    """Return the CPU time of the ended programs that this process started, and of the running ones that it counts."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(_running_cpu_s(pid) for pid in _programs)


def _running_cpu_s(pid: int) -> float:
    """Return the user and system time of a program (proc(5)), 0 if it is unknown."""
    words = _read_proc_file(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    # Fields 14 and 15 (utime, stime) of the line, which begins with the pid and the name.
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") if words else 0.0


def used_cpu_s() -> float:
    """Return the CPU time of this process and of its programs, ended or counted."""
    return process_time() + programs_cpu_s()


def memory_peak_bytes() -> int | None:
    """Return the sum of the peak resident memory of this process and its counted programs, None if unknown."""
    peaks = [_peak_bytes(file) for file in (_STATUS, *(_PROC / str(pid) / "status" for pid in _programs))]
    return None if None in peaks else sum(peak for peak in peaks if peak is not None)


def _peak_bytes(status: Path) -> int | None:
    """Return VmHWM of proc(5)."""
    for line in _read_proc_file(status).splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * _BYTES_PER_KB
    return None


def waiting_ports(target_port: int) -> int:
    """Return how many connections to this port, of this machine or pod, are in TIME_WAIT; 0 if it is unknown.

    Others keep no source port from the run. A kernel that does not list them may still tell how many there are in all.
    """
    of_all = _all_waiting_ports()
    if not of_all:
        return 0
    try:
        return sum(count(family, TIME_WAIT, remote_port=target_port) for family in (AF_INET, AF_INET6))
    except (OSError, struct.error):
        return of_all


def _all_waiting_ports() -> int:
    for line in _read_proc_file(_SOCKSTAT).splitlines():
        words = line.split()
        if words[0] == "TCP:":
            return int(words[words.index("tw") + 1])
    return 0


def available_ports() -> int:
    """Return the number of source ports that the kernel may choose from for one target address and port."""
    low, high = (_read_proc_file(_PORT_RANGE) or _USUAL_PORT_RANGE).split()
    return int(high) - int(low) + 1


def _read_proc_file(file: Path) -> str:
    """Return the text of a file of /proc, "" if the kernel has no such file or denies reading it."""
    try:
        return file.read_text(encoding="ascii")
    except OSError:
        return ""


def has_port_room(needed: int, target_port: int) -> bool:
    """Return whether all processes of the pod together can open `needed` connections without reusing a port."""
    return waiting_ports(target_port) + needed <= PORTS_SHARE_LIMIT * available_ports()
