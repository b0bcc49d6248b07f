"""What /proc/stat says of CPU time that the host of a virtual machine took."""

import os

import pytest
from sshload_contract.steal import MachineCpu, machine_cpu, stolen_share

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
