"""The limits among the target's metrics and counts: there where the container has some."""

import time
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sshload_target.metrics import metrics
from sshload_target.observer import Observer
from sshload_target.sshd.listen_queue import ListenQueue
from sshload_target.sshd.log import SshdLog
from sshload_target.usage.resources import Resources
from sshload_target.usage.values import Limits, Usage

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
