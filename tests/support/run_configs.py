"""RunConfigs for tests on loopback."""

from dataclasses import replace

from ssh_server import SshServer
from sshload_contract.run_config import (
    RUN_CONFIG_VERSION,
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    Client,
    Endpoint,
    ExecStep,
    Load,
    RunConfig,
    Timeouts,
)

LONG = 10.0
EXEC_TRUE = ExecStep(name="", command="true", expect_exit_code=0, expect_stdout="")


def endpoint(server: SshServer) -> Endpoint:
    """Return the server as a target, with the key that may log in and its host key known."""
    return Endpoint(
        host="127.0.0.1",
        port=server.port,
        user=server.user,
        private_key_path=str(server.keys.user),
        password_path="",
        known_hosts_path=str(server.known_hosts),
    )


def client(**timeouts_s: float) -> Client:
    """Return a client without preferences, whose timeouts are long but for those given."""
    patient = Timeouts(connect_s=LONG, banner_s=LONG, kex_s=LONG, auth_s=LONG, channel_s=LONG, step_s=LONG)
    return Client(
        library="ssh2-python",
        kex_algorithms=(),
        ciphers=(),
        macs=(),
        host_key_algorithms=(),
        quick_ack=True,
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


def run_config(target: Endpoint, load: Load, workers: int = 1) -> RunConfig:
    """Return a run of login and `true`."""
    return RunConfig(
        version=RUN_CONFIG_VERSION,
        run_id="test-run",
        namespace="tests",
        test="loopback",
        target=target,
        stats_url="",
        client=client(),
        steps=(EXEC_TRUE,),
        load=load,
        warm_up_s=0.0,
        workers=workers,
        workers_timeout_s=30.0,
        start_lead_s=0.2,
        drain_s=LONG,
        percentiles=(50.0, 90.0, 99.0),
    )
