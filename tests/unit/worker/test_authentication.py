"""What a server says of a login is told without what it was sent."""

import pytest
from sshload_contract.client import DEFAULT_TOTP, Answer, Auth, Prompt
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.authentication import Authentication
from sshload_worker.login.login import Credentials
from sshload_worker.login.totp import SecondFactor
from sshload_worker.outcomes import StepFailure

PASSWORD = "a canary  of authentication"
PROMPTS = (
    Prompt(match="^Password: $", answer=Answer.PASSWORD, text=""),
    Prompt(match="^Code: $", answer=Answer.TOTP, text=""),
)


@pytest.fixture(name="login")
def _login() -> Authentication:
    codes = SecondFactor(b"0" * 20, DEFAULT_TOTP, now=lambda: 59.0)
    return Authentication(
        Credentials(
            auth=Auth.KEYBOARD_INTERACTIVE,
            private_key=b"",
            public_key=b"",
            certificate=None,
            password=PASSWORD,
            agent_socket="",
            prompts=PROMPTS,
            second_factor=codes,
        )
    )


def test_answers_that_the_server_echoes_are_in_no_message(login: Authentication) -> None:
    password, code = login.answer(b"", [b"Password: ", b"Code: "])
    echo = b"wrong: " + password + b" and " + code
    login.says(echo)
    refused = login.refused([password.decode(), "publickey"])
    closed = login.failed(StepFailure(Outcome.DISCONNECTED, f"the server closed the connection: {echo.decode()}"))
    lost = login.failed(StepFailure(Outcome.AUTH_TIMEOUT, echo.decode()))
    with pytest.raises(StepFailure) as unexpected:
        login.answer(b"", [echo + b"? "])
    for failure in (refused, closed, lost, unexpected.value):
        assert "wrong: *** and ***" in failure.message
        assert "canary" not in failure.message
        assert code.decode() not in failure.message


def test_words_that_tell_an_outcome_are_known_though_the_password_is_one_of_them() -> None:
    login = Authentication(
        Credentials(
            Auth.PASSWORD, private_key=b"", public_key=b"", certificate=None, password="locked", agent_socket=""
        )
    )
    login.says(b"The account is locked")
    refused = login.refused(["password"])
    assert refused.outcome is Outcome.ACCOUNT_LOCKED
    assert refused.message.endswith("it said: The account is ***")
