"""What a gateway says of a command is believed only as far as it can be true."""

import base64
import json
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.clients.gateway.answers import read_command, read_page
from sshload_worker.clients.gateway.exchange import Answer
from sshload_worker.clients.interface import CommandEnd
from sshload_worker.outcomes import MESSAGE_LIMIT_CHARACTERS, StepFailure

TOOK_NS = 500_000_000
SAID: Mapping[str, Any] = {
    "outcome": "exited",
    "exitCode": 0,
    "signal": None,
    "hasEnded": True,
    "stdout": base64.b64encode(b"\xff\x00out").decode(),
    "stderr": base64.b64encode(b"err").decode(),
    "encoding": "base64",
    "timings": {"waitSeconds": 0.1, "loginSeconds": 2.5, "commandSeconds": 0.4},
}


def answer(said: object, status: int = 200) -> Answer:
    return Answer(status, "", json.dumps(said).encode(), TOOK_NS)


def refusal(said: object) -> StepFailure:
    with pytest.raises(StepFailure) as refused:
        read_command(answer(said))
    return refused.value


def test_a_command_has_its_end_its_output_and_the_times_of_its_parts() -> None:
    said = read_command(answer(SAID))
    assert said.end == CommandEnd(0, "", b"err")
    assert said.stdout == b"\xff\x00out"
    assert said.told_ns == {
        Timing.GATEWAY_WAIT: 100_000_000,
        Timing.GATEWAY_COMMAND: 400_000_000,
        Timing.GATEWAY_LOGIN: 2_500_000_000,
    }


@pytest.mark.parametrize(
    "timings",
    [
        pytest.param({"waitSeconds": 0.2, "commandSeconds": 0.4}, id="parts that are longer than the whole"),
        pytest.param({"waitSeconds": -0.1, "commandSeconds": 0.1}, id="a time below zero"),
        pytest.param({"waitSeconds": float("nan"), "commandSeconds": 0.1}, id="no number"),
        pytest.param({"waitSeconds": float("inf"), "commandSeconds": 0.1}, id="no end"),
        pytest.param({"waitSeconds": True, "commandSeconds": 0.1}, id="a word"),
        pytest.param({"waitSeconds": 0.1}, id="no time of the command"),
        pytest.param({"waitSeconds": 0, "commandSeconds": 0, "loginSeconds": 1e9}, id="a login of many years"),
        pytest.param(None, id="none at all"),
    ],
)
def test_times_that_cannot_be_make_it_a_bad_answer(timings: object) -> None:
    assert refusal({**SAID, "timings": timings}).outcome is Outcome.BAD_ANSWER


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "done"},
        {"exitCode": -1},
        {"exitCode": 1.0},
        {"exitCode": 2**40},
        {"stdout": "no base64!"},
        {"stdout": 5},
        {"encoding": "utf-8"},
        {"outcome": "signalled", "signal": None},
    ],
)
def test_fields_that_no_gateway_sends_make_it_a_bad_answer(change: dict[str, object]) -> None:
    assert refusal({**SAID, **change}).outcome is Outcome.BAD_ANSWER


def test_the_words_of_a_problem_are_bounded_and_printable() -> None:
    with pytest.raises(StepFailure) as refused:
        read_command(answer({"kind": "busy\n\x1b[2J", "detail": "\ud800" + "x" * 10_000}, status=503))
    message = refused.value.message
    assert len(message) == MESSAGE_LIMIT_CHARACTERS
    assert message.isprintable()
    assert message.startswith("status 503, busy??[2J: ?xxx")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"entries": [{}] * 4, "next": None}, id="more entries than were asked for"),
        pytest.param({"entries": [], "next": "again"}, id="pages without end"),
        pytest.param({"entries": [{}], "next": "x" * 1_401}, id="a place that is too long"),
        pytest.param({"entries": {}, "next": None}, id="no list"),
    ],
)
def test_pages_that_no_gateway_sends_are_bad_answers(said: object) -> None:
    with pytest.raises(StepFailure) as refused:
        read_page(answer(said), 3)
    assert refused.value.outcome is Outcome.BAD_ANSWER


def test_an_answer_of_many_small_values_takes_little_more_memory_than_its_text() -> None:
    body = b'{"entries":[' + b"{}," * 1_000_000 + b'{}],"next":null}'
    tracemalloc.start()
    try:
        with pytest.raises(StepFailure) as refused:
            read_page(Answer(200, "", body, TOOK_NS), 1_000)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.outcome is Outcome.BAD_ANSWER
    assert peak_bytes < len(body)


def test_a_page_of_the_longest_names_is_read_though_they_are_all_commas() -> None:
    said = {"entries": [{"name": "," * 255, "type": "file", "size": 1}] * 1_000, "next": None}
    assert read_page(answer(said), 1_000).entries == 1_000
