"""Logins by keys that the run has revoked: what the run knows, and what sshd does, which tells a client no reason."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from client_kinds import SSH2_PYTHON, Kind, every_kind
from one_iteration import run_once
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import Keys, SshServer
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import RunConfig


def revoking(folder: Path, *keys: Path) -> str:
    """Return the directive for a list of these keys, made by ssh-keygen."""
    command = ["ssh-keygen", "-q", "-k", "-f", folder / "revoked", *(key.with_suffix(".pub") for key in keys)]
    subprocess.run(command, check=True)
    return f"RevokedKeys {folder / 'revoked'}"


def logging_in_with_a_revoked_key(server: SshServer, kind: Kind) -> RunConfig:
    target = replace(endpoint(server), revoked_share=1.0)
    return replace(run_config(target, arrivals(1, 1)), client=kind.client(), scenario=scenario(EXEC_TRUE))


@every_kind
def test_a_revoked_key_that_is_refused_is_told_apart_from_other_refusals(
    start_sshd: Callable[[str], SshServer], keys: Keys, tmp_path: Path, kind: Kind
) -> None:
    server = start_sshd(revoking(tmp_path, keys.user))
    revoked = logging_in_with_a_revoked_key(server, kind)
    done = run_once(revoked)
    assert (done.outcome, done.failed_step) == (Outcome.KEY_REVOKED, "auth"), done
    assert done.message.endswith("; the run has revoked this user's key")
    server.await_log("revoked by file ")
    done = run_once(replace(revoked, target=endpoint(server)))
    assert done.outcome is Outcome.AUTH_REJECTED, done


def test_a_revoked_key_that_the_server_takes_is_an_outcome_of_its_own(
    start_sshd: Callable[[str], SshServer], keys: Keys, tmp_path: Path
) -> None:
    server = start_sshd(revoking(tmp_path, keys.stranger))
    done = run_once(logging_in_with_a_revoked_key(server, SSH2_PYTHON))
    assert (done.outcome, done.failed_step) == (Outcome.REVOKED_KEY_ACCEPTED, "auth"), done
    assert server.accepted() == 1
