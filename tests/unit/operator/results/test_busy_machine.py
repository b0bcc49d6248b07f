"""What others used of a target's machine: by its own counts since the run began, and nothing where one is unknown."""

from dataclasses import replace
from typing import Any

import pytest
from runs import generator, retold, summary, target_stats
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.program import ProgramStats, ProgramUse
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.decision.load_test.busy_machine import BUSY_FROM, busy_machine

FIRST = MachineCpu(total_s=5_000.0, stolen_s=40.0, idle_s=3_000.0, cpus=2)
# Of 200 s of two CPUs: 44 s idle, 10 s stolen, 20 s of the target, 10 s of the workers, 6 s of the proxy; others 110 s.
LAST = MachineCpu(total_s=5_200.0, stolen_s=50.0, idle_s=3_044.0, cpus=2)


def used(before: float, after: float) -> ProgramUse:
    return ProgramUse(ProgramStats(before, 0.0, 0), ProgramStats(after, 0.0, 0))


def seen(first: MachineCpu | None = FIRST, last: MachineCpu | None = LAST, **changes: Any) -> RunSummary:
    found = summary(
        600,
        target_before=target_stats(0, cpu_s=7.0, machine_cpu=first),
        target_after=target_stats(700, cpu_s=27.0, machine_cpu=last),
        generator=generator(cpu_s=10.0),
    )
    return retold(found, **{"in_path": {InPath.PROXY: used(3.0, 9.0)}, **changes})


def share(found: RunSummary) -> str:
    """Return the share that others used, as it is told; empty if nothing is told."""
    return busy_machine(found).removeprefix("Others used ").partition("%")[0]


def test_only_what_was_used_since_the_run_began_by_nobody_of_the_run_is_others() -> None:
    assert busy_machine(seen()) == (
        "Others used 55% of the 2 CPUs of the target's machine while it was measured: on an idle machine its latencies"
        " may be shorter, and its capacity larger"
    )


def test_every_program_in_the_path_is_the_runs_own() -> None:
    both = {InPath.PROXY: used(3.0, 9.0), InPath.GATEWAY: used(1.0, 11.0)}
    assert share(seen(in_path=both)) == "50"
    assert share(seen(in_path={})) == "58"


def test_workers_that_have_told_no_cpu_time_are_taken_to_have_used_none() -> None:
    assert share(seen(generator=generator(cpu_s=0.0), in_path={})) == "63"


@pytest.mark.parametrize(
    "unknown",
    [
        seen(target_before=None),
        seen(target_after=None),
        seen(first=None),
        seen(last=None),
        seen(first=replace(FIRST, idle_s=None)),
        seen(last=replace(LAST, idle_s=None)),
        seen(last=FIRST),
        seen(last=replace(FIRST, total_s=4_000.0)),
    ],
    ids=[
        "not read before",
        "not read after",
        "no machine before",
        "no machine after",
        "no idle time before",
        "no idle time after",
        "no time passed",
        "another machine",
    ],
)
def test_nothing_is_told_where_a_count_is_unknown(unknown: RunSummary) -> None:
    assert busy_machine(unknown) == ""


@pytest.mark.parametrize(
    "restarted",
    [
        seen(in_path={InPath.PROXY: used(90.0, 1.0)}),
        seen(in_path={InPath.PROXY: used(3.0, 9.0), InPath.GATEWAY: used(90.0, 1.0)}),
        seen(target_before=target_stats(0, cpu_s=90.0, machine_cpu=FIRST)),
    ],
    ids=["the proxy", "the gateway", "the target"],
)
def test_what_a_program_that_was_restarted_used_is_not_taken_for_others_use(restarted: RunSummary) -> None:
    assert busy_machine(restarted) == ""


def machine(others_s: float, whole_s: float = 100.0) -> RunSummary:
    """Return a run beside others that used the CPUs so long, and which used none of them itself."""
    last = replace(FIRST, total_s=FIRST.total_s + whole_s, idle_s=3_000.0 + whole_s - others_s)
    found = seen(last=last, generator=generator(cpu_s=0.0), in_path={})
    assert found.trial.target_before is not None
    return retold(found, target_after=replace(found.trial.target_before, machine_cpu=last))


def test_others_are_told_from_a_quarter_of_the_machine_on() -> None:
    assert share(machine(100 * BUSY_FROM)) == "25"
    assert share(machine(100 * BUSY_FROM - 0.5)) == ""
    assert share(machine(0.25, whole_s=0.5)) == "50"


def test_in_no_time_nobody_used_a_share_of_it() -> None:
    assert share(machine(0.0, whole_s=0.0)) == ""
    assert share(machine(0.0, whole_s=-100.0)) == ""


def test_others_never_use_more_than_all_of_it() -> None:
    assert share(machine(150.0)) == "100"


@pytest.mark.parametrize(("cpus", "words"), [(0, "the CPU "), (1, "the CPU "), (2, "the 2 CPUs ")])
def test_the_cpus_are_counted_where_there_are_several(cpus: int, words: str) -> None:
    assert f"% of {words}of the target's machine" in busy_machine(seen(last=replace(LAST, cpus=cpus)))
