"""`sshload apply`, `watch`, `list`, `abort` and `rerun`: what they say and how they end, by the statuses they find."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
import yaml
from played_objects import PlayedObjects, served_objects
from sshload_operator.cli import commands
from sshload_operator.cli.cluster import follow
from sshload_operator.cli.exit_code import ExitCode, worst
from statuses import RESULTS

TESTS, COMPARISONS = "sshloadtests", "sshloadtestcomparisons"
TIME = "2026-11-16T09:00:00Z"


class Ended(NamedTuple):
    """How a command ended."""

    code: object
    out: str
    err: str


@pytest.fixture
def stored() -> PlayedObjects:
    return PlayedObjects()


@pytest.fixture
def kubeconfig(stored: PlayedObjects, tmp_path: Path) -> Iterator[Path]:
    with served_objects(stored, tmp_path) as kubeconfig:
        yield kubeconfig


@pytest.fixture
def ask(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(*words: str | Path) -> Ended:
        namespace = () if "--namespace" in words else ("-n", "default")
        argv = ["sshload", *map(str, words), "--kubeconfig", str(kubeconfig), *namespace]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as ended:
            commands.main()
        return Ended(ended.value.code, *capsys.readouterr())

    return ask


def finished(verdict: str, run: int = 1, **more: Any) -> dict[str, Any]:
    head = {"observedGeneration": run, "run": run, "phase": "Finished", "verdict": verdict, "reason": "Some"}
    return {**head, "message": "why", "completionTime": TIME, **more}


def put(stored: PlayedObjects, plural: str, name: str, status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Keep an object of ours, and return it as it is kept."""
    head = {"apiVersion": "sshload.dev/v1alpha1", "metadata": {"name": name, **metadata}}
    return stored.put(plural, {**head, "spec": {}, "status": status})


def write(folder: Path, *names: str, kind: str = "SSHLoadTest") -> Path:
    path = folder / "objects.yaml"
    head = {"apiVersion": "sshload.dev/v1alpha1", "kind": kind}
    path.write_text(yaml.safe_dump_all([{**head, "metadata": {"name": name}, "spec": {}} for name in names]))
    return path


def test_an_unchanged_object_is_not_passed_off_as_run_again(stored: PlayedObjects, ask: Any, tmp_path: Path) -> None:
    put(stored, TESTS, "one", finished("Passed"))
    ended = ask("apply", "-f", write(tmp_path, "one"), "--wait")
    assert ended.code == ExitCode.PASSED
    assert f"one: unchanged: this is the result of run 1, of {TIME}; sshload rerun one" in ended.err


def test_a_result_that_came_after_the_object_was_applied_is_its_own(
    stored: PlayedObjects, ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = put(stored, TESTS, "one", {"observedGeneration": 1, "run": 1, "phase": "Running"})
    read = follow.read_object

    async def read_later(*asked: Any) -> Any:
        kept["status"] = finished("Passed")
        return await read(*asked)

    monkeypatch.setattr(follow, "read_object", read_later)
    ended = ask("apply", "-f", write(tmp_path, "one"), "--wait")
    assert ended.code == ExitCode.PASSED
    assert "unchanged" not in ended.err


@pytest.fixture
def three(stored: PlayedObjects, tmp_path: Path) -> Path:
    put(stored, TESTS, "one", finished("Inconclusive", results=RESULTS))
    put(stored, TESTS, "two", finished("Failed", results=RESULTS))
    put(stored, TESTS, "three", finished("Passed", results=RESULTS))
    return write(tmp_path, "one", "two", "three")


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_several_results_are_one_list(ask: Any, three: Path, output: str, read: Any) -> None:
    ended = ask("apply", "-f", three, "--wait", "-o", output)
    assert ended.code == ExitCode.FAILED
    assert [one["metadata"]["name"] for one in read(ended.out)["items"]] == ["one", "two", "three"]


def test_several_results_are_one_suite_with_a_case_for_each_verdict(ask: Any, three: Path) -> None:
    suite = ET.fromstring(ask("apply", "-f", three, "--wait", "-o", "junit").out)  # noqa: S314 - our own
    broken = {case.get("name"): case.find("failure") is not None for case in suite}
    assert broken == {"one: verdict": True, "two: verdict": True, "three: verdict": False, "verdict": True}


def test_several_results_are_rows_under_one_head(stored: PlayedObjects, ask: Any, tmp_path: Path) -> None:
    step = {"step": "total", "count": 600, "failures": 0, "rate": 20.0, "intervals": []}
    for name in ("one", "two"):
        put(stored, TESTS, name, finished("Passed", results={**RESULTS, "steps": [step]}))
    ended = ask("apply", "-f", write(tmp_path, "one", "two"), "--wait", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert [(row["kind"], row["name"], row["step"]) for row in rows] == [
        ("test", "one", "total"),
        ("test", "two", "total"),
    ]


def test_the_worst_code_is_that_of_the_first_in_their_order() -> None:
    order = ["INTERRUPTED", "FAILED", "ERROR", "INVALID", "ABORTED", "INCONCLUSIVE", "PASSED"]
    assert [worst(map(ExitCode.__getitem__, reversed(order[at:]))).name for at in range(7)] == order
    assert worst([]) is ExitCode.PASSED


def test_an_interrupt_ends_the_watching_of_all(ask: Any, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def interrupted(_cluster: Any, _kind: Any, _namespace: str, name: str) -> Any:
        asked.append(name)
        raise KeyboardInterrupt

    monkeypatch.setattr(follow, "read_object", interrupted)
    ended = ask("apply", "-f", three, "--wait")
    assert (ended.code, asked) == (ExitCode.INTERRUPTED, ["one"])


def test_the_timeout_is_that_of_all_together(stored: PlayedObjects, ask: Any, tmp_path: Path) -> None:
    put(stored, TESTS, "one", {"observedGeneration": 1, "phase": "Running"})
    put(stored, TESTS, "two", finished("Passed"))
    ended = ask("apply", "-f", write(tmp_path, "one", "two"), "--wait", "--timeout", "0", "-o", "json")
    assert ended.code == ExitCode.ERROR
    assert "one was not finished within 0 s; it goes on in the cluster" in ended.err
    assert [one["metadata"]["name"] for one in json.loads(ended.out)["items"]] == ["two"]


def test_a_server_that_never_answered_says_nothing_of_the_test(kubeconfig: Path, ask: Any) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1"
    kubeconfig.write_text(yaml.safe_dump(config))
    ended = ask("watch", "one", "--timeout", "0")
    assert ended.code == ExitCode.ERROR
    assert "goes on" not in ended.err
    assert "no answer" in ended.err
    assert "Is the API server reachable?" in ended.err


@pytest.mark.parametrize("timeout", ["nan", "inf", "-1", "soon"])
def test_a_timeout_that_never_ends_is_refused(ask: Any, timeout: str) -> None:
    ended = ask("watch", "one", f"--timeout={timeout}")
    assert ended.code == ExitCode.USAGE
    assert "is not a number of seconds" in ended.err


def row(ask: Any, name: str) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO(ask("list", "-o", "csv").out))
    return next(one for one in rows if one["name"] == name)


MEASURED = {**RESULTS, "p99Ms": 40.0}
NOTHING = {"rate/s": "", "p99 ms": "", "capacity": ""}


def test_the_list_for_a_spreadsheet_has_numbers_without_the_commas_of_the_table(
    stored: PlayedObjects, ask: Any
) -> None:
    results = {**RESULTS, "completedRate": 12_345.678, "p99Ms": 4_321.0}
    status = {"observedGeneration": 1, "phase": "Finished", "verdict": "Passed", "results": results}
    put(stored, TESTS, "fast", status)
    found = row(ask, "fast")
    assert (found["rate/s"], found["p99 ms"]) == ("12345.678", "4321.0")
    assert next(line.split()[4:6] for line in ask("list").out.splitlines() if " fast " in line) == ["12,345.7", "4,321"]


def test_the_progress_of_a_comparison_is_no_capacity(stored: PlayedObjects, ask: Any) -> None:
    put(stored, COMPARISONS, "sides", {"observedGeneration": 1, "phase": "Running", "progress": "3/6"})
    found = row(ask, "sides")
    assert found["tests"] == "3/6"
    assert found.items() >= NOTHING.items()


@pytest.mark.parametrize(
    ("verdict", "rate"), [("Passed", "20.0"), ("Failed", "20.0"), ("Invalid", ""), ("Aborted", "")]
)
def test_figures_are_listed_of_what_was_measured_only(stored: PlayedObjects, ask: Any, verdict: str, rate: str) -> None:
    put(stored, TESTS, "one", finished(verdict, results=MEASURED))
    assert row(ask, "one")["rate/s"] == rate


def test_a_schedule_lists_no_figures_of_a_run_that_measured_nothing(stored: PlayedObjects, ask: Any) -> None:
    point = {"test": "n-1", "time": TIME, "verdict": "Invalid", "p99Ms": 4.0, "completedRate": 9.0}
    put(
        stored, "sshloadtestschedules", "nightly", {"observedGeneration": 1, "lastVerdict": "Invalid", "trend": [point]}
    )
    assert row(ask, "nightly").items() >= {"verdict": "Invalid", **NOTHING}.items()


def test_the_verdict_on_an_older_spec_is_stale(stored: PlayedObjects, ask: Any) -> None:
    put(stored, TESTS, "one", finished("Passed", results=MEASURED), generation=2)
    assert row(ask, "one").items() >= {"verdict": "Passed (stale)", **NOTHING}.items()


@pytest.mark.parametrize(("options", "is_advised"), [([], True), (["-A"], False)])
def test_all_namespaces_are_advised_only_where_one_was_listed(
    ask: Any, options: list[str], *, is_advised: bool
) -> None:
    ended = ask("list", *options)
    assert ended.code == ExitCode.PASSED
    assert ("-A lists those of all namespaces" in ended.err) is is_advised


@pytest.mark.parametrize(("plural", "options"), [(TESTS, []), (COMPARISONS, ["--comparison"])])
def test_a_finished_run_is_not_aborted(stored: PlayedObjects, ask: Any, plural: str, options: list[str]) -> None:
    verdict = "Passed" if plural == TESTS else "Conclusive"
    kept = put(stored, plural, "one", finished(verdict))
    ended = ask("abort", "one", *options)
    assert ended.code == ExitCode.ERROR
    assert f"its run is over, with the verdict {verdict}" in ended.err
    assert "abort" not in kept["spec"]


def test_a_change_that_nobody_has_seen_yet_can_be_aborted(stored: PlayedObjects, ask: Any) -> None:
    kept = put(stored, TESTS, "one", finished("Passed"), generation=2)
    assert ask("abort", "one").code == ExitCode.PASSED
    assert kept["spec"]["abort"] is True


def test_each_rerun_is_a_run(stored: PlayedObjects, ask: Any) -> None:
    kept = put(stored, TESTS, "one", finished("Passed"))
    assert [ask("rerun", "one").code, ask("rerun", "one").code] == [ExitCode.PASSED] * 2
    assert kept["metadata"]["generation"] == 3


@pytest.mark.parametrize("kind", ["SSHLoadTestComparison", "SSHLoadTestSchedule"])
def test_a_test_of_an_owner_is_not_run_again(stored: PlayedObjects, ask: Any, kind: str) -> None:
    owner = {"kind": kind, "name": "mine", "controller": True}
    kept = put(stored, TESTS, "one", finished("Passed"), ownerReferences=[owner])
    ended = ask("rerun", "one")
    assert ended.code == ExitCode.ERROR
    assert f"belongs to the {kind} mine" in ended.err
    assert kept["spec"] == {}


def test_a_test_that_is_held_back_is_not_run_again(stored: PlayedObjects, ask: Any) -> None:
    kept = put(stored, TESTS, "one", finished("Passed"))
    kept["spec"]["suspend"] = True
    ended = ask("rerun", "one")
    assert (ended.code, kept["spec"]) == (ExitCode.ERROR, {"suspend": True})
    assert "spec.suspend is true: set it to false" in ended.err


def test_a_comparison_runs_again_only_where_it_was_aborted(stored: PlayedObjects, ask: Any) -> None:
    kept = put(stored, COMPARISONS, "one", finished("Conclusive"))
    ended = ask("rerun", "one", "--comparison")
    assert ended.code == ExitCode.ERROR
    assert "only an aborted comparison runs again" in ended.err
    kept["spec"]["abort"] = True
    assert ask("rerun", "one", "--comparison").code == ExitCode.PASSED
    assert kept["spec"]["abort"] is False


@pytest.mark.parametrize("words", [
    ("abort", "../sshloadtestcomparisons/one"), ("rerun", "../../other/sshloadtests/one"), ("abort", "one?dryRun=All"),
    ("watch", ""), ("compare", ""), ("list", "--namespace", "a/b", "--context", "one"),
])  # fmt: skip
def test_what_is_no_name_is_not_asked_for(stored: PlayedObjects, ask: Any, words: tuple[str, ...]) -> None:
    kept = put(stored, TESTS, "one", finished("Passed"))
    ended = ask(*words)
    assert ended.code == ExitCode.USAGE
    assert "is not the name of an object" in ended.err
    assert kept["spec"] == {}


@pytest.mark.parametrize("option", [("-o", "json"), ("--timeout", "5")])
def test_what_is_for_results_is_refused_where_none_is_waited_for(
    stored: PlayedObjects, ask: Any, tmp_path: Path, option: tuple[str, str]
) -> None:
    del stored
    file = tmp_path / "one.yaml"
    file.write_text((Path(__file__).parents[4] / "examples/01-quickstart.yaml").read_text(encoding="utf-8"))
    ended = ask("apply", "-f", str(file), *option)
    assert ended.code == ExitCode.USAGE
    assert "for the results that --wait waits for" in ended.err


def test_a_kubeconfig_of_the_environment_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    monkeypatch.setattr(sys, "argv", ["sshload", "list"])
    with pytest.raises(SystemExit):
        commands.main()
    said = capsys.readouterr().err
    assert said == "sshload: there is no kubeconfig /nowhere/config, which KUBECONFIG names: change or unset it\n"
