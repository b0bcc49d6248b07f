"""What a hostile server asks and says in a login ends it soon, in an outcome with bounded words, and gets no secret."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from client_kinds import PARAMIKO, Kind, every_kind_in_the_process
from one_iteration import Counted, run_once
from prompting_server import BANNERS, CHANGE, ECHOES, PARTLY, prompting_server
from run_configs import arrivals, run_config, scenario
from ssh_server import Keys
from sshload_contract.client import Answer, Auth, Prompt
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint

PASSWORD = "canary-of-hostile-prompts"
BY_PASSWORD = Prompt(match="^Password: $", answer=Answer.PASSWORD, text="")
MOST_MESSAGE_CHARACTERS = 400


@dataclass(frozen=True)
class Server:
    """The hostile server, and what it has been told."""

    port: int
    answers: Path
    keys: Keys

    def log_in(self, user: str, kind: Kind, auth: Auth, folder: Path) -> Counted:
        (folder / "password").write_text(PASSWORD)
        target = Endpoint(
            host="127.0.0.1",
            port=self.port,
            user=user,
            auth=auth,
            private_key_path=str(self.keys.user),
            certificate_path="",
            passphrase_path="",
            password_path=str(folder / "password"),
            known_hosts_path="",
        )
        config = run_config(target, arrivals(1, 1))
        client = replace(kind.client(), prompts=(BY_PASSWORD,))
        return run_once(replace(config, client=client, scenario=scenario()))

    def answered(self, user: str) -> list[str]:
        lines = (line.split(" ", 1) for line in self.answers.read_text().splitlines())
        return [answer for name, answer in lines if name == user]


@pytest.fixture(scope="module", name="server")
def _server(keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    answers = tmp_path_factory.mktemp("prompting") / "answers"
    with prompting_server(keys.host, answers) as port:
        yield Server(port, answers, keys)


@every_kind_in_the_process
@pytest.mark.parametrize(
    ("user", "words"),
    [
        pytest.param("endless", "the server asked more than 32 times in one login", id="prompts without end"),
        pytest.param("storm", "the server asked more than 32 times in one login", id="messages without end"),
        pytest.param("huge", 'the server asks "PPPP', id="a huge prompt"),
        pytest.param("control", 'the server asks "?[2J?Pass???code? of ?root:"', id="control characters"),
        pytest.param("other", 'the server asks "Mother\'s name:"', id="a prompt of which one is unknown"),
        pytest.param("many", "the server has 90 prompts at once", id="90 prompts at once"),
        pytest.param("most", "prompts at once, and 16 are answered", id="6,000 prompts at once"),
    ],
)
def test_prompts_that_nobody_expects_end_the_login(
    server: Server, tmp_path: Path, kind: Kind, user: str, words: str
) -> None:
    before = len(server.answered(user))
    done = server.log_in(user, kind, Auth.KEYBOARD_INTERACTIVE, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.PROMPT_UNEXPECTED, "auth"), done
    assert words in done.message
    assert len(done.message) <= MOST_MESSAGE_CHARACTERS
    assert PASSWORD not in done.message
    assert len(server.answered(user)) - before == (32 if user == "endless" else 0)


@every_kind_in_the_process
def test_a_server_that_echoes_the_password_puts_it_in_no_message(server: Server, tmp_path: Path, kind: Kind) -> None:
    done = server.log_in(ECHOES, kind, Auth.KEYBOARD_INTERACTIVE, tmp_path)
    assert server.answered(ECHOES)[-1:] == [PASSWORD]
    assert done.outcome is Outcome.PROMPT_UNEXPECTED, done
    assert 'the server asks "*** is wrong, say another:"' in done.message
    assert PASSWORD not in done.message


@every_kind_in_the_process
def test_a_prompt_for_a_new_password_gets_none(server: Server, tmp_path: Path, kind: Kind) -> None:
    done = server.log_in("expired", kind, Auth.KEYBOARD_INTERACTIVE, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.PASSWORD_EXPIRED, "auth"), done
    assert "Your password has expired. New password:" in done.message
    assert server.answered("expired") == []


@every_kind_in_the_process
def test_a_request_to_change_the_password_is_told_with_its_words(server: Server, tmp_path: Path, kind: Kind) -> None:
    done = server.log_in(CHANGE, kind, Auth.PASSWORD, tmp_path)
    assert (done.outcome, done.failed_step) == (Outcome.PASSWORD_EXPIRED, "auth"), done
    assert done.message == "the server asks for a new password; it said: Choose another one"


@every_kind_in_the_process
def test_a_server_that_accepts_each_method_and_asks_for_more_for_ever_is_left(
    server: Server, tmp_path: Path, kind: Kind
) -> None:
    done = server.log_in(PARTLY, kind, Auth.PUBLICKEY, tmp_path)
    assert done.failed_step == "auth", done
    if kind is PARAMIKO:  # it asks for the service again, for which asyncssh's server ends the connection
        assert done.outcome is Outcome.DISCONNECTED
        return
    assert done.outcome is Outcome.AUTH_REJECTED, done
    assert done.message.startswith(
        "the server accepted publickey and keyboard-interactive, and asks for a third method, publickey"
    )


@every_kind_in_the_process
def test_texts_without_end_end_the_login_or_are_left_out(server: Server, tmp_path: Path, kind: Kind) -> None:
    done = server.log_in(BANNERS, kind, Auth.PASSWORD, tmp_path)
    assert done.outcome in {Outcome.AUTH_REJECTED, Outcome.DISCONNECTED}, done
    assert len(done.message) <= MOST_MESSAGE_CHARACTERS
