"""A user whose start-up files print text: what is told of a step that takes this text for its own."""

from collections.abc import Callable

import pytest
from circles import in_pairs
from client_kinds import KINDS_IN_THE_PROCESS, Kind
from one_iteration import one_pass
from ssh_server import SshServer
from sshload_contract.steps import ExecStep, ScenarioStep, ScpReadStep, ScpWriteStep, Verify
from sshload_contract.vocabulary import Outcome

NOISY = """ForceCommand echo "Welcome to the farm"; eval "$SSH_ORIGINAL_COMMAND\""""
READ = ScpReadStep("scp", "/etc/hostname", None, "")
WRITE = ScpWriteStep("scp", "/dev/null", 10, Verify.NONE)


@in_pairs(("kind", KINDS_IN_THE_PROCESS), ("step", [pytest.param(READ, id="read"), pytest.param(WRITE, id="write")]))
def test_text_before_what_scp_says_is_told_with_where_it_may_come_from(
    start_sshd: Callable[[str], SshServer], kind: Kind, step: ScenarioStep
) -> None:
    done = one_pass(start_sshd(NOISY), step, by=kind.client())
    assert done.failure is not None
    assert done.failure[0] is Outcome.SCP_FAILED
    assert done.message == (
        'the server sent "Welcome to the farm" before what its scp says: the user\'s start-up files (such as .bashrc)'
        " print it"
    )


def test_an_output_that_begins_with_such_text_is_told_with_it(start_sshd: Callable[[str], SshServer]) -> None:
    done = one_pass(start_sshd(NOISY), ExecStep("said", "echo done", 0, "^done$"))
    assert done.failure == (Outcome.OUTPUT_MISMATCH, "said.command")
    assert done.message == (
        'the output does not match expectStdout: it begins with "Welcome to the farm done" (which the user\'s start-up'
        " files may have printed)"
    )


def test_an_empty_output_is_told_as_empty(sshd: SshServer) -> None:
    done = one_pass(sshd, ExecStep("said", "true", 0, "^done$"))
    assert done.message == "the output does not match expectStdout: it is empty"
