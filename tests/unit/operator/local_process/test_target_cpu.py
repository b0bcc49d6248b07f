"""How many cores a local target uses, by what it answers."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
from runs import target_stats
from sshload_contract.wire.codec import to_json
from sshload_operator.local import observe
from sshload_operator.local.observe import TargetCpu


class Target(http.server.BaseHTTPRequestHandler):
    """Answers with one text after the other."""

    answers: ClassVar[list[str]] = []
    after_s: ClassVar[float] = 0.0

    def do_GET(self) -> None:
        """Answer with the next text."""
        time.sleep(self.after_s)
        body = self.answers.pop(0).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def target(*answers: str) -> Iterator[int]:
    """Give the port of a target that answers so."""
    Target.answers[:] = answers
    with http.server.HTTPServer(("127.0.0.1", 0), Target) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def stats(at_s: float, cpu_s: float) -> str:
    return to_json(target_stats(0, at_unix_s=at_s, cpu_s=cpu_s))


@pytest.fixture(autouse=True)
def without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "_STATS_EVERY_S", 0.0)


@pytest.fixture
def with_time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each answer, however busy the machine is."""
    monkeypatch.setattr(observe, "_ANSWER_TIMEOUT_S", 300.0)


@pytest.mark.usefixtures("with_time_enough")
def test_it_is_the_growth_of_cpu_time_by_the_targets_own_clock() -> None:
    with target(stats(100.0, 5.0), stats(104.0, 7.0)) as port:
        cpu = TargetCpu(port)
        assert cpu.cores() is None
        assert cpu.cores() == 0.5


@pytest.mark.usefixtures("with_time_enough")
def test_an_answer_that_is_none_changes_nothing() -> None:
    with target(stats(100.0, 5.0), "<html>", stats(102.0, 6.0), stats(102.0, 9.0)) as port:
        cpu = TargetCpu(port)
        assert [cpu.cores() for _ in range(4)] == [None, None, 0.5, 0.5]


def test_a_target_that_waits_for_a_cpu_before_it_answers_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "after_s", 0.8)
    with target(stats(100.0, 5.0), stats(104.0, 7.0)) as port:
        cpu = TargetCpu(port)
        assert [cpu.cores(), cpu.cores()] == [None, 0.5]


def test_a_target_that_does_not_answer_has_no_figure() -> None:
    with target() as port:
        pass
    assert TargetCpu(port).cores() is None


@pytest.mark.usefixtures("with_time_enough")
def test_it_is_not_asked_more_often_than_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "_STATS_EVERY_S", 3_600.0)
    with target(stats(100.0, 5.0)) as port:
        cpu = TargetCpu(port)
        assert [cpu.cores() for _ in range(3)] == [None, None, None]
        assert Target.answers == []
