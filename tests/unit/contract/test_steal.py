"""What /proc/stat says of CPU time that the host of a virtual machine took."""

import os
from dataclasses import astuple

import pytest
from sshload_contract.steal import MachineCpu, machine_cpu, passed_since, stolen_share

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BEFORE = "cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1 2 3\n"
AFTER = "cpu  200 0 150 1300 0 0 50 300 90 0\ncpu0 1 2 3\n"


def test_guests_time_is_not_counted_twice() -> None:
    total_s, stolen_s, idle_s = (pytest.approx(ticks / TICKS_PER_S) for ticks in (1_000, 100, 700))
    assert machine_cpu(BEFORE) == MachineCpu(total_s, stolen_s, idle_s, cpus=1)


def test_the_share_is_of_all_time_in_between() -> None:
    assert stolen_share(machine_cpu(BEFORE), machine_cpu(AFTER)) == pytest.approx(0.2)


@pytest.mark.parametrize("text", ["", "cpu  1 2 3 4 5 6 7\n", "intr 1 2 3 4 5 6 7 8 9\n"])
def test_a_kernel_that_does_not_tell_has_no_share(text: str) -> None:
    assert machine_cpu(text) is None
    assert stolen_share(machine_cpu(BEFORE), machine_cpu(text)) is None


def test_counters_that_stand_still_or_fall_have_no_share() -> None:
    """A sandbox shows zeros, and a target that was restarted elsewhere counts from another machine's start."""
    assert stolen_share(machine_cpu(AFTER), machine_cpu(AFTER)) is None
    assert stolen_share(machine_cpu(AFTER), machine_cpu(BEFORE)) is None


def test_a_kernel_that_tells_no_guests_time_but_steal_has_a_share() -> None:
    found = machine_cpu("cpu 1 2 3 4 5 6 7 8\ncpu0 1\ncpu1 1\ncpufreq 1\nintr 1\n")
    assert found is not None
    assert astuple(found) == pytest.approx((36 / TICKS_PER_S, 8 / TICKS_PER_S, 9 / TICKS_PER_S, 2))


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (MachineCpu(110.0, 12.0), 0.2),
        (MachineCpu(110.0, 25.0), 1.0),
        (MachineCpu(110.0, 9.0), 0.0),
        (MachineCpu(100.5, 10.5), 1.0),
        (None, None),
    ],
)
def test_a_share_is_between_none_and_all(after: MachineCpu | None, share: float | None) -> None:
    assert stolen_share(MachineCpu(100.0, 10.0), after) == (None if share is None else pytest.approx(share))


def test_without_a_first_reading_nothing_is_known() -> None:
    assert stolen_share(None, MachineCpu(1.0, 0.0)) is None
    assert passed_since(None, MachineCpu(1.0, 0.0)) is None
    assert passed_since(MachineCpu(1.0, 0.0), None) is None


def test_the_time_between_two_readings_is_their_difference_and_that_of_a_counter_that_fell_none() -> None:
    before = MachineCpu(100.0, 10.0)
    assert passed_since(before, MachineCpu(110.0, 12.0)) == MachineCpu(10.0, 2.0)
    assert passed_since(before, MachineCpu(90.0, 12.0)) == MachineCpu(0.0, 2.0)
    assert passed_since(before, MachineCpu(110.0, 9.0)) == MachineCpu(10.0, 0.0)
