"""parse: what a spec means, and which field is wrong."""

from dataclasses import replace
from hashlib import sha256
from typing import get_args

import pytest
from specs.bad import Bad
from specs.external import EXTERNAL_BURST, EXTERNAL_HOLD, EXTERNAL_USERS
from specs.managed import LOCUSTFILE, MANAGED_ARRIVALS, MANAGED_STEPS
from specs.relative import RELATIVE
from specs.search import SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS
from specs.small import SMALL
from specs.spec import Spec, changed
from specs.tables import BAD, GOOD
from sshload_contract.capacity import Capacity, load_at
from sshload_contract.load import (
    ArrivalProcess,
    ArrivalsLoad,
    ArrivalsStage,
    BurstLoad,
    HoldLoad,
    UsersLoad,
    UsersStage,
)
from sshload_contract.run_config import (
    Auth,
    Client,
    ExecStep,
    ForwardStep,
    GitUploadPackStep,
    Library,
    Scenario,
    ScenarioStep,
    ScpReadStep,
    ScpWriteStep,
    SessionReuse,
    SftpListStep,
    SftpMkdirStep,
    SftpReadStep,
    SftpRemoveStep,
    SftpRenameStep,
    SftpRmdirStep,
    SftpStatStep,
    SftpWriteStep,
    ShellStep,
    SleepStep,
    Timeouts,
    Verify,
)
from sshload_contract.target_config import DirectoryFixture, FileFixture, RepositoryFixture
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, ThroughputThreshold
from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse import check_name, parse
from sshload_operator.api.spec import (
    Baseline,
    CapacityThreshold,
    ExternalTarget,
    LoadTestSpec,
    LocustfileRef,
    ManagedTarget,
    Placement,
    RelativeCapacity,
    RelativeLatency,
    RelativeThroughput,
    Sshd,
    TimeToLive,
    Workers,
)

EMPTY_SHA256 = sha256().hexdigest()
NO_PLACEMENT = Placement({}, {}, (), {}, (), "")
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
    timeouts=Timeouts(connect_s=10, banner_s=10, kex_s=20, auth_s=20, channel_s=10, step_s=60),
)


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
            repositories=(),
            spare_bytes=256 * 1024**2,
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
        capacity=None,
        warm_up_s=5,
        thresholds=(),
        capacity_thresholds=(),
        relative_thresholds=(),
        baseline=None,
        workers=Workers(replicas=1, processes_per_pod=None, image="", image_pull_secrets=(), placement=NO_PLACEMENT),
        deadline_s=1800,
        start_timeout_s=120,
        time_to_live=TimeToLive(passed_s=None, failed_s=None),
        triggers={},
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
        repositories=(RepositoryFixture("sub/project.git", 100, 1024**2),),
        spare_bytes=1024**3,
    )


def test_every_other_field_reaches_its_value() -> None:
    spec = parse(MANAGED_ARRIVALS)
    assert spec.client == replace(
        PLAIN_CLIENT,
        kex_algorithms=("curve25519-sha256",),
        ciphers=("aes128-gcm@openssh.com",),
        host_key_algorithms=("ssh-ed25519",),
        compression=True,
        window_bytes=8 * 1024**2,
        read_buffer_bytes=1024,
        sftp_read_bytes=256 * 1024,
        sftp_write_bytes=32_000,
        quick_ack=False,
        timeouts=Timeouts(connect_s=1, banner_s=1.5, kex_s=2, auth_s=60, channel_s=0.5, step_s=3600),
    )
    assert spec.scenario.steps == (
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
    assert (spec.workers.replicas, spec.workers.processes_per_pod) == (3, 2)
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
    assert spec.scenario.steps == ()


def test_every_kind_of_step_reaches_its_value() -> None:
    spec = parse(MANAGED_STEPS)
    assert spec.scenario == Scenario(
        session_reuse=SessionReuse.USER,
        pool_sessions=0,
        locustfile_path="",
        steps=(
            ExecStep("run", "true", 0, ""),
            SftpReadStep("get", "a", expect_bytes=0, expect_sha256=EMPTY_SHA256),
            SftpWriteStep("put", "b-{iteration}", 11 * 1024**2, Verify.CONTENT),
            SftpListStep("ls", ".", expect_entries=3),
            SftpStatStep("stat", "b-{iteration}"),
            SftpMkdirStep("mkdir", "d"),
            SftpRmdirStep("rmdir", "d"),
            SftpRenameStep("mv", "b-{iteration}", "c-{iteration}"),
            SftpRemoveStep("rm", "c-{iteration}"),
            ScpReadStep("scp-get", "a", expect_bytes=1000, expect_sha256=EMPTY_SHA256),
            ScpWriteStep("scp-put", "e", 1, Verify.SIZE),
            ShellStep("type", "cat", ready="$ ", send="é\n", expect="é", repeat=10),
            ForwardStep("tunnel", "localhost", 7, send="x", expect="x"),
            GitUploadPackStep("clone", "sub/project.git"),
            SleepStep(1),
        ),
    )
    assert set(map(type, spec.scenario.steps)) == set(get_args(ScenarioStep))
    assert spec.auth is Auth.CERTIFICATE
    assert spec.client == replace(
        PLAIN_CLIENT,
        library=Library.PARAMIKO,
        rekey_bytes=1024**3,
        window_bytes=2 * 1024**2,
        packet_bytes=32 * 1024,
    )


@pytest.mark.parametrize(
    ("kind", "written", "step"),
    [
        ("sftpRead", {"path": "a"}, SftpReadStep("", "a", None, "")),
        ("sftpWrite", {"path": "a", "size": 1}, SftpWriteStep("", "a", 1, Verify.NONE)),
        ("sftpList", {"path": "a"}, SftpListStep("", "a", None)),
        ("shell", {"send": "a", "expect": "b"}, ShellStep("", "", "", "a", "b", 1)),
        ("forward", {"host": "::1", "port": 1}, ForwardStep("", "::1", 1, "", "")),
    ],
)
def test_a_step_has_its_defaults(kind: str, written: Spec, step: ScenarioStep) -> None:
    assert parse(changed(SMALL, "scenario.steps.0", {kind: written})).scenario.steps == (step,)


def test_jump_hosts_a_pool_and_held_sessions_reach_their_values() -> None:
    spec = parse(EXTERNAL_HOLD)
    assert isinstance(spec.target, ExternalTarget)
    assert (spec.target.auth, spec.target.encrypted_key) == (Auth.AGENT, True)
    assert spec.via == (
        ExternalTarget(
            host="bastion.example.com",
            port=2222,
            user="jump",
            credentials_secret="bastion-credentials",
            encrypted_key=False,
            known_hosts_secret="hosts",
            insecure_ignore_host_key=False,
            auth=Auth.KEYBOARD_INTERACTIVE,
        ),
        ExternalTarget(
            host="192.0.2.7",
            port=22,
            user="jump",
            credentials_secret="second",
            encrypted_key=True,
            known_hosts_secret="",
            insecure_ignore_host_key=True,
            auth=Auth.CERTIFICATE,
        ),
    )
    assert (spec.scenario.session_reuse, spec.scenario.pool_sessions) == (SessionReuse.POOL, 8)
    assert spec.load == HoldLoad(sessions=1000, ramp_up_s=60, duration_s=120, keep_alive_s=0, probe_rate=0.5)


def test_a_hold_asks_for_signs_of_life_and_probes_by_default() -> None:
    spec = parse(changed(SMALL, "load", {"hold": {"sessions": 1, "rampUp": "0s", "duration": "1s"}}))
    assert spec.load == HoldLoad(sessions=1, ramp_up_s=0, duration_s=1, keep_alive_s=30, probe_rate=1)


def test_a_search_begins_with_the_least_load() -> None:
    spec = parse(SEARCH_ARRIVALS)
    assert spec.load == ArrivalsLoad((ArrivalsStage(10, 30),), ArrivalProcess.POISSON, max_in_flight=900, seed=7)
    assert spec.capacity == Capacity(least=10, most=500.5, precision=0.025, confirm=1, budget_s=1800 - 120 - 90)
    assert spec.warm_up_s == 2


def test_a_search_for_users_sessions_or_a_burst_has_the_rest_of_its_load() -> None:
    assert parse(SEARCH_USERS).load == UsersLoad((UsersStage(1, 20),), 50, 1, 2)
    assert parse(SEARCH_BURST).load == BurstLoad(connections=50, repeat=3, interval_s=10)
    assert parse(SEARCH_HOLD).load == HoldLoad(
        sessions=100, ramp_up_s=5, duration_s=60, keep_alive_s=15, probe_rate=2.5
    )


def test_held_sessions_log_in_at_the_rate_that_is_asked_for_however_many_they_are() -> None:
    most = load_at(parse(SEARCH_HOLD).load, 5000)
    assert isinstance(most, HoldLoad)
    assert most.sessions / most.ramp_up_s == 20


def test_a_search_is_to_five_percent_and_confirmed_twice_by_default() -> None:
    capacity = parse(SEARCH_USERS).capacity
    assert capacity is not None
    assert (capacity.precision, capacity.confirm) == (0.05, 2)


def test_thresholds_are_told_apart_by_what_they_are_held_against() -> None:
    search, relative = parse(SEARCH_ARRIVALS), parse(RELATIVE)
    assert search.thresholds == (LatencyThreshold("login", 95, 0.25), ErrorRateThreshold(0.01))
    assert search.capacity_thresholds == (CapacityThreshold(100),)
    assert search.relative_thresholds == (RelativeCapacity(0.1),)
    assert relative.thresholds == (ErrorRateThreshold(0.01),)
    assert relative.relative_thresholds == (RelativeLatency("total", 95, 0.1), RelativeThroughput(0.025))


def test_a_baseline_is_a_test_or_the_last_that_passed() -> None:
    assert parse(RELATIVE).baseline == Baseline("last-week")
    assert parse(SEARCH_ARRIVALS).baseline == Baseline("")


def test_a_locustfile_stands_in_for_steps() -> None:
    spec = parse(LOCUSTFILE)
    assert spec.locustfile == LocustfileRef(config_map="mixed", key="mixed.py")
    assert spec.scenario == Scenario(SessionReuse.NONE, pool_sessions=0, steps=(), locustfile_path="")
    assert (spec.client.library, spec.client.control_master) == (Library.OPENSSH, True)


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
