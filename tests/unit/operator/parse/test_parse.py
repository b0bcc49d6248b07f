"""parse: what a spec means, and which field is wrong."""

import pytest
from specs import BAD, EXTERNAL_BURST, EXTERNAL_USERS, GOOD, MANAGED_ARRIVALS, SMALL, Bad, Spec, changed
from sshload_contract.run_config import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    Client,
    ExecStep,
    SleepStep,
    Timeouts,
    UsersLoad,
    UsersStage,
)
from sshload_contract.target_config import DirectoryFixture, FileFixture
from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse import check_name, parse
from sshload_operator.api.spec import (
    Auth,
    ErrorRateThreshold,
    ExternalTarget,
    LatencyThreshold,
    LoadTestSpec,
    ManagedTarget,
    Placement,
    Sshd,
    ThroughputThreshold,
    TimeToLive,
    Workers,
)

NO_PLACEMENT = Placement({}, {}, (), {}, (), "")


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in GOOD.items()])
def test_a_good_spec_is_accepted(spec: Spec) -> None:
    parse(spec)


@pytest.mark.parametrize("bad", [pytest.param(bad, id=name) for name, bad in BAD.items()])
def test_a_bad_spec_is_refused_by_the_path_of_the_field(bad: Bad) -> None:
    with pytest.raises(SpecError) as caught:
        parse(bad.spec)
    assert caught.value.path.startswith(bad.field)
    assert bad.says in str(caught.value)


def test_a_small_spec_has_the_defaults() -> None:
    assert parse(SMALL) == LoadTestSpec(
        target=ManagedTarget(
            image="",
            image_pull_secrets=(),
            placement=NO_PLACEMENT,
            sshd=Sshd(
                max_startups=None,
                max_sessions=None,
                per_source_max_startups=None,
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
                extra_config={},
            ),
            files=(),
            directories=(),
        ),
        client=Client(
            library="ssh2-python",
            kex_algorithms=(),
            ciphers=(),
            macs=(),
            host_key_algorithms=(),
            quick_ack=True,
            timeouts=Timeouts(connect_s=10, banner_s=10, kex_s=20, auth_s=20, channel_s=10, step_s=60),
        ),
        steps=(ExecStep(name="", command="uptime", expect_exit_code=0, expect_stdout=""),),
        load=ArrivalsLoad(
            stages=(ArrivalsStage(rate=20, duration_s=30),),
            process=ArrivalProcess.CONSTANT,
            max_in_flight=10_000,
            seed=1,
        ),
        warm_up_s=5,
        thresholds=(),
        workers=Workers(replicas=1, image="", image_pull_secrets=(), placement=NO_PLACEMENT),
        deadline_s=1800,
        start_timeout_s=120,
        time_to_live=TimeToLive(passed_s=None, failed_s=None),
        abort=False,
    )


def test_every_field_of_a_managed_target_reaches_its_value() -> None:
    target = parse(MANAGED_ARRIVALS).target
    written = MANAGED_ARRIVALS["target"]["managed"]
    assert target == ManagedTarget(
        image=written["image"],
        image_pull_secrets=("pull", "pull.too"),
        placement=Placement(
            resources=written["resources"],
            node_selector=written["nodeSelector"],
            tolerations=tuple(written["tolerations"]),
            affinity=written["affinity"],
            topology_spread_constraints=tuple(written["topologySpreadConstraints"]),
            priority_class_name="high",
        ),
        sshd=Sshd(
            max_startups="10:30:100",
            max_sessions=10,
            per_source_max_startups="100",
            per_source_penalties="authfail:5s noauth:1s",
            login_grace_time_s=120,
            use_dns=True,
            kex_algorithms=("curve25519-sha256",),
            ciphers=("aes128-gcm@openssh.com",),
            macs=("hmac-sha2-256-etm@openssh.com",),
            host_key_algorithms=("ssh-ed25519", "ecdsa-sha2-nistp256"),
            compression="delayed",
            rekey_limit="1G 1h",
            log_level="VERBOSE",
            sftp_subsystem="/usr/lib/openssh/sftp-server -l INFO",
            extra_config={"ClientAliveInterval": "30", "IPQoS": "lowdelay throughput"},
        ),
        files=(FileFixture("file-26k", 26 * 1024), FileFixture("sub/empty", 0)),
        directories=(DirectoryFixture("dir-10k", 10_000),),
    )


def test_every_other_field_reaches_its_value() -> None:
    spec = parse(MANAGED_ARRIVALS)
    assert spec.client == Client(
        library="ssh2-python",
        kex_algorithms=("curve25519-sha256",),
        ciphers=("aes128-gcm@openssh.com",),
        macs=(),
        host_key_algorithms=("ssh-ed25519",),
        quick_ack=False,
        timeouts=Timeouts(connect_s=1, banner_s=1.5, kex_s=2, auth_s=60, channel_s=0.5, step_s=3600),
    )
    assert spec.steps == (
        ExecStep("uptime", "uptime", 0, r"load (average)?:\s"),
        SleepStep(0.25),
        ExecStep("fail", "exit 3", 3, ""),
    )
    assert spec.load == ArrivalsLoad(
        (ArrivalsStage(0.5, 30), ArrivalsStage(90, 90)), ArrivalProcess.POISSON, max_in_flight=500, seed=42
    )
    assert spec.thresholds == (
        LatencyThreshold("total", 99.9, 2),
        LatencyThreshold("uptime.firstByte", 50, 0.15),
        ErrorRateThreshold(0.005),
        ThroughputThreshold(85.5),
    )
    assert (spec.warm_up_s, spec.deadline_s, spec.start_timeout_s) == (10, 600, 60)
    assert spec.time_to_live == TimeToLive(passed_s=3600, failed_s=86_400)
    assert spec.workers.replicas == 3
    assert spec.workers.placement.priority_class_name == "high"


def test_an_external_target_carries_how_the_client_logs_in() -> None:
    spec = parse(EXTERNAL_USERS)
    assert spec.target == ExternalTarget(
        host="bastion.example.com",
        port=2222,
        user="probe",
        credentials_secret="bastion-credentials",
        encrypted_key=False,
        known_hosts_secret="bastion-known-hosts",
        insecure_ignore_host_key=False,
        auth=Auth.PASSWORD,
    )
    assert spec.load == UsersLoad((UsersStage(50, 30), UsersStage(10, 10)), 12.5, 1, 2.5)


def test_an_external_target_listens_on_22_and_takes_a_key() -> None:
    spec = parse(EXTERNAL_BURST)
    assert isinstance(spec.target, ExternalTarget)
    assert (spec.target.port, spec.target.auth, spec.target.known_hosts_secret) == (22, Auth.PUBLICKEY, "")
    assert spec.load == BurstLoad(connections=500, repeat=10, interval_s=30)
    assert spec.steps == ()


def test_what_the_api_server_completes_means_what_was_written() -> None:
    completed = changed(SMALL, "client", {"auth": "publickey", "quickAck": True, "timeouts": {"step": "1m"}})
    assert parse(completed) == parse(SMALL)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_of_a_file_must_be_finite(value: float) -> None:
    with pytest.raises(SpecError, match="must be a finite number"):
        parse(changed(SMALL, "load.arrivals.stages.0.rate", value))


def test_a_key_of_a_file_must_be_a_string() -> None:
    with pytest.raises(SpecError, match=r"spec.target: has the key 1, which is no string"):
        parse({**SMALL, "target": {1: {}}})


def test_the_whole_spec_must_be_an_object() -> None:
    with pytest.raises(SpecError, match="spec: must be an object, not a list"):
        parse([])  # type: ignore[arg-type] - what a file may hold


@pytest.mark.parametrize("name", ["a", "a" * 40, "a-1"])
def test_a_name_of_at_most_forty_characters_passes(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "a" * 41, "a.b", "1a", "a-", "A", "a\n"])
def test_a_name_that_the_names_of_pods_cannot_be_made_from_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match=r"metadata\.name: is"):
        check_name(name)
