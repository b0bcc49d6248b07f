"""A finished result is printed, whatever else of a local run cannot be: a file, standard error, the rest of a sweep."""

import errno
import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from finished_runs import a_test
from sshload_operator.api.kinds import API_VERSION
from sshload_operator.api.load_test_file import Document
from sshload_operator.cli import commands, compare, report, run, sweep
from sshload_operator.cli.exit_code import ExitCode, failed_on
from sshload_operator.cli.streams import Lasting
from sshload_operator.local import files
from sshload_operator.local.run import LocalResult, stop_signals
from statuses import RESULTS, read_test_status, step_json

EXAMPLE = Path(__file__).parents[4] / "examples" / "01-quickstart.yaml"
FULL = OSError(errno.ENOSPC, "No space left on device", "/home/me/.cache")
PASSED = {
    "observedGeneration": 1,
    "phase": "Finished",
    "verdict": "Passed",
    "reason": "ThresholdsMet",
    "results": {**RESULTS, "errorPercent": 0.0, "steps": [step_json("total", {50: 4.0})]},
}


def result() -> LocalResult:
    return LocalResult(read_test_status(PASSED), None)


def full_after(runs: int) -> Callable[..., Callable[[Document], LocalResult]]:
    """Return what stands for `runner`: so many runs are measured, for the next there is no room."""
    left = iter(range(runs))

    def run_one(_: Document) -> LocalResult:
        if next(left, None) is None:
            raise FULL
        return result()

    return lambda *_: run_one


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, str, str]]:
    def ask(*words: str | Path) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["sshload", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            commands.main()
        return ended.value.code, *capsys.readouterr()

    return ask


def test_a_sweep_that_cannot_go_on_prints_what_it_measured(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "runner", full_after(2))
    code, out, err = ask("sweep", EXAMPLE, "--over", "workers.replicas=1,2,3", "-o", "json")
    assert code == ExitCode.ERROR
    assert len(json.loads(out)["items"]) == 2
    assert "No space left on device. Make room there" in err


def test_a_sweep_that_was_stopped_between_two_values_is_aborted(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(_asked: Any, _view: Any, stop: Any) -> Callable[[Document], LocalResult]:
        def run_one(_: Document) -> LocalResult:
            stop.ask(signal.SIGINT, None)
            return result()

        return run_one

    monkeypatch.setattr(sweep, "runner", stopping)
    assert ask("sweep", EXAMPLE, "--over", "workers.replicas=1,2")[0] == ExitCode.ABORTED


def test_a_second_signal_costs_a_sweep_nothing_that_it_has_measured(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        sys.stdout.write("the result\n")

    monkeypatch.setattr(sweep, "runner", full_after(2))
    monkeypatch.setattr(sweep, "print_result", printed)
    assert ask("sweep", EXAMPLE, "--over", "workers.replicas=1,2")[:2] == (ExitCode.PASSED, "the result\n")


@pytest.mark.parametrize("field", ["abort", "suspend", "ttlAfterFinished", "baseline"])
def test_what_begins_or_ends_a_test_cannot_be_swept(ask: Any, field: str) -> None:
    code, out, err = ask("sweep", EXAMPLE, "--over", f"{field}=true,false")
    assert (code, out) == (ExitCode.ERROR, "")
    assert f"{field} cannot be swept" in err


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_closed_stream_is_no_verdict(closed: str) -> None:
    sshload = Path(sys.executable).parent / "sshload"
    ended = subprocess.run(["sh", "-c", f'"$0" validate "$1" {closed}', sshload, EXAMPLE],
                           check=False, capture_output=True, text=True)  # fmt: skip
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr


def test_a_suspended_test_does_not_wait_here_for_ever(ask: Any, tmp_path: Path) -> None:
    file = tmp_path / "suspended.yaml"
    document = yaml.safe_load(EXAMPLE.read_text())
    document["spec"]["suspend"] = True
    file.write_text(yaml.safe_dump(document))
    code, _, err = ask("run", file)
    assert code == ExitCode.ERROR
    assert "spec.suspend: is true, and nobody would set it to false here" in err


@pytest.fixture
def comparison(tmp_path: Path) -> Path:
    path = tmp_path / "comparison.yaml"
    spec = {
        "base": yaml.safe_load(EXAMPLE.read_text())["spec"],
        "variants": [{"name": "a"}, {"name": "b", "patch": {"workers": {"replicas": 1}}}],
    }
    head = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTestComparison", "metadata": {"name": "sides"}}
    path.write_text(yaml.safe_dump({**head, "spec": spec}))
    return path


def test_a_comparison_that_cannot_go_on_prints_what_it_measured(
    ask: Any, monkeypatch: pytest.MonkeyPatch, comparison: Path
) -> None:
    monkeypatch.setattr(compare, "runner", full_after(2))
    code, out, err = ask("compare", "-f", comparison, "-o", "json")
    assert code == ExitCode.ERROR
    assert len(json.loads(out)["status"]["tests"]) == 2
    assert "No space left on device. Make room there" in err


def test_a_comparison_of_which_nothing_ran_prints_nothing(
    ask: Any, monkeypatch: pytest.MonkeyPatch, comparison: Path
) -> None:
    monkeypatch.setattr(compare, "runner", full_after(0))
    code, out, _ = ask("compare", "-f", comparison, "-o", "json")
    assert (code, out) == (ExitCode.ERROR, "")


def test_a_file_that_cannot_be_written_costs_no_result(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "run_locally", lambda *_: result())
    code, out, err = ask("run", EXAMPLE, "--save", "/dev/full")
    assert code == ExitCode.PASSED
    assert out.startswith("Passed")
    assert "/dev/full: No space left on device. It was not written; the result stands" in err


@pytest.mark.parametrize("words", [("run", EXAMPLE), ("compare", "-f", EXAMPLE), ("sweep", EXAMPLE)], ids=str)
def test_a_file_in_a_directory_that_is_not_there_is_refused_before_the_load(
    ask: Any, tmp_path: Path, words: tuple[str | Path, ...]
) -> None:
    code, out, err = ask(*words, "--save", tmp_path / "missing" / "saved.json")
    assert (code, out) == (ExitCode.USAGE, "")
    assert f"there is no directory {tmp_path}/missing: make it first" in err


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (FULL, "Make room there"),
        (OSError(errno.EACCES, "Permission denied", "/srv/logs"), "Give this user the right to it, or another path"),
        (OSError(errno.EACCES, "Permission denied", "test.yaml"), "Give the path of a file that can be read"),
        (OSError(errno.ENOENT, "No such file or directory", "b"), "Give the path of a file that can be read"),
    ],
)
def test_the_advice_is_about_what_went_wrong(error: OSError, advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed_on(Path("test.yaml"), error)
    assert capsys.readouterr().err.endswith(f"{error.strerror}. {advice}\n")


def test_a_terminal_that_is_hung_up_is_written_to_no_more() -> None:
    outer, inner = pty.openpty()
    errors = Lasting(io.TextIOWrapper(io.FileIO(inner, "w"), write_through=True))
    assert errors.isatty()
    os.close(outer)
    for _ in range(2):
        errors.write("still running\n")
        errors.flush()


def test_nohup_is_heeded() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert not stop.wanted
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.wanted
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_report_that_cannot_be_written_says_so(ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "_saved", lambda _: a_test())
    code, _, err = ask("report", "saved.json", "-o", tmp_path / "missing" / "report.md")
    assert code == ExitCode.ERROR
    assert err.endswith("report.md: No such file or directory. Name a file that can be written\n")


def test_what_is_left_of_a_stream_that_was_closed_is_dropped() -> None:
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    errors = Lasting(closed)
    errors.flush()
    assert errors.write("never read") == len("never read")


@pytest.fixture
def by_two_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a comparison whose last variant needs a build of ssh2-python that is not here; no test may run."""
    monkeypatch.setattr(files, "version", lambda _: "1.2.0.post1")
    for module in (sweep, compare):
        monkeypatch.setattr(module, "runner", full_after(0))
    base = yaml.safe_load(EXAMPLE.read_text())["spec"] | {"client": {"library": "paramiko"}}
    variants = [{"name": "a"}, {"name": "b", "patch": {"client": {"library": "ssh2-python"}}}]
    test = {"apiVersion": API_VERSION, "kind": "SSHLoadTest", "metadata": {"name": "a"}, "spec": base}
    both = test | {"kind": "SSHLoadTestComparison", "spec": {"base": base, "variants": variants}}
    path = tmp_path / "both.yaml"
    path.write_text(yaml.safe_dump_all([test, both]))
    return path


@pytest.mark.parametrize(
    "words", [("compare", "-f"), ("sweep", "--over", "client.library=paramiko,ssh2-python")], ids=["compare", "sweep"]
)
def test_a_library_that_a_later_test_lacks_is_told_before_the_first(
    words: tuple[str, ...], ask: Any, by_two_libraries: Path
) -> None:
    code, out, err = ask(*words, by_two_libraries)
    assert (code, out) == (ExitCode.ERROR, "")
    assert "ssh2-python is 1.2.0.post1 and has to be" in err
