"""Whether others used the CPUs of the target's machine while it was measured."""

from typing import Final

from sshload_contract.wire.run_summary import RunSummary

BUSY_FROM: Final = 0.25
"""The share of a machine's CPU time from which on others are mentioned: what runs on any machine takes less."""


def busy_machine(summary: RunSummary) -> str:
    """Return a sentence on what others used of the CPUs of a managed target's machine, "" if it is little or unknown.

    The workers, and the programs in the path, may run on that machine, so what they used is not counted as others'.
    """
    before, after = summary.trial.target_before, summary.trial.target_after
    if before is None or after is None or before.machine_cpu is None or after.machine_cpu is None:
        return ""
    first, last = before.machine_cpu, after.machine_cpu
    whole_s = last.total_s - first.total_s
    if first.idle_s is None or last.idle_s is None or whole_s <= 0:
        return ""
    used_s = whole_s - (last.idle_s - first.idle_s) - (last.stolen_s - first.stolen_s)
    in_path_s = (use.after.cpu_s - use.before.cpu_s for use in summary.in_path.values())
    ours_s = (after.cpu_s - before.cpu_s, summary.trial.generator.cpu_s, *in_path_s)
    others_s = used_s - sum(ours_s)
    # What has decreased is of a program that was restarted: what it used before is not known.
    if min(ours_s) < 0 or others_s < BUSY_FROM * whole_s:
        return ""
    cpus = f"the {last.cpus} CPUs" if last.cpus > 1 else "the CPU"
    return (
        f"Others used {min(others_s / whole_s, 1.0):.0%} of {cpus} of the target's machine while it was measured:"
        " on an idle machine its latencies may be shorter, and its capacity larger"
    )
