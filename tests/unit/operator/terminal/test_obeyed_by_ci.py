"""No line of a command's output is one that a CI system obeys, whatever a server says and however it is wrapped."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from sshload_operator.cli.exit_code import complain
from sshload_operator.cli.view.formats import print_result
from sshload_operator.cli.view.progress import ProgressLines
from sshload_operator.cli.view.result import result_page
from statuses import RESULTS, read_test_status

FORMATS = ("table", "json", "yaml", "junit", "markdown", "csv")
COMMANDS = (
    "::add-mask::a",
    "::error file=a.py::b",
    "##[add-mask]a",
    "###[error]b",
    "##vso[task.setvariable variable=a]b",
    "##teamcity[message text='a']",
)
LINE_ENDS = (" ", "\r", "\n", "\r\n", "\u2028", "\x85", "\x0b", "\t")


def obeyed(text: str) -> list[str]:
    """Return the lines that a CI system obeys. It also ends them at a carriage return, and passes over blanks."""
    lines = text.replace("\r", "\n").split("\n")
    marks = ("##[", "##vso[", "##teamcity[")
    return [line for line in lines if line.lstrip().startswith("::") or any(mark in line for mark in marks)]


def printed(said: str, output: str, capsys: pytest.CaptureFixture[str]) -> str:
    status: dict[str, Any] = {
        "phase": "Finished",
        "verdict": "Failed",
        "reason": "ThresholdBroken",
        "message": said,
        "results": {**RESULTS, "errors": [{"step": "kex", "outcome": "kexFailed", "count": 3, "firstMessage": said}]},
    }
    page = result_page("one", read_test_status(status), verbose=True)
    print_result(output, {"status": status}, page, [{"step": said}])
    return capsys.readouterr().out


@pytest.mark.parametrize("output", FORMATS)
def test_no_line_of_a_result_is_a_command_wherever_it_is_wrapped(
    output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command stands at each third place of a line, on the first line and on later ones."""
    monkeypatch.setenv("COLUMNS", "40")
    for before in range(0, 42, 3):
        first = before // 3 % len(COMMANDS)
        said = " ".join(f"{'x' * before} {command}" for command in (*COMMANDS[first:], *COMMANDS[:first]))
        text = printed(said, output, capsys)
        assert "xxx" in text or not before
        assert obeyed(text) == []


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("end", LINE_ENDS)
def test_no_line_end_of_a_server_makes_a_command(output: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert obeyed(printed(f"said:{end}{command}{end}{command}", output, capsys)) == []
        assert obeyed(printed(f"{end}{command}", output, capsys)) == []


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
@pytest.mark.parametrize("command", COMMANDS)
def test_programs_read_what_was_said(
    output: str, read: Callable[[str], Any], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"the server said:\n{command}"
    assert read(printed(said, output, capsys))["status"]["message"] == said


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_of_progress_or_complaint_is_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    for said in (command, f" {command}", f"a\n{command}", f"a\r{command}"):
        ProgressLines(stream).say(said)
        complain(said)
    assert obeyed(stream.getvalue() + capsys.readouterr().err) == []
