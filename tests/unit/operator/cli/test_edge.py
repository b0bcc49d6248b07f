"""What no command foresees: an error of sshload itself, and an output that nobody reads or that has no room."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sshload_operator.cli import commands
from sshload_operator.cli.exit_code import ExitCode

COMMAND = [sys.executable, "-c", "from sshload_operator.cli.commands import main; main()"]
EXAMPLE = Path(__file__).parents[4] / "examples" / "01-quickstart.yaml"


@pytest.fixture
def good() -> str:
    return str(EXAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["validate", "{good}"], ["--help"], ["list", "--help"]], ids=" ".join)
def test_a_closed_pipe_is_no_verdict_and_nothing_is_said(arguments: list[str], good: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [*COMMAND, *(one.format(good=good) for one in arguments)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (ExitCode.PIPE_CLOSED, "")


@pytest.mark.slow
def test_a_full_disk_is_an_error_in_one_line(good: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "validate", good], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == ExitCode.ERROR
    assert done.stderr == "sshload: the output: No space left on device. Not all of it was read or written\n"


@pytest.mark.slow
def test_a_standard_error_that_nobody_reads_changes_no_code(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    wrong = str(tmp_path / "missing.yaml")
    done = subprocess.run([*COMMAND, "validate", wrong], stderr=writing, stdout=subprocess.DEVNULL, check=False)
    os.close(writing)
    assert done.returncode == ExitCode.ERROR


def test_an_error_that_nobody_foresaw_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> int:
        raise KeyError("items")

    monkeypatch.delenv("SSHLOAD_TRACEBACK", raising=False)
    monkeypatch.setattr(commands.sshload, "main", broken)
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == ExitCode.ERROR
    said = capsys.readouterr().err
    assert said.startswith("sshload: an error of sshload itself: KeyError: 'items'. Please report it")
    assert said.count("\n") == 1
    monkeypatch.setenv("SSHLOAD_TRACEBACK", "1")
    with pytest.raises(SystemExit):
        commands.main()
    assert "in broken\n" in capsys.readouterr().err


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[object, str]:
    monkeypatch.setattr(sys, "argv", ["sshload", *words])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    return ended.value.code, capsys.readouterr().err


def test_json_that_is_too_deep_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000)
    code, text = said(monkeypatch, capsys, "advise", "-f", str(deep))
    assert code == ExitCode.ERROR
    assert "nested too deeply" in text


def test_apply_passes_over_a_list_of_another_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], good: str
) -> None:
    other = {"apiVersion": "example.com/v1", "kind": "List", "metadata": {"name": "chores"}}
    both = tmp_path / "both.yaml"
    both.write_text(yaml.safe_dump_all([other, yaml.safe_load(Path(good).read_text())]))
    _, text = said(monkeypatch, capsys, "apply", "-f", str(both), "--kubeconfig", "/nowhere")
    assert "not of our kinds: List chores" in text
