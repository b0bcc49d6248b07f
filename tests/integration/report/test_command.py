"""`sshload report` of a run that took place here, from its file to the files that are written."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from generator_reruns import lagged_comparison, rerun_while_lagging
from local_cli import Ended, measured, sshload, write_test

of_one_run = pytest.mark.xdist_group("one saved run")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run, kept, which is long enough for two answers of the target."""
    folder = tmp_path_factory.mktemp("saved")
    load = {"users": {"stages": [{"users": 2, "duration": "5s"}], "thinkTime": {"min": "100ms", "max": "200ms"}}}
    ended = measured(write_test(folder, load=load), "--save", folder / "run.json")
    assert ended.code == 0, ended.err
    return folder / "run.json"


@of_one_run
def test_a_local_run_is_reported_with_its_course_and_its_distributions(saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ended = sshload("report", saved, "-o", file)
    assert (ended.code, ended.out) == (0, ""), ended.err
    found = json.loads(file.read_text())
    assert found["verdict"]["word"] == "Passed"
    kept, steps = json.loads(saved.read_text())["test"]["status"]["results"], found["results"]["steps"]
    assert {**found["results"], "parts": kept["parts"]} == {**kept, "steps": steps}
    assert {one["step"]: one for one in steps} == {one["step"]: one for one in (*kept["steps"], *kept["parts"])}
    assert found["overTime"]["intervals"]
    begun = sum(one.get("failures", 0) + one["count"] for one in steps if one["step"] == "total")
    assert found["results"]["iterations"] == begun
    counts = {one["step"]: one["count"] for one in found["distributions"]}
    succeeded = {one["step"]: one["count"] for one in steps}
    assert counts == {step: succeeded[step] for step in counts}
    assert {"total", "login", "connect"} <= counts.keys()


@of_one_run
def test_the_same_run_is_a_page_and_markdown_by_the_name_of_the_file(saved: Path, tmp_path: Path) -> None:
    for name, begins in (("report.html", "<!doctype html>"), ("report.md", "# ")):
        ended = sshload("report", saved, "-o", tmp_path / name)
        assert ended.code == 0, ended.err
        assert (tmp_path / name).read_text().startswith(begins)


@of_one_run
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(("{saved}", "-o", "{folder}/report.pdf"), 64, "ends with none of .html, .json, .md", id="a form"),
        pytest.param(("{folder}/none.json", "-o", "{folder}/report.md"), 4, "No such file", id="no file"),
        pytest.param(("{saved}", "-o", "{folder}/none/report.md"), 4, "No such file", id="no folder"),
    ],
)
def test_what_cannot_be_reported_or_written_is_named(
    saved: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = sshload("report", *(one.format(saved=saved, folder=tmp_path) for one in arguments))
    assert ended.code == code
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_result_that_cannot_be_kept_is_still_printed(tmp_path: Path) -> None:
    ended = measured(write_test(tmp_path), "--save", "/dev/full")
    assert ended.status["verdict"] == "Passed"
    assert "No space left on device. It was not written; the result stands" in ended.err


@of_one_run
def test_a_run_is_reported_beside_another(saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ended = sshload("report", saved, "--against", saved, "-o", file)
    assert ended.code == 0, ended.err
    found = json.loads(file.read_text())
    assert found["against"]["difference"] == ""
    assert {one["ratio"] for one in found["against"]["figures"] if one["here"]["value"]} == {1}
    assert found["against"]["overTime"] == found["overTime"]


@of_one_run
def test_a_managed_target_tells_what_it_used_over_time(saved: Path, tmp_path: Path) -> None:
    ended = sshload("report", saved, "-o", tmp_path / "report.json")
    assert ended.code == 0, ended.err
    course = json.loads((tmp_path / "report.json").read_text())["overTime"]
    assert course["server"], "no answer of the target while the load went on"
    assert all(one["cores"] > 0 for one in course["server"])
    *whole, _ = course["intervals"]  # the last one may be too short for the kernel to count time in it
    assert {one["stolenPercent"] is None for one in whole} == {False}


def test_a_sweep_is_saved_and_reported(tmp_path: Path) -> None:
    file = write_test(tmp_path, load={"arrivals": {"rate": 5, "duration": "2s"}})
    swept = ("sweep", file, "--over", "load.arrivals.rate=5,10", "--save", tmp_path / "sweep.json", "--output", "json")
    ended = rerun_while_lagging(lambda: sshload(*swept), worst_of)
    assert ended.code == 0, ended.err
    for name in ("report.json", "report.html", "report.md"):
        ended = sshload("report", tmp_path / "sweep.json", "-o", tmp_path / name)
        assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "report.json").read_text())
    assert [one["value"] for one in found["points"]] == [5, 10]
    assert [round(one["offeredRate"]) for one in found["points"]] == [5, 10]


def worst_of(swept: Ended) -> Mapping[str, Any]:
    """Return the status of the first value that could not be measured, else an empty one."""
    statuses = [item["status"] for item in json.loads(swept.out)["items"]] if swept.out else []
    return next((status for status in statuses if status["verdict"] == "Invalid"), {})


def test_a_comparison_that_ran_here_is_saved_and_reported(tmp_path: Path) -> None:
    # So slow that the delay of a generator has to be long to spoil what is compared.
    slow = {"steps": [{"exec": {"command": "sleep 1"}}]}
    arrivals = {"arrivals": {"rate": 5, "duration": "2s"}}
    test = yaml.safe_load(write_test(tmp_path, scenario=slow, load=arrivals).read_text())
    spec = {"base": test["spec"], "variants": [{"name": "a"}, {"name": "b"}], "repeats": 1}
    comparison = {**test, "kind": "SSHLoadTestComparison", "metadata": {"name": "cmp"}, "spec": spec}
    (tmp_path / "cmp.yaml").write_text(yaml.safe_dump(comparison))
    compared = ("compare", "-f", tmp_path / "cmp.yaml", "--save", tmp_path / "cmp.json", "--output", "json")
    ended = rerun_while_lagging(lambda: sshload(*compared), lambda done: lagged_comparison(done.status))
    assert ended.code == 2, ended.err
    ended = sshload("report", tmp_path / "cmp.json", "-o", tmp_path / "report.json")
    assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "report.json").read_text())
    assert [one["verdict"] for one in found["tests"]] == ["Passed", "Passed"]
    assert {one["effect"] for figure in found["figures"] for one in figure["variants"]} == {None, "unknown"}


@of_one_run
def test_only_a_test_is_laid_over_another(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "cmp.json").write_text(
        json.dumps({"kind": "SSHLoadTestComparison", "metadata": {"name": "cmp"}, "spec": {}, "status": {}})
    )
    for one, other in ((saved, "cmp.json"), (tmp_path / "cmp.json", saved)):
        ended = sshload("report", one, "--against", tmp_path / other, "-o", tmp_path / "report.md")
        assert (ended.code, "--against compares two tests" in ended.err) == (4, True)
