"""What a process is set up with for its role, each time in a process of its own. Master and worker are played."""

import argparse
import gc
import logging
import os
import posix  # gevent closes later what `os` is told to close
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gevent
import pytest
from own_process import in_own_process
from plans import TOKEN
from run_configs import NOWHERE, arrivals, run_config
from sshload_worker.coordination import http_server, master, messages, roles, worker

CONFIG = replace(run_config(NOWHERE, arrivals(1, 1), workers=12), processes_per_pod=4)
OF_MASTER = argparse.Namespace(bind_host="here", bind_port=1, http_port=2)
OF_WORKER = argparse.Namespace(index=2, process=None, board=-1, master_host="there", master_port=3)


class Played:
    """A master or worker: notes what it is asked for, and when it runs, what the process is set up with."""

    def __init__(self, *arguments: Any) -> None:
        self.made_of = arguments
        self.told: list[Any] = []
        self.meanwhile: Callable[[], object] = list
        self.has_been_told = gevent.event.Event()

    def listen(self, *where: Any) -> None:
        self.told.append(["listen", *where])

    def stop(self, reason: str) -> None:
        self.told.append(reason)
        self.has_been_told.set()

    leave = stop

    def run(self, *where: Any) -> int:
        self.told.append(["run", *where])
        self.meanwhile()
        return 5


def played(role: str, options: argparse.Namespace, meanwhile: Callable[[Played], object]) -> Any:
    """Return what a process of this role returns, and what its part was told; `meanwhile` happens while it runs."""
    parts: list[Played] = []

    def make(*arguments: Any) -> Played:
        parts.append(Played(*arguments))
        parts[-1].meanwhile = lambda: meanwhile(parts[-1])
        return parts[-1]

    def play() -> Any:
        gevent.reinit()
        gc.unfreeze()
        logging.getLogger().handlers.clear()
        master.Master = make  # type: ignore[assignment,misc]  # a part of this process alone
        worker.Worker = make  # type: ignore[assignment,misc]
        http_server.serve = lambda one, *where: one.told.append(["serve", *where])
        code = getattr(roles, f"run_{role}")(CONFIG, TOKEN, options)
        return [code, parts[0].told, [part for part in parts[0].made_of if isinstance(part, int | str)]]

    return in_own_process(play)


def signalled(number: signal.Signals) -> Callable[[Played], None]:
    def signal_it(part: Played) -> None:
        os.kill(os.getpid(), number)
        part.has_been_told.wait(60)

    return signal_it


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, "told to terminate"), (signal.SIGINT, "interrupted")])
def test_a_master_listens_and_serves_and_is_stopped_by_a_signal(number: signal.Signals, reason: str) -> None:
    told = [["listen", "here", 1], ["serve", "here", 2], ["run"], reason]
    assert played("master", OF_MASTER, signalled(number)) == [0, told, [TOKEN]]


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, "told to terminate"), (signal.SIGINT, "interrupted")])
def test_a_worker_runs_and_leaves_at_a_signal(number: signal.Signals, reason: str) -> None:
    assert played("worker", OF_WORKER, signalled(number)) == [5, [["run", "there", 3], reason], [8]]


@pytest.mark.parametrize(("process", "number"), [(0, 8), (3, 11)])
def test_a_worker_has_the_number_of_its_process_among_those_of_all_pods(process: int, number: int) -> None:
    (_, _, made_of) = played("worker", argparse.Namespace(**{**vars(OF_WORKER), "process": process}), lambda _: None)
    assert made_of == [number]


@pytest.mark.parametrize("process", [None, 0])
def test_a_worker_below_a_parent_leaves_when_that_is_gone(process: int | None) -> None:
    """A worker that has no parent reads nothing."""

    def close(part: Played) -> None:
        reading, parent = posix.pipe()
        sys.stdin = os.fdopen(reading)
        part.has_been_told.wait(0.05)
        assert part.told[1:] == []
        posix.close(parent)
        part.has_been_told.wait(0.05 if process is None else 60)

    _, told, _ = played("worker", argparse.Namespace(**{**vars(OF_WORKER), "process": process}), close)
    assert told[1:] == ([] if process is None else ["the pod's parent process is gone"])


@pytest.mark.parametrize("role", ["master", "worker"])
@pytest.mark.parametrize("hard", [3_000, 1_500])
def test_a_worker_may_open_as_many_files_as_there_may_be_and_a_master_no_more_than_it_needs(
    role: str, hard: int
) -> None:
    def note(part: Played) -> None:
        part.told.append(resource.getrlimit(resource.RLIMIT_NOFILE))

    def play() -> Any:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_000, hard))
        return played(role, OF_MASTER if role == "master" else OF_WORKER, note)

    _, told, _ = in_own_process(play)
    assert told[-1] == [min(hard, 2_048) if role == "master" else hard, hard]


@pytest.mark.parametrize("role", ["master", "worker"])
def test_lines_are_encrypted_warnings_logged_and_imports_left_to_no_collection(role: str) -> None:
    def note(part: Played) -> None:
        (handler,) = logging.getLogger().handlers
        assert isinstance(handler, logging.StreamHandler)
        record = logging.LogRecord("name", logging.WARNING, "", 0, "late", None, None)
        part.told.append(
            [
                logging.getLogger().level,
                handler.stream is sys.stderr,
                handler.format(record),
                gc.get_freeze_count() > 10_000,
                vars(messages)["zmqrpc"].BaseSocket.__init__.__name__,
            ]
        )

    _, told, _ = played(role, OF_MASTER if role == "master" else OF_WORKER, note)
    assert told[-1] == [logging.WARNING, True, "WARNING name: late", True, "encrypted_socket"]
