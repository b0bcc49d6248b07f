"""What `make fuzz` asks of the fuzzer."""

import pytest
from fuzz import command_line


def test_inputs_of_some_targets_only_can_be_kept() -> None:
    """`make fuzz TIME=600 KEEP=1 TARGETS="worker.banner worker.keys"`."""
    asked = command_line(["600", "--keep", "worker.banner", "worker.keys"])
    assert (asked.seconds, asked.keep, asked.targets) == (600, True, ["worker.banner", "worker.keys"])


def test_without_targets_all_are_fuzzed() -> None:
    assert "contract.master_log" in command_line(["60"]).targets


def test_a_target_that_there_is_not_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line(["60", "worker.banners"])
    said = capsys.readouterr().err
    assert "there is no worker.banners: write some of " in said
    assert "worker.banner," in said
