"""parse: the values of specs for servers that exist."""

from specs.external import EXTERNAL_BURST, EXTERNAL_HOLD, EXTERNAL_USERS
from sshload_contract.client import Auth
from sshload_contract.load import BurstLoad, HoldLoad, ThinkTime, UsersLoad, UsersStage
from sshload_contract.wire.run_config import SessionReuse
from sshload_operator.api.load_test import parse
from sshload_operator.api.targets.external import ExternalTarget, JumpHost


def test_an_external_target_carries_how_the_client_logs_in() -> None:
    spec = parse(EXTERNAL_USERS)
    assert spec.target == ExternalTarget(
        host="bastion.example.com",
        port=2222,
        user="probe",
        credentials_secret="bastion-credentials",
        encrypted_key=False,
        ticket_cache=False,
        known_hosts_secret="bastion-known-hosts",
        insecure_ignore_host_key=False,
        auth=Auth.PASSWORD,
        users=None,
        user_ca=None,
    )
    assert spec.load == UsersLoad((UsersStage(50, 30), UsersStage(10, 10)), 12.5, ThinkTime(1, 2.5))


def test_an_external_target_listens_on_22_and_takes_a_key() -> None:
    spec = parse(EXTERNAL_BURST)
    assert isinstance(spec.target, ExternalTarget)
    assert (spec.target.port, spec.target.auth, spec.target.known_hosts_secret) == (22, Auth.PUBLICKEY, "")
    assert spec.load == BurstLoad(connections=500, repeat=10, interval_s=30)
    assert spec.scenario.steps == ()


def test_jump_hosts_a_pool_and_held_sessions_reach_their_values() -> None:
    spec = parse(EXTERNAL_HOLD)
    assert isinstance(spec.target, ExternalTarget)
    assert (spec.target.auth, spec.target.encrypted_key) == (Auth.AGENT, True)
    assert spec.via == (
        JumpHost(
            host="bastion.example.com",
            port=2222,
            user="jump",
            credentials_secret="bastion-credentials",
            encrypted_key=False,
            ticket_cache=False,
            known_hosts_secret="hosts",
            insecure_ignore_host_key=False,
            auth=Auth.KEYBOARD_INTERACTIVE,
            users=None,
            user_ca=None,
        ),
        JumpHost(
            host="192.0.2.7",
            port=22,
            user="jump",
            credentials_secret="second",
            encrypted_key=True,
            ticket_cache=False,
            known_hosts_secret="",
            insecure_ignore_host_key=True,
            auth=Auth.CERTIFICATE,
            users=None,
            user_ca=None,
        ),
    )
    assert (spec.scenario.session_reuse, spec.scenario.pool_sessions) == (SessionReuse.POOL, 8)
    assert spec.load == HoldLoad(sessions=1000, ramp_up_s=60, duration_s=120, keep_alive_s=0, probe_rate=0.5)
