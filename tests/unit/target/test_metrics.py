"""The target's metrics and counts; the limits are there where the container has some."""

import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sshload_contract.steal import MachineCpu
from sshload_contract.wire.target import TargetStats, Usage
from sshload_target.metrics import metrics
from sshload_target.observer import Observer
from sshload_target.sshd.listen_queue import ListenQueue
from sshload_target.sshd.log import SshdLog
from sshload_target.usage.resources import Resources
from sshload_target.usage.values import Limits

USAGE = Usage(
    cpu_s=12.5,
    cpu_throttled_s=1.5,
    memory_bytes=35_000_000,
    memory_is_upper_bound=False,
    memory_peak_bytes=70_000_000,
    processes=3,
    oom_kills=2,
    refused_forks=5,
)


@dataclass(frozen=True, slots=True)
class Given:
    """A source whose limits are given."""

    its_limits: Limits

    def read(self) -> Usage:
        """Return always the same."""
        return USAGE

    def limits(self) -> Limits:
        """Return them."""
        return self.its_limits


def observer(limits: Limits) -> Observer:
    """Return the observer of a target with these limits."""
    return Observer("OpenSSH_10.0p1", SshdLog(2222), ListenQueue(2222, ""), Resources(Given(limits)))


def values(limits: Limits) -> dict[str, float]:
    """Return the metrics without labels of a target with these limits, by name."""
    families = text_string_to_metric_families(metrics(observer(limits)).decode())
    return {sample.name: sample.value for family in families for sample in family.samples}


ALL = TargetStats(
    at_unix_s=1.0,
    sshd_version="OpenSSH_10.0p1",
    accepted=11,
    auth_failed=12,
    dropped_max_startups=13,
    dropped_penalty=14,
    dropped_is_lower_bound=True,
    sessions=15,
    cpu_s=16.0,
    cpu_throttled_s=17.0,
    cpu_limit_cores=18.0,
    machine_cpu=MachineCpu(100.0, 19.0),
    memory_bytes=20,
    memory_is_upper_bound=False,
    memory_peak_bytes=21,
    memory_limit_bytes=22,
    processes=23,
    processes_limit=24,
    oom_kills=25,
    refused_forks=26,
    listen_overflows=27,
)
PUBLISHED = {
    "sshd_info": 1,
    "ready": 1,
    "accepted_total": 11,
    "auth_failed_total": 12,
    "dropped_total maxStartups": 13,
    "dropped_total penalty": 14,
    "dropped_is_lower_bound": 1,
    "sessions": 15,
    "cpu_seconds_total": 16,
    "cpu_throttled_seconds_total": 17,
    "cpu_limit_cores": 18,
    "machine_stolen_seconds_total": 19,
    "memory_working_set_bytes": 20,
    "memory_peak_bytes": 21,
    "memory_limit_bytes": 22,
    "processes": 23,
    "processes_limit": 24,
    "oom_kills_total": 25,
    "refused_forks_total": 26,
    "listen_overflows_total": 27,
}


def published(stats: TargetStats, *, ready: bool = True) -> dict[str, float]:
    """Return the metrics of a target that says this of itself, by name and reason."""
    told: Any = SimpleNamespace(ready=ready, stats=lambda: stats)
    families = text_string_to_metric_families(metrics(told).decode())
    return {
        f"{sample.name.removeprefix('sshload_target_')} {sample.labels.get('reason', '')}".strip(): sample.value
        for family in families
        for sample in family.samples
    }


def test_each_count_of_a_target_is_a_metric() -> None:
    assert published(ALL) == PUBLISHED
    assert b'sshload_target_sshd_info{version="OpenSSH_10.0p1"} 1.0' in metrics(
        cast("Any", SimpleNamespace(ready=True, stats=lambda: ALL))
    )


def test_what_a_target_does_not_know_or_is_not_is_no_metric_or_zero() -> None:
    unknown = replace(ALL, machine_cpu=None, listen_overflows=None, dropped_is_lower_bound=False)
    found = published(unknown, ready=False)
    assert PUBLISHED.keys() - found.keys() == {"machine_stolen_seconds_total", "listen_overflows_total"}
    assert (found["ready"], found["dropped_is_lower_bound"]) == (0, 0)


def test_a_target_tells_all_that_its_log_its_sockets_and_its_cgroup_have_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = SimpleNamespace(
        accepted=11, auth_failed=12, dropped_max_startups=13, dropped_penalty=14, is_lower_bound=True, refused_forks=6
    )
    log: Any = SimpleNamespace(listening=True, counts=counts, sessions=lambda: 15)
    queue: Any = SimpleNamespace(overflows=lambda: 27)
    monkeypatch.setattr(time, "process_time", lambda: 0.25)
    limits = Limits(cpu_cores=18.0, memory_bytes=22, processes=24)
    target = Observer("OpenSSH_10.0p1", log, queue, Resources(Given(limits)))
    assert target.ready is True
    stats = target.stats()
    assert stats.machine_cpu is not None
    assert stats == TargetStats(
        at_unix_s=stats.at_unix_s,
        sshd_version="OpenSSH_10.0p1",
        accepted=11,
        auth_failed=12,
        dropped_max_startups=13,
        dropped_penalty=14,
        dropped_is_lower_bound=True,
        sessions=15,
        cpu_s=12.5,
        cpu_throttled_s=1.5,
        cpu_limit_cores=18.0,
        machine_cpu=stats.machine_cpu,
        memory_bytes=35_000_000,
        memory_is_upper_bound=False,
        memory_peak_bytes=70_000_000,
        memory_limit_bytes=22,
        processes=3,
        processes_limit=24,
        oom_kills=2,
        refused_forks=6,
        listen_overflows=27,
        own_cpu_s=0.25,
    )
    assert abs(stats.at_unix_s - time.time()) < 3_600


def test_a_step_of_the_machines_clock_is_no_time_between_two_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the CPU that a server used per second would be false."""
    target = observer(Limits(cpu_cores=None, memory_bytes=None, processes=None))
    before = target.stats()
    monkeypatch.setattr(time, "time", lambda: before.at_unix_s - 3600)
    assert 0 <= target.stats().at_unix_s - before.at_unix_s < 3600


def test_limits_are_metrics_where_there_are_some() -> None:
    found = values(Limits(cpu_cores=1.5, memory_bytes=268_435_456, processes=1024))
    assert found["sshload_target_cpu_limit_cores"] == 1.5
    assert found["sshload_target_memory_limit_bytes"] == 268_435_456
    assert found["sshload_target_processes_limit"] == 1024
    assert (found["sshload_target_oom_kills_total"], found["sshload_target_refused_forks_total"]) == (2, 5)


def test_no_limit_is_no_metric_and_never_zero() -> None:
    assert not [name for name in values(Limits()) if "limit" in name]


def test_the_counts_tell_limits_and_what_was_refused() -> None:
    stats = observer(Limits(cpu_cores=1.5, processes=1024)).stats()
    assert (stats.cpu_limit_cores, stats.memory_limit_bytes, stats.processes_limit) == (1.5, None, 1024)
    assert (stats.oom_kills, stats.refused_forks) == (2, 5)
