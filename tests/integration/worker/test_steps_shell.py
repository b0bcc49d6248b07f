"""The shell step: a terminal, a program on it, and answers that are waited for."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from one_iteration import one_pass
from run_configs import client
from ssh_server import SshServer
from sshload_contract.steps import ExecStep, ShellStep
from sshload_contract.vocabulary import Outcome

PROMPTING = r"""sh -c 'stty -echo; while printf "ready> " && read -r line; do echo "you said $line"; done'"""


def shell(
    command: str = PROMPTING, ready: str = "ready> ", send: str = "x\n", expect: str = "ready> ", repeat: int = 1
) -> ShellStep:
    return ShellStep("", command, ready, send, expect, repeat)


def test_a_shell_is_timed_in_its_parts_and_each_answer_by_itself(sshd: SshServer) -> None:
    done = one_pass(sshd, shell(repeat=5))
    assert (done.outcome, done.failed) == (Outcome.OK, {}), done
    assert done.timed == {"channelOpen": 1, "shellStart": 1, "echo": 5, "close": 1, "shell": 1}


def test_the_login_shell_is_on_a_terminal(sshd: SshServer) -> None:
    done = one_pass(sshd, shell(command="", ready="", send="tty; echo sum-$((40+2))\n", expect="sum-42"))
    assert done.outcome is Outcome.OK, done


def test_what_is_typed_is_echoed_by_the_terminal(sshd: SshServer) -> None:
    done = one_pass(sshd, shell("cat > /dev/null", "", "echo of {iteration}", "echo of 0-0", repeat=3))
    assert done.timed["echo"] == 3


def test_without_repeats_a_shell_is_only_opened(sshd: SshServer) -> None:
    done = one_pass(sshd, shell(repeat=0))
    assert set(done.timed) == {"channelOpen", "shellStart", "close", "shell"}


def test_the_program_ends_when_the_step_hangs_up(sshd: SshServer, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = f"sh -c 'trap \"echo hung up > {told}; exit\" HUP; echo ready; while :; do sleep 0.05; done'"
    assert one_pass(sshd, shell(program, ready="ready", repeat=0)).outcome is Outcome.OK
    deadline_s = time.monotonic() + 300
    while not told.exists():
        assert time.monotonic() < deadline_s, "the program was not told"
        time.sleep(0.02)


def test_output_that_nobody_reads_does_not_keep_a_shell_open(sshd: SshServer) -> None:
    """The program goes on printing more than any window holds while the channel is closed."""
    done = one_pass(sshd, shell("echo ready; yes", ready="ready", repeat=0))
    assert done.outcome is Outcome.OK, done


def test_other_steps_can_follow(sshd: SshServer) -> None:
    done = one_pass(sshd, shell(), shell(repeat=2), ExecStep("", "true", 0, ""))
    assert done.outcome is Outcome.OK
    assert (done.timed["shell"], done.timed["echo"], done.timed["command"]) == (2, 3, 1)


@pytest.mark.parametrize(
    ("step", "failed_step", "said"),
    [
        pytest.param(shell("true"), "shellStart", "`ready` came", id="before it is ready"),
        pytest.param(
            shell("sh -c 'echo ready; read x; echo Too many'", "ready", expect="never"),
            "echo",
            "`expect` came: its last words are",
            id="at a send",
        ),
    ],
)
def test_a_program_that_ends_early_is_a_mismatch_that_names_the_field_and_has_its_last_words(
    sshd: SshServer, step: ShellStep, failed_step: str, said: str
) -> None:
    done = one_pass(sshd, step)
    assert done.failure == (Outcome.OUTPUT_MISMATCH, failed_step)
    assert done.message.startswith(f"the output ended before {said}")
    assert done.message.endswith('Too many"' if failed_step == "echo" else "came")


def test_a_text_that_never_comes_is_a_timeout_even_while_other_output_does(sshd: SshServer) -> None:
    for step, *parts in (
        (shell("cat", ready="never"), "shellStart"),
        (shell("yes", ready="never"), "shellStart"),
        (shell(expect="never"), "shellStart", "echo"),
    ):
        done = one_pass(sshd, step, by=client(step_s=0.3))
        assert done.failure == (Outcome.STEP_TIMEOUT, done.first_without_end("channelOpen", *parts))
        assert done.message == "shell took longer than 0.3 s"


def test_a_server_without_terminals_rejects_the_step(start_sshd: Callable[[str], SshServer]) -> None:
    done = one_pass(start_sshd("PermitTTY no"), shell())
    assert done.failure == (Outcome.EXEC_REJECTED, "shellStart")
