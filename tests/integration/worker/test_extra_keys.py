"""Keys that the server does not know, offered before the right one (client.extraKeys), by every client library."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from client_kinds import KINDS, Kind
from one_iteration import run_once
from run_configs import EXEC_TRUE, arrivals, endpoint, run_config, scenario
from ssh_server import SshServer
from sshload_contract.client import Auth
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import RunConfig

MAX_AUTH_TRIES = 4
each_way = pytest.mark.parametrize("auth", [Auth.PUBLICKEY, Auth.AGENT])
_WITH_EXTRA_KEYS = [kind for kind in KINDS if "extraKeys" not in kind.library.traits.lacks and not kind.control_master]
each_library = pytest.mark.parametrize("kind", _WITH_EXTRA_KEYS, ids=str)


def offering(server: SshServer, kind: Kind, auth: Auth, extra_keys: int) -> RunConfig:
    target = replace(endpoint(server), auth=auth)
    client = replace(kind.client(), extra_keys=extra_keys)
    return replace(run_config(target, arrivals(1, 1)), client=client, scenario=scenario(EXEC_TRUE))


@each_way
@each_library
def test_as_many_keys_as_max_auth_tries_leaves_room_for_are_offered_before_the_right_one(
    start_sshd: Callable[[str], SshServer], kind: Kind, auth: Auth
) -> None:
    server = start_sshd(f"LogLevel VERBOSE\nMaxAuthTries {MAX_AUTH_TRIES}")
    done = run_once(offering(server, kind, auth, MAX_AUTH_TRIES - 1))
    assert done.outcome is Outcome.OK, done
    server.await_log("^Accepted publickey for ")
    assert server.log.count("Failed publickey for ") == MAX_AUTH_TRIES - 1


@each_way
@each_library
def test_one_key_more_is_too_many_and_an_outcome_of_its_own(
    start_sshd: Callable[[str], SshServer], kind: Kind, auth: Auth
) -> None:
    server = start_sshd(f"LogLevel VERBOSE\nMaxAuthTries {MAX_AUTH_TRIES}")
    done = run_once(offering(server, kind, auth, MAX_AUTH_TRIES))
    assert (done.outcome, done.failed_step) == (Outcome.TOO_MANY_AUTH_FAILURES, "auth"), done
    assert "Too many authentication failures" in done.message
    server.await_log("maximum authentication attempts exceeded")
    assert server.accepted() == 0
