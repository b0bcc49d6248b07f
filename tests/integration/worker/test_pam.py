"""Logins by PAM, against root's sshd with Debian's modules: second factors, refused accounts, and its words."""

import base64
import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from client_kinds import KINDS_IN_THE_PROCESS, SSH2_PYTHON, Kind, every_kind_in_the_process
from one_iteration import Counted, run_once
from pam_server import (
    ONLY_CODE,
    ONLY_PASSWORD,
    PASSWORD,
    PASSWORD_AND_CODE,
    TOTP_SECRET,
    WITH_FAILLOCK,
    Account,
    PamServer,
    PamSetting,
    pam_server,
)
from run_configs import arrivals, run_config, scenario
from ssh_server import Keys
from sshload_contract.client import Answer, Auth, Prompt
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.login import totp

pytestmark = pytest.mark.root

CODE = Prompt(match="(?i)one-time password", answer=Answer.TOTP, text="")
BY_PASSWORD = Prompt(match="^Password: $", answer=Answer.PASSWORD, text="")
KEY_THEN_PROMPTS = "AuthenticationMethods publickey,keyboard-interactive"
PASSWORD_THEN_PROMPTS = "AuthenticationMethods password,keyboard-interactive"
EXPIRED = "20000:0:99999:7::10000"
TO_CHANGE = "0:0:99999:7::"
ACCOUNTS = (
    Account("load"),
    Account("expired", EXPIRED),
    Account("to-change", TO_CHANGE),
    *(Account(f"locked{number}") for number in range(9)),
)
METHODS = (Auth.PUBLICKEY, Auth.PASSWORD, Auth.KEYBOARD_INTERACTIVE)
Start = Callable[[PamSetting], PamServer]


@pytest.fixture(scope="module")
def start(keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Return a function that returns a server; one of each setting is started."""
    with ExitStack() as servers:
        yield cache(lambda setting: servers.enter_context(pam_server(tmp_path_factory.mktemp("pam"), keys, setting)))


@pytest.fixture(autouse=True)
def _no_code_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totp, "_SENT", {})


def config_at(  # noqa: PLR0913 - what a login differs by
    server: PamServer,
    folder: Path,
    kind: Kind,
    auth: Auth,
    prompts: Sequence[Prompt] = (),
    *,
    user: str = "load",
    password: str = PASSWORD,
) -> RunConfig:
    (folder / "password").write_text(password)
    (folder / "totp").write_text(base64.b32encode(TOTP_SECRET).decode())
    target = Endpoint(
        host="127.0.0.1",
        port=server.port,
        user=user,
        auth=auth,
        private_key_path=str(server.keys.user),
        certificate_path="",
        passphrase_path="",
        password_path=str(folder / "password"),
        known_hosts_path=str(server.known_hosts),
        totp_path=str(folder / "totp"),
    )
    config = run_config(target, arrivals(1, 1))
    return replace(config, client=replace(kind.client(), prompts=tuple(prompts)))


def login_only(config: RunConfig) -> Counted:
    return run_once(replace(config, scenario=scenario()))


def parts(done: Counted) -> list[str]:
    return sorted(step for step in done.steps if step.startswith("auth."))


@every_kind_in_the_process
def test_a_key_and_then_a_code_log_in_and_each_part_is_timed(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(ONLY_CODE, (Account("load"), Account(f"k-{kind}")), KEY_THEN_PROMPTS))
    done = run_once(config_at(server, tmp_path, kind, Auth.PUBLICKEY, [CODE], user=f"k-{kind}"))
    assert done.outcome is Outcome.OK, done
    assert parts(done) == ["auth.keyboardInteractive", "auth.prompt1", "auth.publickey", "auth.verdict"]
    server.await_log(rf"^Accepted keyboard-interactive/pam for k-{kind} ")
    assert len(re.findall(rf"^Partial publickey for k-{kind} ", server.log, re.MULTILINE)) == 1


@every_kind_in_the_process
def test_a_password_and_a_code_are_answered_each_at_its_prompt(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(PASSWORD_AND_CODE, (Account("load"), Account(f"p-{kind}"))))
    config = config_at(server, tmp_path, kind, Auth.KEYBOARD_INTERACTIVE, [CODE, BY_PASSWORD], user=f"p-{kind}")
    done = run_once(config)
    assert done.outcome is Outcome.OK, done
    assert parts(done) == ["auth.keyboardInteractive", "auth.prompt1", "auth.prompt2", "auth.verdict"]


@every_kind_in_the_process
def test_prompts_come_after_a_password_too(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(ONLY_PASSWORD, directives=PASSWORD_THEN_PROMPTS))
    done = run_once(config_at(server, tmp_path, kind, Auth.PASSWORD, [BY_PASSWORD]))
    assert done.outcome is Outcome.OK, done
    assert parts(done) == ["auth.keyboardInteractive", "auth.password", "auth.prompt1", "auth.verdict"]


@every_kind_in_the_process
def test_a_code_that_was_sent_before_is_refused_and_named(
    start: Start, tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(PamSetting(ONLY_CODE, (Account("load"), Account(f"r-{kind}")), KEY_THEN_PROMPTS))
    now_s = totp.time()
    monkeypatch.setattr(totp.SecondFactor, "take", lambda self: _taken_at(self, now_s))
    config = config_at(server, tmp_path, kind, Auth.PUBLICKEY, [CODE], user=f"r-{kind}")
    assert run_once(config).outcome is Outcome.OK
    done = run_once(config)
    assert (done.outcome, done.failed_step) == (Outcome.SECOND_FACTOR_REUSED, "auth"), done
    assert done.message == (
        "the server refused a code that this worker had sent before as this user: a code lasts 30 s and is taken once"
    )
    assert done.steps["auth.publickey"] is Outcome.OK
    assert done.steps["auth.verdict"] is done.steps["auth.keyboardInteractive"] is Outcome.SECOND_FACTOR_REUSED


_TAKE = totp.SecondFactor.take


def _taken_at(second_factor: totp.SecondFactor, now_s: float) -> tuple[str, bool]:
    return _TAKE(replace(second_factor, now=lambda: now_s))


@every_kind_in_the_process
def test_a_prompt_that_nothing_matches_is_named_and_gets_no_answer(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(PASSWORD_AND_CODE, (Account("load"), Account(f"u-{kind}"))))
    config = config_at(server, tmp_path, kind, Auth.KEYBOARD_INTERACTIVE, [BY_PASSWORD], user=f"u-{kind}")
    done = run_once(config)
    assert (done.outcome, done.failed_step) == (Outcome.PROMPT_UNEXPECTED, "auth"), done
    assert done.message.startswith(f'the server asks "One-time password (OATH) for `u-{kind}\':", and no entry of')
    assert not re.search(f"(Failed|Accepted) keyboard-interactive/pam for u-{kind}", server.log)


@every_kind_in_the_process
def test_a_wrong_code_is_rejected_with_what_to_compare(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(ONLY_CODE, (Account("load"), Account(f"w-{kind}")), KEY_THEN_PROMPTS))
    config = config_at(server, tmp_path, kind, Auth.PUBLICKEY, [CODE], user=f"w-{kind}")
    (tmp_path / "totp").write_text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    done = run_once(config)
    assert (done.outcome, done.failed_step) == (Outcome.AUTH_REJECTED, "auth"), done
    assert done.message.startswith("the server accepted publickey and refused keyboard-interactive")
    assert "compare the TOTP secret" in done.message


@every_kind_in_the_process
@pytest.mark.parametrize("auth", METHODS, ids=str)
def test_an_expired_account_is_told_with_the_server_s_words(
    start: Start, tmp_path: Path, kind: Kind, auth: Auth
) -> None:
    done = login_only(config_at(start(PamSetting(accounts=ACCOUNTS)), tmp_path, kind, auth, user="expired"))
    assert (done.outcome, done.failed_step) == (Outcome.ACCOUNT_EXPIRED, "auth"), done
    assert "Your account has expired; please contact your system administrator." in done.message


@every_kind_in_the_process
def test_a_password_that_has_expired_is_told_and_no_answer_is_given(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(accounts=ACCOUNTS))
    config = config_at(server, tmp_path, kind, Auth.KEYBOARD_INTERACTIVE, [BY_PASSWORD], user="to-change")
    done = login_only(config)
    assert (done.outcome, done.failed_step) == (Outcome.PASSWORD_EXPIRED, "auth"), done
    assert "You are required to change your password immediately" in done.message


@every_kind_in_the_process
@pytest.mark.parametrize("auth", METHODS, ids=str)
def test_nologin_is_told_with_its_text(start: Start, tmp_path: Path, kind: Kind, auth: Auth) -> None:
    server = start(PamSetting(accounts=(*ACCOUNTS, Account("nologin-tests"))))
    (server.etc / "nologin").write_text("not permitted to log in until the fans are back\n")
    done = login_only(config_at(server, tmp_path, kind, auth))
    assert (done.outcome, done.failed_step) == (Outcome.NO_LOGIN, "auth"), done
    assert "not permitted to log in until the fans are back" in done.message


@every_kind_in_the_process
def test_an_account_that_faillock_has_locked_is_told_with_its_words(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(WITH_FAILLOCK, ACCOUNTS))
    user = f"locked{KINDS_IN_THE_PROCESS.index(kind)}"
    _lock(server, user)
    done = login_only(config_at(server, tmp_path, kind, Auth.KEYBOARD_INTERACTIVE, user=user))
    assert (done.outcome, done.failed_step) == (Outcome.ACCOUNT_LOCKED, "auth"), done
    assert "account is locked due to" in done.message


def _lock(server: PamServer, user: str) -> None:
    folder = server.run / "faillock"
    folder.mkdir(exist_ok=True)
    record = struct.pack("=52sHHQ", b"ssh", 0, 1 | 2, int(time.time()))
    (folder / user).write_bytes(record)


@every_kind_in_the_process
def test_too_many_logins_of_one_user_are_told(start: Start, tmp_path: Path, kind: Kind) -> None:
    server = start(PamSetting(accounts=(Account("load"),), limits="load hard maxlogins 0\n"))
    done = run_once(config_at(server, tmp_path, kind, Auth.PUBLICKEY))
    assert (done.outcome, done.failed_step) == (Outcome.TOO_MANY_LOGINS, "command"), done
    assert "There were too many logins for 'load'." in done.message


def test_a_plain_login_has_no_timings_of_its_parts(start: Start, tmp_path: Path) -> None:
    done = run_once(config_at(start(PamSetting(accounts=ACCOUNTS)), tmp_path, SSH2_PYTHON, Auth.PUBLICKEY))
    assert done.outcome is Outcome.OK, done
    assert parts(done) == []
