"""A forward by a program that shares a login of ssh."""

import os
from types import SimpleNamespace
from typing import Any

import pytest
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.openssh.channel import ClientSession, OpenSSHChannel
from sshload_worker.outcomes import StepFailure


def test_a_forward_that_ends_without_a_reason_is_no_success() -> None:
    master: Any = SimpleNamespace(
        socket_path="/nowhere",
        answered_requests=lambda: (0, 0),
        exit_statuses=lambda: 0,
        claim_refusal=lambda: None,
        was_killed=lambda: False,
        has_ended=lambda: False,
    )
    directory: Any = SimpleNamespace(config="/dev/null", environment=dict(os.environ))
    channel = OpenSSHChannel(ClientSession(master, directory))
    channel.forward("127.0.0.1", 1)
    with pytest.raises(StepFailure) as failed:
        channel.close()
    assert failed.value.outcome is Outcome.CHANNEL_REFUSED
