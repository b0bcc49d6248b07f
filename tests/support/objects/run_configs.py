"""RunConfigs for tests on loopback."""

from dataclasses import replace
from pathlib import Path

from ssh_server import SshServer
from sshload_contract.client import Auth, Client, Library, Timeouts
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    Load,
    Search,
    ThinkTime,
    UsersLoad,
    UsersStage,
)
from sshload_contract.steps import ExecStep, ScenarioStep
from sshload_contract.wire.run_config import (
    Endpoint,
    GatewayEndpoint,
    RunConfig,
    Scenario,
    SessionReuse,
)

LONG = 30.0
TOKEN_PATH = Path(__file__).parent / "specs/run_token"
TOKEN = TOKEN_PATH.read_text(encoding="ascii").strip()
NOWHERE = Endpoint(
    host="",
    port=22,
    user="",
    auth=Auth.PUBLICKEY,
    private_key_path="",
    certificate_path="",
    passphrase_path="",
    password_path="",
    known_hosts_path="",
)
EXEC_TRUE = ExecStep(name="", command="true", expect_exit_code=0, expect_stdout="")


def endpoint(server: SshServer) -> Endpoint:
    """Return the server as a target, with the key that may log in and its host key known."""
    return Endpoint(
        host="127.0.0.1",
        port=server.port,
        user=server.user,
        auth=Auth.PUBLICKEY,
        private_key_path=str(server.keys.user),
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path=str(server.known_hosts),
    )


def client(**timeouts_s: float) -> Client:
    """Return a client without preferences, whose timeouts are long but for those given."""
    patient = Timeouts(connect_s=LONG, banner_s=LONG, kex_s=LONG, auth_s=LONG, channel_s=LONG, step_s=LONG)
    return Client(
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
        network_delay_s=0.0,
        timeouts=replace(patient, **timeouts_s),
    )


def arrivals(rate: float, seconds: float, max_in_flight: int = 100) -> ArrivalsLoad:
    """Return evenly spaced arrivals."""
    return ArrivalsLoad(
        stages=(ArrivalsStage(rate=rate, duration_s=seconds),),
        process=ArrivalProcess.CONSTANT,
        max_in_flight=max_in_flight,
        seed=1,
    )


def scenario(*steps: ScenarioStep) -> Scenario:
    """Return a scenario in which every iteration logs in and does these steps."""
    return Scenario(session_reuse=SessionReuse.NONE, pool_sessions=0, steps=steps, locustfile_path="")


def run_config(target: Endpoint | GatewayEndpoint, load: Load, workers: int = 1) -> RunConfig:
    """Return a run of login and `true`, without a login before the load: the server's count is the run's."""
    return RunConfig(
        run_id="test-run",
        token_path=str(TOKEN_PATH),
        namespace="tests",
        test="loopback",
        target=target,
        via=(),
        allow_list=None,
        stats_url="",
        client=client(),
        scenario=scenario(EXEC_TRUE),
        load=load,
        thresholds=(),
        warm_up_s=0.0,
        workers=workers,
        processes_per_pod=1,
        workers_timeout_s=300.0,
        start_lead_s=0.2,
        drain_s=LONG,
        percentiles=(50.0, 90.0, 99.0),
        log_in_first=False,
    )


def search_for(least: float, most: float, precision: float, confirm: int, *, whole: bool) -> Search:
    """Return a search for users, or for arrivals if their amount is not `whole`."""
    users = UsersLoad((UsersStage(round(least), 60),), 0, ThinkTime(0, 0))
    arrivals = ArrivalsLoad((ArrivalsStage(least, 60),), ArrivalProcess.CONSTANT, 10_000, 1)
    return Search(users if whole else arrivals, most, precision, confirm, budget_s=0)
