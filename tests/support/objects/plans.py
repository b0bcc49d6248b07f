"""Plans from specs as they are written in YAML, with everything that identifies a run settled."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sshload_contract.allow_list import AllowedTarget, DeniedRange
from sshload_contract.wire.master_log import proof_sha256
from sshload_operator.api.load_test import parse
from sshload_operator.planning.installation import EVERYTHING_PERMITTED, Installation, Resolvers, RunPods
from sshload_operator.planning.plan import Plan, TestIdentity, processes_per_pod

TOKEN = "0f" * 32
PROOF_SHA256 = proof_sha256(TOKEN)
INSTALLATION = Installation(
    worker_image="registry.example.com/sshload-worker:1.2.3",
    target_image="registry.example.com/sshload-target:1.2.3",
    system_image="registry.example.com/sshload-system:1.2.3",
    proxy_image="registry.example.com/sshload-proxy:1.2.3",
    gateway_image="registry.example.com/sshload-gateway:1.2.3",
    image_pull_policy="IfNotPresent",
    image_pull_secrets=(),
    worker_resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
    external_targets=(),
    denied_ranges=(),
    permitted=EVERYTHING_PERMITTED,
    resolvers=Resolvers(peers=(), cidrs=(), ports=()),
    one_address=False,
    run_pods=RunPods(
        user_id=10_001,
        master_resources={"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        target_resources={"requests": {"cpu": "80m", "memory": "64Mi"}},
        proxy_resources={"requests": {"cpu": "40m", "memory": "64Mi"}},
        gateway_resources={"requests": {"cpu": "100m", "memory": "128Mi"}},
    ),
)

QUICKSTART: Mapping[str, Any] = {
    "target": {"managed": {}},
    "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
    "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}]}},
}
EXTERNAL: Mapping[str, Any] = {
    "host": "bastion.example.com",
    "user": "probe",
    "credentialsSecretRef": {"name": "credentials"},
    "knownHostsSecretRef": {"name": "hosts"},
}


def allowing(*targets: AllowedTarget, denied: tuple[DeniedRange, ...] = ()) -> Installation:
    """Return INSTALLATION with these allowed targets, and these ranges denied on top of the reserved ones."""
    return replace(INSTALLATION, external_targets=targets, denied_ranges=denied)


LISTING = allowing(
    AllowedTarget("*.example.com", (22, 2022)),
    AllowedTarget("192.0.2.0/24", (22, 2022)),
    AllowedTarget("10.244.7.0/24", (2022,)),
    denied=(DeniedRange("10.244.0.0/16", "the cluster's pods"), DeniedRange("fd00:96::/108", "the cluster's services")),
)
"""An installation that allows some external targets and denies the cluster's ranges."""


def plan(
    spec: Mapping[str, Any] | None = None,
    *,
    name: str = "quickstart",
    run_id: str = "a1b2c3d4e5",
    installation: Installation = INSTALLATION,
) -> Plan:
    """Return the plan of one run of `spec`; without one, of QUICKSTART."""
    parsed = parse(QUICKSTART if spec is None else spec)
    return Plan(
        test=TestIdentity("load-tests", name, "11111111-2222-3333-4444-555555555555", 1),
        run=1,
        run_id=run_id,
        spec=parsed,
        spec_hash="0" * 16,
        installation=installation,
        load_s=35.0,
        processes_per_pod=processes_per_pod(parsed.workers, installation.worker_resources),
    )


def quickstart(**changes: Any) -> dict[str, Any]:
    """Return QUICKSTART with other top-level fields."""
    return {**QUICKSTART, **changes}
