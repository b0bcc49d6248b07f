"""However a local run ends, its processes, its keys and its links in the home end with it."""

import json
import os
import pwd
import re
import signal
from pathlib import Path
from uuid import uuid4

import pytest
from local_cli import (
    Started,
    end_what_is_under_way,
    interrupt,
    measured,
    running,
    sshload,
    start,
    wait_until,
    write_test,
)

HOME = Path(pwd.getpwuid(os.geteuid()).pw_dir)
LONG = {"users": {"stages": [{"users": 2, "duration": "5m"}]}}


def long_test(folder: Path) -> tuple[Path, str]:
    """Write a test of minutes whose sessions are recognised by their command."""
    nap = f"sleep 171.{uuid4().int % 10**9}"
    return write_test(folder, scenario={"steps": [{"exec": {"command": nap}}]}, load=LONG), nap


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="SIGTERM"),
        pytest.param(signal.SIGINT, marks=pytest.mark.full, id="SIGINT"),  # other tests here interrupt runs so
        pytest.param(signal.SIGHUP, marks=pytest.mark.full, id="SIGHUP"),
    ],
)
def test_a_signal_aborts_the_run_fails_nothing_that_it_cuts_off_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    path, nap = long_test(tmp_path)
    started = start("run", path, "--output", "json")
    wait_until(lambda: running(nap), "a session")
    wait_until(lambda: "Running measuring" in started.said(), "the measured window")
    folder = started.folder()
    assert folder.stat().st_mode & 0o077 == 0
    interrupt(started, number)
    ended = started.wait()
    assert (ended.code, ended.status["verdict"]) == (5, "Aborted"), ended.err
    results = ended.status.get("results", {})
    assert results.get("failures", 0) == 0
    assert "errors" not in results
    assert started.left_behind() == []
    assert running(nap) == []
    assert not folder.exists()


def test_a_run_that_a_failing_test_no_longer_waits_for_ends_with_that_test(tmp_path: Path) -> None:
    path, nap = long_test(tmp_path)
    started = start("run", path)
    wait_until(lambda: running(nap), "a session")
    end_what_is_under_way()
    assert started.process.poll() is not None
    assert (started.left_behind(), running(nap)) == ([], [])


ARRIVALS = {"arrivals": {"rate": 10, "duration": "5m"}}


def measured_iterations(started: Started) -> int:
    """Return how many iterations the progress said were over by now, 0 before the first."""
    told = re.findall(r"Running measuring .* of ([\d,]+) failed", started.said())
    return int(told[-1].replace(",", "")) if told else 0


def test_a_finished_run_leaves_no_temporary_file_and_so_no_key(tmp_path: Path, temporary: Path) -> None:
    through = {"managed": {"proxy": {"kind": "haproxy"}}}
    ended = measured(write_test(tmp_path, target=through, client={"library": "openssh"}))
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    assert [path.relative_to(temporary) for path in temporary.rglob("*")] == []


def test_an_aborted_run_tells_what_was_measured_until_then(tmp_path: Path) -> None:
    started = start("run", write_test(tmp_path, load=ARRIVALS), "--output", "json")
    wait_until(lambda: measured_iterations(started) > 20, "twenty iterations")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    assert (ended.code, ended.status["reason"]) == (5, "AbortRequested"), ended.err
    results = ended.status["results"]
    assert results["iterations"] > 20
    assert results["durationSeconds"] > 2
    assert {"login", "total"} <= {one["step"] for one in results["steps"]}
    assert "thresholds" not in ended.status
    assert "spec.abort" not in json.dumps(ended.status)
    assert started.left_behind() == []


def test_an_aborted_search_tells_its_trials(tmp_path: Path) -> None:
    search = {"capacity": {"arrivals": {"min": 2, "max": 40, "duration": "3s"}}}
    started = start("run", write_test(tmp_path, load=search, deadline="30m"), "--output", "json")
    wait_until(lambda: "trial 2 " in started.said(), "the second trial")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    assert (ended.code, ended.status["verdict"]) == (5, "Aborted"), ended.err
    assert ended.status["capacity"]["trials"][0]["amount"] == 2
    assert started.left_behind() == []


def test_a_second_signal_waits_for_nothing(tmp_path: Path) -> None:
    path, nap = long_test(tmp_path)
    started = start("run", path, "--output", "json")
    wait_until(lambda: running(nap), "a session")
    (master,) = started.process_ids("--role master")
    os.kill(master, signal.SIGSTOP)
    interrupt(started, signal.SIGINT)
    wait_until(lambda: "Ctrl-C again" in started.said(), "word of what goes on")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    assert (ended.code, ended.status["verdict"]) == (5, "Aborted"), ended.err
    assert "results" not in ended.status
    assert started.left_behind() == []
    assert running(nap) == []


def test_a_run_that_is_killed_outright_takes_its_processes_with_it_and_the_next_its_keys(tmp_path: Path) -> None:
    path, nap = long_test(tmp_path)
    started = start("run", path)
    wait_until(lambda: running(nap), "a session")
    folder = started.folder()
    interrupt(started, signal.SIGKILL)
    started.wait()
    wait_until(lambda: not started.left_behind() and not running(nap), "the end of all processes")
    following = start("run", path)
    wait_until(lambda: not folder.exists(), "the removal of what was left")  # perhaps by the run of another test
    interrupt(following, signal.SIGTERM)
    following.wait()


def test_the_deadline_ends_a_run_that_hangs(tmp_path: Path) -> None:
    path, nap = long_test(tmp_path)
    spec = path.read_text().replace("duration: 5m", "duration: 1s")
    path.write_text(f"{spec}  deadline: 42s\n  startTimeout: 40s\n")
    started = start("run", path, "--output", "json")
    ended = started.wait()
    assert ended.code == 4, ended.err
    has_begun = "Running" in ended.err  # within the start timeout, as all but the slowest machines do
    assert (ended.status["reason"] == "DeadlineExceeded") == has_begun, ended.err
    assert started.left_behind() == []
    assert running(nap) == []


@pytest.mark.parametrize(
    ("words", "verdict", "reasons"),
    [
        pytest.param("-m sshload_target", "Error", {"TargetLost"}, id="target"),
        pytest.param("--role master", "Error", {"MasterLost"}, id="master", marks=pytest.mark.full),
        pytest.param("--role worker", "Invalid", {"WorkerLost"}, id="worker", marks=pytest.mark.full),
    ],
)
def test_a_process_that_dies_is_named_and_never_passes(
    tmp_path: Path, words: str, verdict: str, reasons: set[str]
) -> None:
    path, nap = long_test(tmp_path)
    started = start("run", path, "--output", "json")
    wait_until(lambda: "Running" in started.said() and running(nap), "a session")
    for pid in started.process_ids(words):
        os.kill(pid, signal.SIGKILL)
    ended = started.wait()
    assert ended.status["verdict"] == verdict, ended.out
    assert ended.status["reason"] in reasons
    assert started.left_behind() == []
    assert running(nap) == []


def test_fixtures_stand_in_the_home_for_the_time_of_the_run(tmp_path: Path) -> None:
    name = f"sshload-fixture-{uuid4().hex}"
    target = {"managed": {"fixtures": {"files": [{"path": name, "size": "26Ki"}]}}}
    steps = [{"exec": {"command": f"wc -c < {name}", "expectStdout": "26624"}}]
    ended = measured(write_test(tmp_path, target=target, scenario={"steps": steps}))
    assert (ended.code, ended.status["results"]["failures"]) == (0, 0), ended.out
    assert not (HOME / name).is_symlink()


def test_a_fixture_never_replaces_what_the_user_has(tmp_path: Path) -> None:
    mine = HOME / f"sshload-fixture-{uuid4().hex}"
    mine.write_text("mine")
    try:
        target = {"managed": {"fixtures": {"files": [{"path": f"{mine.name}", "size": 1}]}}}
        ended = sshload("run", write_test(tmp_path, target=target))
        assert ended.code == 4
        assert str(mine) in ended.err
        assert mine.read_text() == "mine"
    finally:
        mine.unlink()
