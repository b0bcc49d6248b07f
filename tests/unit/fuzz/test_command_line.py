"""What `make fuzz` asks of the fuzzer."""

from fuzz import command_line


def test_inputs_of_some_targets_only_can_be_kept() -> None:
    """`make fuzz TIME=600 KEEP=1 TARGETS="worker.banner worker.keys"`."""
    asked = command_line(["600", "--keep", "worker.banner", "worker.keys"])
    assert (asked.seconds, asked.keep, asked.targets) == (600, True, ["worker.banner", "worker.keys"])


def test_without_targets_all_are_fuzzed() -> None:
    assert "contract.master_log" in command_line(["60"]).targets
