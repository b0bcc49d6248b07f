"""parse: the values of a spec that says everything about a managed target, its clients, its load and its workers."""

from dataclasses import replace

from specs.gateway import MANAGED_GATEWAY
from specs.managed import MANAGED_ARRIVALS, MANAGED_PERMITTED
from specs.small import SMALL
from specs.spec import changed
from sshload_contract.client import Timeouts
from sshload_contract.gateway_policy import PolicyName
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage
from sshload_contract.steps import ExecStep, SleepStep
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, ThroughputThreshold
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture, RevokedKeys
from sshload_gateway.config import PoolConfig, read_config
from sshload_operator.api.load_test import parse
from sshload_operator.api.pods import (
    ClaimVolume,
    ConfigMapKeyRef,
    ConfigMapVolume,
    EmptyDirVolume,
    SecretVolume,
    ValueFrom,
    Variable,
    Volume,
)
from sshload_operator.api.spec import TimeToLive
from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.api.targets.fixtures import Fixtures
from sshload_operator.api.targets.managed_gateway import ManagedGateway
from sshload_operator.api.targets.proxy import Proxy, ProxyKind
from sshload_operator.manifests.gateway import GatewayPlaces, gateway_config


def test_every_field_of_a_managed_target_reaches_its_value() -> None:
    target = parse(MANAGED_PERMITTED).target
    written = MANAGED_PERMITTED["target"]["managed"]
    assert target == ManagedTarget(
        image=written["image"],
        image_pull_secrets=("pull", "pull.too"),
        resources=written["resources"],
        node_selector=written["nodeSelector"],
        tolerations=tuple(written["tolerations"]),
        affinity=written["affinity"],
        topology_spread_constraints=tuple(written["topologySpreadConstraints"]),
        priority_class_name="high",
        env=(
            Variable("STAGE", "production", None),
            Variable("empty", "", None),
            Variable("REGION", None, ValueFrom(ConfigMapKeyRef("settings", "region"))),
        ),
        labels=written["labels"],
        annotations=written["annotations"],
        service_account_name="load",
        runtime_class_name="gvisor",
        volumes=(
            Volume("/mnt/settings", read_only=False, source=ConfigMapVolume("settings")),
            Volume("/mnt/login", read_only=True, source=SecretVolume("login")),
            Volume("/mnt/data/in", read_only=True, source=ClaimVolume("data")),
            Volume("/mnt/data/out", read_only=False, source=EmptyDirVolume(2**30)),
        ),
        proxy=Proxy(ProxyKind.HAPROXY, max_connections=100),
        gateway=None,
        system=None,
        sshd=Sshd(
            max_startups="10:30:100",
            max_sessions=10,
            per_source_max_startups="100",
            per_source_net_block_size="24:64",
            max_auth_tries=3,
            unused_connection_timeout_s=90,
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
            host_certificates=False,
            revoked_keys=RevokedKeys(users=0.125, others=3),
            extra_config={"ClientAliveInterval": "30", "IPQoS": "lowdelay throughput"},
        ),
        fixtures=Fixtures(
            files=(FileFixture("file-26k", 26 * 1024), FileFixture("sub/empty", 0)),
            directories=(DirectoryFixture("dir-10k", 10_000),),
            repositories=(RepositoryFixture("sub/project.git", 100, 1024**2),),
            spare_bytes=1024**3,
        ),
    )


def test_a_proxy_in_the_path_passes_on_5000_connections_unless_the_spec_says_otherwise() -> None:
    target = parse(changed(SMALL, "target.managed.proxy", {"kind": "haproxy"})).target
    assert isinstance(target, ManagedTarget)
    assert target.proxy == Proxy(ProxyKind.HAPROXY, 5_000)
    fewer = {"kind": "haproxy", "maxConnections": 500}
    target = parse(changed(SMALL, "target.managed.proxy", fewer)).target
    assert isinstance(target, ManagedTarget)
    assert target.proxy == Proxy(ProxyKind.HAPROXY, 500)


def test_a_gateway_has_the_limits_of_a_gateway_unless_the_spec_says_otherwise() -> None:
    target = parse(changed(MANAGED_GATEWAY, "target.managed.gateway", {"policy": "pool"})).target
    assert isinstance(target, ManagedTarget)
    assert target.gateway is not None
    places = GatewayPlaces("", 1, 2, 3, "host", 22, (), "/db", "/etc")
    named = gateway_config(target.gateway, places)
    assert read_config(named).pool == PoolConfig.model_validate(
        {"connections": 4, "connectionsPerHost": 4, "connectionsPerCredential": 4, "sessions": 100_000}
    )
    target = parse(MANAGED_GATEWAY).target
    assert isinstance(target, ManagedTarget)
    assert target.gateway == ManagedGateway(PolicyName.CONNECTION_PER_USER, 8, 20, 8)


def test_every_other_field_reaches_its_value() -> None:
    spec = parse(MANAGED_ARRIVALS)
    assert spec.client == replace(
        parse(SMALL).client,
        kex_algorithms=("curve25519-sha256",),
        ciphers=("aes128-gcm@openssh.com",),
        host_key_algorithms=("ssh-ed25519",),
        compression=True,
        window_bytes=8 * 1024**2,
        read_buffer_bytes=1024,
        sftp_read_bytes=256 * 1024,
        sftp_write_bytes=32_000,
        quick_ack=False,
        network_delay_s=0.0015,
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
    assert spec.workers.priority_class_name == "high"
