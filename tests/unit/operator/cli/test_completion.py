"""Completion in shells and by kubectl: the real shell, with the script that the command prints."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(sys.executable).parent


def run(*command: str | Path, stdin: str = "") -> str:
    environment = {"PATH": f"{FOLDER}:/usr/bin:/bin"}
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=True, env=environment, timeout=300
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        pytest.param(["sshload", "va"], ["validate"], id="command"),
        pytest.param(["sshload", "run", "--kn"], ["--known-hosts"], id="option"),
        pytest.param(["sshload", "run", "--output", "j"], ["json", "junit"], id="value"),
    ],
)
def test_bash_completes_commands_options_and_values(words: list[str], completed: list[str]) -> None:
    script = f"""
        source <(sshload completion bash)
        COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        _sshload_completion sshload {words[-1]}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert run("bash", "-c", script).split() == completed


@pytest.mark.parametrize(("shell", "word"), [("zsh", "compdef"), ("fish", "complete --no-files --command sshload")])
def test_other_shells_have_a_script_of_their_own(shell: str, word: str) -> None:
    assert word in run(FOLDER / "sshload", "completion", shell)


@pytest.mark.slow
def test_kubectl_is_told_what_may_come_next() -> None:
    *values, directive = run(FOLDER / "kubectl_complete-sshload", "wa").splitlines()
    assert [value.split("\t")[0] for value in values] == ["watch"]
    assert directive == ":4"


@pytest.mark.slow
def test_the_plug_in_calls_itself_as_kubectl_calls_it() -> None:
    assert run(FOLDER / "kubectl-sshload", "list", "--help").startswith("Usage: kubectl sshload list ")
