"""parse: what a spec means that leaves almost everything out."""

from typing import Any

import pytest
from specs.small import SMALL
from specs.spec import changed
from sshload_contract.client import Auth, Client, Library, Timeouts
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage
from sshload_contract.steps import ExecStep
from sshload_contract.wire.run_config import Scenario, SessionReuse
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.spec import LoadTestSpec, TimeToLive, Workers
from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.api.targets.fixtures import Fixtures

PLAIN_PODS: dict[str, Any] = {
    "resources": {},
    "node_selector": {},
    "tolerations": (),
    "affinity": {},
    "topology_spread_constraints": (),
    "priority_class_name": "",
    "image": "",
    "image_pull_secrets": (),
    "env": (),
    "labels": {},
    "annotations": {},
    "service_account_name": "",
    "runtime_class_name": "",
    "volumes": (),
}
PLAIN_CLIENT = Client(
    library=Library.SSH2_PYTHON,
    control_master=False,
    kex_algorithms=(),
    ciphers=(),
    macs=(),
    host_key_algorithms=(),
    compression=False,
    rekey_bytes=None,
    window_bytes=None,
    packet_bytes=None,
    read_buffer_bytes=None,
    sftp_read_bytes=None,
    sftp_write_bytes=None,
    quick_ack=True,
    network_delay_s=0,
    timeouts=Timeouts(connect_s=10, banner_s=10, kex_s=20, auth_s=20, channel_s=10, step_s=60),
)


def test_a_small_spec_has_the_defaults() -> None:
    assert parse(SMALL) == LoadTestSpec(
        target=ManagedTarget(
            **PLAIN_PODS,
            sshd=Sshd(
                max_startups=None,
                max_sessions=None,
                per_source_max_startups=None,
                per_source_net_block_size=None,
                max_auth_tries=None,
                unused_connection_timeout_s=None,
                per_source_penalties="no",
                login_grace_time_s=None,
                use_dns=None,
                kex_algorithms=(),
                ciphers=(),
                macs=(),
                host_key_algorithms=(),
                compression=None,
                rekey_limit=None,
                log_level="INFO",
                sftp_subsystem="internal-sftp",
                host_certificates=False,
                revoked_keys=None,
                extra_config={},
            ),
            fixtures=Fixtures((), (), (), spare_bytes=256 * 1024**2),
            proxy=None,
            gateway=None,
            system=None,
        ),
        via=(),
        auth=Auth.PUBLICKEY,
        client=PLAIN_CLIENT,
        scenario=Scenario(
            session_reuse=SessionReuse.NONE,
            pool_sessions=0,
            steps=(ExecStep(name="", command="uptime", expect_exit_code=0, expect_stdout=""),),
            locustfile_path="",
        ),
        locustfile=None,
        load=ArrivalsLoad(
            stages=(ArrivalsStage(rate=20, duration_s=30),),
            process=ArrivalProcess.CONSTANT,
            max_in_flight=10_000,
            seed=1,
        ),
        warm_up_s=5,
        thresholds=(),
        capacity_thresholds=(),
        relative_thresholds=(),
        baseline=None,
        workers=Workers(**PLAIN_PODS, replicas=1, processes_per_pod=None),
        deadline_s=1800,
        start_timeout_s=120,
        time_to_live=TimeToLive(passed_s=None, failed_s=None),
        triggers={},
        abort=False,
        suspend=False,
    )


def test_what_the_api_server_completes_means_what_was_written() -> None:
    completed = changed(SMALL, "client", {"auth": "publickey", "quickAck": True, "timeouts": {"step": "1m"}})
    assert parse(completed) == parse(SMALL)


@pytest.mark.parametrize("field", ["unknown", "scenario.unknown", "load.arrivals.stages.0.unknown"])
def test_an_unknown_field_without_a_value_is_unknown_too(field: str) -> None:
    """It is a misspelt one, of which YAML makes null where nothing stands behind it."""
    with pytest.raises(SpecError, match=r"unknown: unknown field"):
        parse(changed(SMALL, field, None))
