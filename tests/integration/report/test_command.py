"""`sshload report` of a run that took place here, from its file to the files that are written."""

import json
from pathlib import Path

import pytest
from local_cli import measured, sshload, write_test


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run, kept."""
    folder = tmp_path_factory.mktemp("saved")
    ended = measured(write_test(folder), "--save", folder / "run.json")
    assert ended.code == 0, ended.err
    return folder / "run.json"


def test_a_local_run_is_reported_with_its_course_and_its_distributions(saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ended = sshload("report", saved, "-o", file)
    assert (ended.code, ended.out) == (0, ""), ended.err
    found = json.loads(file.read_text())
    assert found["verdict"]["word"] == "Passed"
    assert found["results"] == json.loads(saved.read_text())["test"]["status"]["results"]
    assert found["overTime"]["intervals"]
    begun = sum(one["failures"] + one["count"] for one in found["results"]["steps"] if one["step"] == "total")
    assert found["results"]["iterations"] == begun
    counts = {one["step"]: one["count"] for one in found["distributions"]}
    steps = {one["step"]: one["count"] for one in found["results"]["steps"]}
    assert counts == {step: steps[step] for step in counts}
    assert {"total", "login", "connect"} <= counts.keys()


def test_the_same_run_is_a_page_and_markdown_by_the_name_of_the_file(saved: Path, tmp_path: Path) -> None:
    for name, begins in (("report.html", "<!doctype html>"), ("report.md", "# ")):
        ended = sshload("report", saved, "-o", tmp_path / name)
        assert ended.code == 0, ended.err
        assert (tmp_path / name).read_text().startswith(begins)


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
    ended = measured(write_test(tmp_path), "--save", tmp_path / "none" / "run.json")
    assert ended.status["verdict"] == "Passed"
    assert "No such file" in ended.err
