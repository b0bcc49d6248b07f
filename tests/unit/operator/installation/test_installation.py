"""read_installation: what the chart writes for the operator."""

import json
from pathlib import Path

import pytest
import yaml
from sshload_contract.allow_list import AllowedTarget, AllowList, DeniedRange
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.spec import PERMISSIONS
from sshload_operator.planning.installation import (
    Installation,
    Limits,
    LimitsOfTest,
    Resolvers,
    RunPods,
    read_installation,
)

CHART = Path(__file__).parents[4] / "charts/sshload"
WHOLE = """
workerImage: localhost/sshload-worker:1
targetImage: localhost/sshload-target:1
systemImage: localhost/sshload-system:1
proxyImage: localhost/sshload-proxy:1
gatewayImage: localhost/sshload-gateway:1
imagePullPolicy: Never
imagePullSecrets: [registry]
workerResources: {"requests": {"cpu": "1"}, "limits": {"cpu": 2}}
externalTargets:
  - host: "*.lab.example.com"
    ports: [22, 2222]
  - host: 192.0.2.0/24
    ports: [22]
deniedRanges:
  pods: [10.244.0.0/16]
  services: [10.96.0.0/12, "fd00:96::/108"]
  others: [10.0.0.0/8]
permitted: {customImages: false, locustfiles: false, forwardSteps: false, env: true}
dns:
  pods:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: openshift-dns}}
      podSelector: {}
  addresses: [10.96.0.10, 192.0.2.0/28]
  ports: [5353]
runPods:
  userId: null
  labels: {team: hpc}
  annotations: {note: "any text"}
  nodeSelector: {kubernetes.io/arch: amd64}
  tolerations: [{key: load, operator: Exists}]
  masterResources: {requests: {cpu: 20m}}
  targetResources: {requests: {cpu: 80m}}
  proxyResources: {requests: {cpu: 40m}}
  gatewayResources: {requests: {cpu: 100m}}
  networkPolicies: false
  extraEgress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]
"""
SMALL = "workerImage: w\ntargetImage: t\nsystemImage: s\nproxyImage: p\ngatewayImage: g\n"


def test_an_installation() -> None:
    assert read_installation(WHOLE) == Installation(
        worker_image="localhost/sshload-worker:1",
        target_image="localhost/sshload-target:1",
        system_image="localhost/sshload-system:1",
        proxy_image="localhost/sshload-proxy:1",
        gateway_image="localhost/sshload-gateway:1",
        image_pull_policy="Never",
        image_pull_secrets=("registry",),
        worker_resources={"requests": {"cpu": "1"}, "limits": {"cpu": 2}},
        external_targets=(AllowedTarget("*.lab.example.com", (22, 2222)), AllowedTarget("192.0.2.0/24", (22,))),
        denied_ranges=(
            DeniedRange("10.244.0.0/16", "the cluster's pods"),
            DeniedRange("10.96.0.0/12", "the cluster's services"),
            DeniedRange("fd00:96::/108", "the cluster's services"),
            DeniedRange("10.0.0.0/8", "denied by the installer"),
        ),
        permitted=frozenset({"env"}),
        resolvers=Resolvers(
            peers=(
                {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"}},
                    "podSelector": {},
                },
            ),
            cidrs=("10.96.0.10", "192.0.2.0/28"),
            ports=(5353,),
        ),
        one_address=False,
        run_pods=RunPods(
            user_id=None,
            labels={"team": "hpc"},
            annotations={"note": "any text"},
            node_selector={"kubernetes.io/arch": "amd64"},
            tolerations=({"key": "load", "operator": "Exists"},),
            master_resources={"requests": {"cpu": "20m"}},
            target_resources={"requests": {"cpu": "80m"}},
            proxy_resources={"requests": {"cpu": "40m"}},
            gateway_resources={"requests": {"cpu": "100m"}},
            network_policies=False,
            extra_egress=({"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},),
        ),
    )


def test_by_default_no_external_target_is_allowed() -> None:
    assert read_installation(SMALL).allow_list == AllowList((), ())
    assert read_installation(SMALL).image_pull_policy == "IfNotPresent"


def test_by_default_pods_run_as_the_images_own_user() -> None:
    assert read_installation(SMALL).run_pods == RunPods(user_id=10_001)


def test_what_is_permitted_by_default_is_images_locustfiles_and_forwards() -> None:
    assert read_installation(SMALL).permitted == {"customImages", "locustfiles", "forwardSteps"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("workerImage: w", "targetImage: is required", id="no-image"),
        pytest.param(SMALL + "extra: 1", "extra: unknown field", id="unknown-field"),
        pytest.param(
            SMALL + "externalTargets: [{host: 192.0.2.1/24, ports: [22]}]",
            r"externalTargets\[0\].host: .*host bits",
            id="cidr",
        ),
        pytest.param(
            SMALL + "externalTargets: [{host: lab, ports: [0]}]", r"externalTargets\[0\].ports\[0\]", id="port"
        ),
        pytest.param(
            SMALL + "externalTargets: [{host: lab}]", r"externalTargets\[0\].ports: is required", id="any-port"
        ),
        pytest.param(
            SMALL + "externalTargets: [{host: lab, ports: []}]", r"externalTargets\[0\].ports: .*from 1", id="no-port"
        ),
        pytest.param(
            SMALL + "externalTargets: [{host: 10.*.1, ports: [22]}]",
            r"externalTargets\[0\].host: .*neither an address nor a CIDR",
            id="numbers",
        ),
        pytest.param(SMALL + "deniedRanges: {pods: [10.0.0.0/4]}", r"deniedRanges.pods\[0\]: .*host bits", id="range"),
        pytest.param(SMALL + "deniedRanges: {pod: []}", "deniedRanges.pod: unknown field", id="whose-range"),
        pytest.param(SMALL + "dns: {addresses: [dns]}", r"dns.addresses\[0\]: must be an address", id="resolver"),
        pytest.param(SMALL + "dns: {pods: [{podSelector: {}}]}", r"namespaceSelector: is required", id="whose-pods"),
        pytest.param(SMALL + "permitted: {locustfiles: 1}", "permitted.locustfiles: must be true", id="no-flag"),
        pytest.param(SMALL + "permitted: {sudo: true}", "permitted.sudo: unknown field", id="sudo"),
        pytest.param(SMALL + "externalTargets: [lab]", r"externalTargets\[0\]: must be an object", id="no-object"),
        pytest.param(SMALL + "workerResources: {limits: {cpu: many}}", "workerResources.limits", id="resources"),
        pytest.param("[", "is not YAML", id="no-yaml"),
        pytest.param("dns: !!bool x", "is not YAML", id="no-value"),
        pytest.param("", "must be an object, not null", id="nothing"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        read_installation(text)


def test_channels_are_kept_as_they_are_written_for_each_to_read_its_own() -> None:
    assert read_installation(SMALL).channels == {}
    assert read_installation(f"{SMALL}channels: {{any: {{a: 1}}}}\n").channels == {"any": {"a": 1}}


def test_limits_that_are_null_or_absent_are_none() -> None:
    assert read_installation(SMALL).limits == Limits()
    text = "limits: {perTest: {workerPods: null, rate: 50, duration: 1h}, concurrentTests: 3}\npaused: true\n"
    installation = read_installation(SMALL + text)
    assert installation.limits == Limits(per_test=LimitsOfTest(rate=50, duration_s=3600.0), tests=3)
    assert installation.paused


@pytest.mark.parametrize("limits", ["{perTest: {rate: 0}}", "{perTest: {pods: 1}}", "{concurrentTests: many}"])
def test_a_limit_that_is_none_is_refused_by_its_name(limits: str) -> None:
    with pytest.raises(SpecError, match="limits"):
        read_installation(f"{SMALL}limits: {limits}\n")


def test_the_chart_has_each_permission_with_its_default() -> None:
    declared = {permission.name: permission.by_default for permission in PERMISSIONS}
    assert yaml.safe_load((CHART / "values.yaml").read_text())["permitted"] == declared
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]["permitted"]
    assert schema["properties"] == {name: {"type": "boolean"} for name in declared}
