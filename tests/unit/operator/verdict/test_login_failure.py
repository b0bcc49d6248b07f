"""A login that failed before the load: its reason, where it was, what happened, and what to change."""

from dataclasses import replace

import pytest
from plans import EXTERNAL, plan, quickstart
from runs import load, summary
from specs.external import USERS_OF_A_SECRET
from specs.gateway import GATEWAY
from sshload_contract.vocabulary import Outcome, RunEnd, Verdict
from sshload_contract.wire.report import LoginFailure
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import Reason

AT_TARGET = LoginFailure(
    worker=0, jump_host=0, host="ssh.example.com", port=2222, outcome=Outcome.REFUSED, message="Connection refused"
)
AT_SECOND_JUMP_HOST = replace(AT_TARGET, jump_host=2, host="inner.example.com", port=22)
FROM_OUTSIDE = {"target": {"external": EXTERNAL}, "via": [EXTERNAL, EXTERNAL]}


def judged(failure: LoginFailure, *, managed: bool = False) -> Judgement:
    found = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.LOGIN_FAILED, login_failure=failure)
    return judge(plan(quickstart(**({} if managed else FROM_OUTSIDE))), found)


@pytest.mark.parametrize(
    ("outcome", "reason", "words"),
    [
        (None, Reason.TARGET_NAME_UNKNOWN, "has no address"),
        (Outcome.REFUSED, Reason.TARGET_UNREACHABLE, "refused the connection"),
        (Outcome.CONNECT_TIMEOUT, Reason.TARGET_UNREACHABLE, "spec.client.timeouts.connect"),
        (Outcome.CONNECT_FAILED, Reason.TARGET_UNREACHABLE, "the connection to"),
        (Outcome.BANNER_TIMEOUT, Reason.TARGET_UNREACHABLE, "spec.client.timeouts.banner"),
        (Outcome.RESET_BEFORE_BANNER, Reason.TARGET_UNREACHABLE, "closed the connection"),
        (Outcome.CHANNEL_REFUSED, Reason.TARGET_UNREACHABLE, "PermitOpen"),
        (Outcome.AUTH_REJECTED, Reason.CREDENTIALS_REJECTED, "spec.target.external.credentialsSecretRef"),
        (Outcome.CERTIFICATE_EXPIRED, Reason.CREDENTIALS_REJECTED, "spec.client.certificates.lifetime"),
        (Outcome.TOO_MANY_AUTH_FAILURES, Reason.CREDENTIALS_REJECTED, "below its MaxAuthTries"),
        (Outcome.HOST_KEY_MISMATCH, Reason.HOST_KEY_MISMATCH, "spec.target.external.knownHostsSecretRef"),
        (Outcome.NOT_SSH, Reason.LOGIN_FAILED, "does not speak SSH"),
        (Outcome.KEX_FAILED, Reason.LOGIN_FAILED, "algorithms of spec.client"),
        (Outcome.KEX_TIMEOUT, Reason.LOGIN_FAILED, "spec.client.timeouts.kex"),
        (Outcome.NO_TICKET, Reason.CREDENTIALS_REJECTED, "the keytab"),
        (Outcome.KDC_UNREACHABLE, Reason.LOGIN_FAILED, "spec.client.kerberos.realms"),
        (Outcome.AUTH_TIMEOUT, Reason.LOGIN_FAILED, "spec.client.timeouts.auth"),
        (Outcome.DISCONNECTED, Reason.LOGIN_FAILED, "Its log may say more"),
    ],
)
def test_each_outcome_has_a_reason_the_place_and_advice(outcome: Outcome | None, reason: Reason, words: str) -> None:
    judgement = judged(replace(AT_TARGET, outcome=outcome))
    assert (judgement.verdict, judgement.reason) == (Verdict.ERROR, reason)
    assert "the target (ssh.example.com port 2222)" in judgement.message
    assert "(Connection refused)" in judgement.message
    assert words in judgement.message


def test_what_happened_at_a_jump_host_is_told_of_that_one() -> None:
    message = judged(replace(AT_SECOND_JUMP_HOST, outcome=Outcome.AUTH_REJECTED)).message
    assert "jump host 2 (inner.example.com port 22) refused the credentials" in message
    assert "spec.via[1].credentialsSecretRef" in message


def test_of_a_managed_target_no_credentials_are_asked_for() -> None:
    message = judged(replace(AT_TARGET, outcome=Outcome.AUTH_REJECTED), managed=True).message
    assert "spec.target.managed" in message
    assert "SecretRef" not in message


def test_of_a_managed_target_whose_key_exchange_fails_its_algorithms_are_to_change_and_not_its_user() -> None:
    message = judged(replace(AT_TARGET, outcome=Outcome.KEX_FAILED), managed=True).message
    assert "Give spec.target.managed.sshd an algorithm that the client has" in message
    assert "its user" not in message
    assert "algorithm" not in judged(replace(AT_TARGET, outcome=Outcome.AUTH_REJECTED), managed=True).message


def test_of_a_managed_target_that_takes_too_few_keys_its_max_auth_tries_are_to_change() -> None:
    message = judged(replace(AT_TARGET, outcome=Outcome.TOO_MANY_AUTH_FAILURES), managed=True).message
    assert "Give spec.target.managed.sshd.maxAuthTries more than spec.client.extraKeys" in message


def test_a_jump_host_before_a_managed_target_is_not_what_the_run_made() -> None:
    found = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.LOGIN_FAILED)
    failure = replace(AT_SECOND_JUMP_HOST, jump_host=1, outcome=Outcome.AUTH_REJECTED)
    judgement = judge(plan(quickstart(via=[EXTERNAL])), replace(found, login_failure=failure))
    assert "jump host 1 (inner.example.com port 22) refused the credentials" in judgement.message
    assert judgement.message.endswith(
        "Check spec.via[0].user, spec.client.auth and the Secret of spec.via[0].credentialsSecretRef"
    )


@pytest.mark.parametrize(
    ("outcome", "reason", "words"),
    [
        (None, Reason.TARGET_NAME_UNKNOWN, "the name of the target (ssh.example.com port 2222) has no address"),
        (Outcome.AUTH_REJECTED, Reason.CREDENTIALS_REJECTED, "refused the token (Connection refused)"),
        (Outcome.TLS_FAILED, Reason.LOGIN_FAILED, "Compare spec.target.gateway.tls and spec.target.gateway.host"),
        (Outcome.CONNECT_TIMEOUT, Reason.TARGET_UNREACHABLE, "did not accept the connection in time"),
    ],
)
def test_what_a_gateway_answers_means_what_it_does_there_and_else_what_it_does_anywhere(
    outcome: Outcome | None, reason: Reason, words: str
) -> None:
    found = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.LOGIN_FAILED)
    judgement = judge(
        plan({**GATEWAY, "thresholds": []}), replace(found, login_failure=replace(AT_TARGET, outcome=outcome))
    )
    assert (judgement.verdict, judgement.reason) == (Verdict.ERROR, reason)
    assert words in judgement.message


def test_a_user_of_a_population_who_is_refused_is_looked_for_there() -> None:
    message = "the users of the target, line 3: permission denied"
    failure = replace(AT_TARGET, outcome=Outcome.AUTH_REJECTED, message=message)
    found = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.LOGIN_FAILED, login_failure=failure)
    said = judge(plan(quickstart(**USERS_OF_A_SECRET)), found).message
    assert message in said
    assert "Check this user of spec.client.users" in said
    assert "external.user" not in said
