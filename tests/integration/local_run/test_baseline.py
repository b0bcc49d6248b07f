"""`sshload run --baseline`: a run held against the printed result of an earlier one, with a real sshd."""

import json
from pathlib import Path
from typing import Any

import pytest
from local_cli import measured, sshload, write_test

HELD: dict[str, Any] = {
    # Commands on one session: a slow server cannot keep up with as many logins, and refuses what is more. They take so
    # long that a generator's delay has to be long to spoil their figures.
    "scenario": {"sessionReuse": "pool", "poolSize": 1, "steps": [{"exec": {"command": "sleep 2"}}]},
    "load": {"arrivals": {"stages": [{"rate": 3, "duration": "8s"}]}},
    "thresholds": [{"throughput": {"within": "90%"}}],
    "baseline": {"testRef": {"name": "before"}},
}

of_one_baseline = pytest.mark.xdist_group("one local baseline")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first of all runs printed. It had no baseline."""
    folder = tmp_path_factory.mktemp("before")
    ended = measured(write_test(folder, **HELD))
    assert (ended.code, ended.status["reason"]) == (2, "NoBaseline"), ended.status["message"]
    assert "--baseline" in ended.status["message"]
    file = folder / "before.json"
    file.write_text(ended.out)
    return file


@of_one_baseline
def test_a_run_as_fast_as_the_one_before_passes_and_names_it(tmp_path: Path, before: Path) -> None:
    ended = measured(write_test(tmp_path, **HELD), "--baseline", before, output="table")
    assert ended.code == 0, ended.out + ended.err
    words = " ".join(ended.out.split())
    assert "\n✓  throughput within" in ended.out
    assert "times the baseline's" in words
    assert "points to spare" in words
    assert "\nbaseline  small (Inconclusive, " in ended.out


@of_one_baseline
def test_a_run_slower_than_allowed_fails(tmp_path: Path, before: Path) -> None:
    document = json.loads(before.read_text())
    document["status"]["results"].update(completedRate=10_000, completedRateLow=9_900, completedRateHigh=10_100)
    faster = tmp_path / "faster.json"
    faster.write_text(json.dumps(document))
    ended = measured(write_test(tmp_path, **HELD), "--baseline", faster)
    assert (ended.code, ended.status["reason"]) == (1, "ThresholdBroken"), ended.err


@of_one_baseline
def test_a_baseline_of_another_load_is_told_by_its_field(tmp_path: Path, before: Path) -> None:
    less = {"arrivals": {"stages": [{"rate": 2, "duration": "8s"}]}}
    ended = measured(write_test(tmp_path, **{**HELD, "load": less}), "--baseline", before)
    assert (ended.code, ended.status["reason"]) == (2, "BaselineDiffers"), ended.err
    assert "spec.load is 2 arrivals/s, constant here and 3 arrivals/s, constant there" in ended.status["message"]


def test_a_file_that_is_no_result_is_refused_before_anything_runs(tmp_path: Path) -> None:
    test = write_test(tmp_path, **HELD)
    ended = sshload("run", test, "--baseline", test)
    assert ended.code == 4
    assert "is not JSON" in ended.err
