"""Pipes to programs: whoever reads one hears of its end at once, whatever the event loop waits for next."""

import os

import gevent.os
import pytest
from sshload_worker.clients.openssh.process import PipeEnd


@pytest.mark.parametrize("is_given_away", [False, True], ids=["both ends", "our end"])
def test_a_pipe_has_ended_for_its_reader_before_the_loop_runs_again(
    monkeypatch: pytest.MonkeyPatch, *, is_given_away: bool
) -> None:
    """In a worker gevent has replaced `os.close`: its own leaves a pipe open until the loop has waited."""
    monkeypatch.setattr(os, "close", gevent.os.close)
    gevent.get_hub()
    pipe = PipeEnd(reading=False)
    reader = os.dup(pipe.given)
    os.set_blocking(reader, False)
    if is_given_away:
        pipe.give_away()
    pipe.close()
    assert os.read(reader, 1) == b""
    os.close(reader)
