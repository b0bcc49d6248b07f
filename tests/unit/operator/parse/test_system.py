"""A target as its distribution has it: what of it can be asked for, and what it makes possible."""

from typing import Any

import plans
import pytest
from sshload_contract.wire.target import PamSwitches, TargetKerberos, TargetSystem
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.targets.system import System
from sshload_operator.manifests.target import sshd_config

AS_IT_IS = PamSwitches(*[None] * 10)


def system(**written: Any) -> System:
    managed = parse(plans.quickstart(target={"managed": {"system": written}})).managed
    assert managed is not None
    assert managed.system is not None
    return managed.system


def test_by_default_there_is_one_user_and_the_stack_of_the_distribution() -> None:
    found = system()
    assert (found.users, found.pam, found.max_logins, found.user_namespace) == (1, AS_IT_IS, None, True)


def test_every_field_reaches_the_target() -> None:
    asked = system(users=5000, pam={"motd": False, "limits": True}, maxLogins=4, userNamespace=False)
    assert asked.user_namespace is False
    assert (asked.wire.pam.motd, asked.wire.pam.limits, asked.wire.pam.env) == (False, True, None)
    assert asked.wire == TargetSystem(users=5000, pam=asked.pam, max_logins=4)


def test_a_realm_of_the_targets_own_reaches_it() -> None:
    assert system(kerberos={"ticketLifetime": "1m"}).wire.kerberos == TargetKerberos(ticket_s=60)
    assert system(kerberos={}).wire.kerberos == TargetKerberos(ticket_s=36_000)


@pytest.mark.parametrize("auth", ["password", "keyboard-interactive"])
def test_users_with_a_password_log_in_by_it(auth: str) -> None:
    spec = plans.quickstart(target={"managed": {"system": {}}}, client={"auth": auth})
    assert parse(spec).auth == auth
    with pytest.raises(SpecError, match=r"unless it has target\.managed\.system"):
        parse(plans.quickstart(target={"managed": {}}, client={"auth": auth}))


@pytest.mark.parametrize("users", [0, 100_001])
def test_there_is_at_least_one_user_and_at_most_100_000(users: int) -> None:
    with pytest.raises(SpecError, match="100000"):
        system(users=users)


def test_sshd_uses_pam_and_lets_in_only_accounts_of_the_run() -> None:
    managed = parse(plans.quickstart(target={"managed": {"system": {"pam": {"lastlog": False}}}})).managed
    assert managed is not None
    lines = sshd_config(managed, "ignored").splitlines()
    assert {"AllowUsers user*", "UsePAM yes", "PasswordAuthentication yes", "PrintMotd no", "PrintLastLog no"} < {
        *lines
    }
