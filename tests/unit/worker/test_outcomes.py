import errno

import pytest
from sshload_contract.vocabulary import Outcome, Timing
from sshload_worker.outcomes import (
    StepFailure,
    connect_outcome,
    pre_banner_outcome,
    timeout_outcome,
)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        pytest.param("Exceeded MaxStartups", Outcome.THROTTLED, id="OpenSSH 8.2 to 9.7"),
        pytest.param("Not allowed at this time", Outcome.DROPPED_UNKNOWN, id="OpenSSH 9.8 and later"),
        pytest.param("220 mail.example.org ESMTP", None, id="another protocol"),
        pytest.param("", None, id="an empty line"),
    ],
)
def test_the_servers_word_before_its_banner_decides(line: str, outcome: Outcome | None) -> None:
    assert pre_banner_outcome(line) is outcome


@pytest.mark.parametrize("said", ["", " ", "\r\n"])
def test_a_failure_says_something_even_if_the_server_said_nothing(said: str) -> None:
    assert StepFailure(Outcome.SCP_FAILED, said).message == "the server did not say why"


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (errno.ECONNREFUSED, Outcome.REFUSED),
        (errno.ETIMEDOUT, Outcome.CONNECT_TIMEOUT),
        (errno.EADDRNOTAVAIL, Outcome.GENERATOR_FAULT),
        (errno.EMFILE, Outcome.GENERATOR_FAULT),
        (errno.EHOSTUNREACH, Outcome.CONNECT_FAILED),
        (errno.ECONNRESET, Outcome.CONNECT_FAILED),
    ],
    ids=lambda value: errno.errorcode.get(value) if isinstance(value, int) else None,
)
def test_a_failed_connect_is_told_apart_by_its_errno(number: int, outcome: Outcome) -> None:
    assert connect_outcome(number) is outcome


@pytest.mark.parametrize(
    ("step", "outcome"),
    [
        (Timing.CONNECT, Outcome.CONNECT_TIMEOUT),
        (Timing.BANNER, Outcome.BANNER_TIMEOUT),
        (Timing.KEX, Outcome.KEX_TIMEOUT),
        (Timing.AUTH, Outcome.AUTH_TIMEOUT),
        (Timing.CHANNEL_OPEN, Outcome.STEP_TIMEOUT),
        (Timing.EXEC, Outcome.STEP_TIMEOUT),
    ],
    ids=str,
)
def test_a_timeout_is_that_of_its_step(step: str, outcome: Outcome) -> None:
    assert timeout_outcome(step) is outcome


def test_a_message_is_cut_to_what_a_summary_carries() -> None:
    assert len(StepFailure(Outcome.NOT_SSH, "x" * 1_000).message) == 400
