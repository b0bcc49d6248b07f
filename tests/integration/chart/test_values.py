"""The chart is clean, and refuses values that would only fail later."""

import functools
import operator
import re
import shutil
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import helm
import pytest
import yaml
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.quantities import resource_amount
from sshload_gateway.config import read_config
from sshload_operator.planning.installation import read_installation

GATEWAY = (
    "gateway.enabled=true,gateway.sealingKeys.secret=seal,gateway.sealingKeys.active=first,gateway.jwksSecret=jwks"
)
GATEWAY_CONFIG = (
    "gateway.config.tokens.issuer=i,gateway.config.tokens.audience=a,gateway.config.tokens.algorithms={ES256},"
    "gateway.config.destinations.allowed=null"
)
NEEDED = "image.registry=registry.example.com,crds.install=false"
BETWEEN = re.compile(r",(?![^{]*})")
"""A comma between two settings, none of a list."""

GOLDEN_CASES = sorted((helm.ROOT / "tests/golden/chart").glob("*/values.yaml"))


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="with the CRDs"),
        *(
            pytest.param(("--values", values, "--set", "crds.install=false"), id=values.parent.name)
            for values in GOLDEN_CASES
        ),
    ],
)
def test_lint_finds_nothing(arguments: tuple[str | Path, ...]) -> None:
    done = helm.helm("lint", "--strict", helm.CHART, "--values", helm.NEEDED_VALUES, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout


BY_THE_SCHEMA = [
    pytest.param("replicas=2", "additional properties 'replicas' not allowed", id="an unknown value"),
    pytest.param("operator.resource.requests.cpu=1", "/operator", id="a misspelt value"),
    pytest.param("image.pullPolicy=Sometimes", "/image/pullPolicy", id="a pull policy that is none"),
    pytest.param("image.tag=no spaces", "/image/tag", id="a tag that is none"),
    pytest.param(f"image.tag=1@sha256:{'0' * 64}", "/image/tag", id="one digest for all images"),
    pytest.param("worker.image.digest=sha256:0", "/worker/image/digest", id="a digest that is none"),
    pytest.param("runAsUser=0", "/runAsUser", id="root"),
    pytest.param("operator.logFormat=xml", "/operator/logFormat", id="a format of the log that is none"),
    pytest.param("otlp.endpoint=collector:4318", "/otlp/endpoint", id="an endpoint without a scheme"),
    pytest.param("otlp.endpoint=https://a:b@collector", "/otlp/endpoint", id="an endpoint with a password"),
    pytest.param("otlp.endpoint=https://collector?key=1", "/otlp/endpoint", id="an endpoint with a query"),
    pytest.param("otlp.endpoint=http://collector,otlp.secret=s", "/otlp/endpoint", id="headers without TLS"),
    pytest.param("otlp.secret=s", "/otlp/endpoint", id="headers without an endpoint"),
    pytest.param("otlp.intervalSeconds=4", "/otlp/intervalSeconds", id="pushes without a pause"),
    pytest.param("namespaced=yes", "/namespaced", id="a flag that is a word"),
    pytest.param("watchNamespaces={team-a}", "/namespaced", id="namespaces to watch, and all watched"),
    pytest.param("watchNamespaces={Team_A}", "/watchNamespaces/0", id="a namespace that is none"),
    pytest.param("externalTargets[0].ports={22}", "/externalTargets/0", id="an allowed target without host"),
    pytest.param("externalTargets[0].host=a,externalTargets[0].ports={0}", "/externalTargets/0/ports/0", id="port 0"),
    pytest.param(
        "externalTargets[0].host=a,externalTargets[0].ports=null",
        "at '/externalTargets/0/ports': got null, want array",
        id="no ports",
    ),
    pytest.param("externalTargets[0].host=a", "/externalTargets/0': missing property 'ports'", id="any port"),
    pytest.param("externalTargets[0].host=a b", "/externalTargets/0/host", id="a host with a space"),
    pytest.param(
        "externalTargets[0].host=10.*.1,externalTargets[0].ports={22}",
        "/externalTargets/0/host",
        id="a pattern of numbers",
    ),
    pytest.param(
        "externalTargets[0].host=fd00::*,externalTargets[0].ports={22}",
        "/externalTargets/0/host",
        id="a pattern of IPv6",
    ),
    pytest.param("deniedRanges.pods={pods}", "/deniedRanges/pods/0", id="a range that is none"),
    pytest.param("permitted.locustfiles=1", "/permitted/locustfiles", id="a permission that is none"),
    pytest.param("dns.ports={0}", "/dns/ports/0", id="a resolver's port 0"),
    pytest.param("dns.pods[0].podSelector.matchLabels.a=b", "/dns/pods/0", id="a resolver of no namespace"),
    pytest.param("lease.namespace=Kube_System", "/lease/namespace", id="a namespace of the Lease that is none"),
    pytest.param("monitoring.podMonitor.interval=often", "/monitoring/podMonitor/interval", id="an odd interval"),
    pytest.param(
        "monitoring.prometheusRule.capacityFloors[0].floor=5",
        "/monitoring/prometheusRule/capacityFloors/0': missing property 'unit'",
        id="a floor without unit",
    ),
    pytest.param(
        "monitoring.prometheusRule.notPassedVerdicts={Passed}",
        "/monitoring/prometheusRule/notPassedVerdicts/0",
        id="an alert for a pass",
    ),
    pytest.param("image.registry=ghcr.io/Team", "/image/registry", id="a path of OCI in upper case"),
    pytest.param("worker.image.repository=a//b", "/worker/image/repository", id="a path with a gap"),
    pytest.param("image.pullSecrets={a..b}", "/image/pullSecrets/0", id="a name with two dots"),
    pytest.param("commonLabels.a=b c", "/commonLabels/a", id="a label that is none"),
    pytest.param(f"commonLabels.a={'x' * 64}", "/commonLabels/a", id="a label that is too long"),
    pytest.param("commonAnnotations.a b=c", "invalid propertyName 'a b'", id="an annotation's name that is none"),
    pytest.param("runPods.labels.a=b c", "/runPods/labels/a", id="a label of runs that is none"),
    pytest.param("runPods.nodeSelector.a=-", "/runPods/nodeSelector/a", id="a node's label that is none"),
    pytest.param("runPods.tolerations[0].key=a b", "/runPods/tolerations/0", id="a taint that is none"),
    pytest.param("operator.tolerations[0].operator=Equal", "/operator/tolerations/0", id="a taint without a name"),
    pytest.param("runPods.affinity.nodes.a=b", "/runPods/affinity", id="an affinity that is none"),
    pytest.param("operator.extraEnv[0].name=POD_NAME", "/operator/extraEnv/0", id="a variable of the chart's own"),
    pytest.param("operator.extraEnv[0].name=A,operator.extraEnv[0].value=1", "/operator/extraEnv/0/value", id="1"),
    pytest.param("operator.extraVolumes[0].name=tmp", "/operator/extraVolumes/0", id="a volume of the chart's own"),
    pytest.param("operator.dnsConfig.nameservers={a}", "/operator/dnsConfig/nameservers/0", id="a resolver by name"),
    pytest.param("operator.resources.limits.foo=1", "'foo'", id="a resource that is none"),
    pytest.param("deniedRanges.pods={10.0.0.0/33}", "/deniedRanges/pods/0", id="a range of too many bits"),
    pytest.param("deniedRanges.pods={300.0.0.0/8}", "/deniedRanges/pods/0", id="a range of no address"),
    pytest.param("deniedRanges.pods={fd00::1::/64}", "/deniedRanges/pods/0", id="a range of IPv6 that is none"),
    pytest.param("limits.perTest.duration=0s", "/limits/perTest/duration", id="no duration"),
    pytest.param("limits.perTest.duration=99999h", "/limits/perTest/duration", id="a duration of years"),
    pytest.param("ui.ingress.host=192.0.2.1", "/ui/ingress/host", id="an Ingress of an address"),
    pytest.param("dns.addresses={10.0.0}", "/dns/addresses/0", id="a resolver's address that is none"),
    pytest.param(
        "externalTargets[0].host=10.0.0.0/33,externalTargets[0].ports={22}",
        "/externalTargets/0/host",
        id="a target's range of too many bits",
    ),
    pytest.param("networkPolicy.metricsFrom[0].ipBlock.cidr=1.2.3.4", "/networkPolicy/metricsFrom/0", id="no range"),
    pytest.param("networkPolicy.uiFrom[0].pods.a=b", "/networkPolicy/uiFrom/0", id="peers that are none"),
    pytest.param("runNetworkPolicy.extraEgress[0].port=1", "/runNetworkPolicy/extraEgress/0", id="a rule that is none"),
    pytest.param("otlp.endpoint=http://collector:99999", "/otlp/endpoint", id="a port above all"),
    pytest.param("notifications.webhook.url=https://a:0,notifications.webhook.secret=s", "webhook/url", id="port 0"),
    pytest.param("gateway.persistence.size=0Gi", "/gateway/persistence/size", id="no space"),
    pytest.param("ui.ingress.enabled=true", "/ui/ingress/host", id="an Ingress without a host"),
    pytest.param("ui.ingress.host=https://a", "/ui/ingress/host", id="a URL for a host"),
    pytest.param("ui.httpRoute.parentRefs[0].port=443", "/ui/httpRoute/parentRefs/0", id="a Gateway without name"),
    pytest.param("ui.httpRoute.hostnames={https://a}", "/ui/httpRoute/hostnames/0", id="a URL for a route's host"),
    pytest.param(
        "operator.tolerations[0].key=,operator.tolerations[0].operator=",
        "/operator/tolerations/0",
        id="a toleration of nothing",
    ),
    pytest.param("monitoring.podMonitor.namespace=A", "/monitoring/podMonitor/namespace", id="no namespace"),
    pytest.param("monitoring.podMonitor.scrapeTimeout=5", "/monitoring/podMonitor/scrapeTimeout", id="no time"),
    pytest.param("global.imageRegistry=https://a", "/global/imageRegistry", id="a URL for a registry"),
    pytest.param("runPods.priorityClassName=A B", "/runPods/priorityClassName", id="a class that is none"),
    pytest.param("extraObjects={1}", "/extraObjects/0", id="an object that is none"),
    pytest.param("notifications.webhook.url=ftp://a", "/notifications/webhook/url", id="a URL that is none"),
    pytest.param(
        "notifications.webhook.url=https://u:p@a,notifications.webhook.secret=s",
        "/notifications/webhook/url",
        id="a URL with a password",
    ),
    pytest.param("notifications.webhook.url=https://a", "/notifications/webhook/secret", id="no key"),
    pytest.param("worker.resources.limits.cpu=many", "/worker/resources/limits/cpu", id="an amount that is none"),
    pytest.param("worker.resources.claims={gpu}", "/worker/resources", id="resources that are none"),
    pytest.param("networkPolicy.apiServerPorts=null", "/networkPolicy", id="no API server port"),
    pytest.param(GATEWAY, "/gateway/config': missing properties", id="a gateway that knows no issuer"),
    pytest.param(f"{GATEWAY},{GATEWAY_CONFIG},gateway.jwksSecret=", "'jwksUrl'", id="a gateway without keys"),
    pytest.param(
        f"{GATEWAY},{GATEWAY_CONFIG},gateway.sealingKeys.active=",
        "/gateway/sealingKeys/active",
        id="no sealing key",
    ),
    pytest.param(f"{GATEWAY},{GATEWAY_CONFIG},gateway.replicas=2", "/gateway/replicas", id="two pods on SQLite"),
    pytest.param(
        f"{GATEWAY},{GATEWAY_CONFIG},gateway.config.pool.policy=best",
        "/gateway/config/pool/policy",
        id="a policy that is none",
    ),
    pytest.param(
        f"{GATEWAY},{GATEWAY_CONFIG},gateway.config.listen.port=80",
        "additional properties 'listen' not allowed",
        id="a port of the gateway that its Service does not know",
    ),
]
"""Values that the schema refuses, with what helm says of each. Helm is asked of all at once."""


@pytest.fixture(scope="module")
def said_by_the_schema(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return what helm says of each value: the chart stands in another once for each, under a name of its own."""
    folder = tmp_path_factory.mktemp("many")
    shutil.copytree(helm.CHART, folder / "charts/sshload")
    names = {row.values[0]: f"case-{place}" for place, row in enumerate(BY_THE_SCHEMA)}
    versions = {"name": "sshload", "version": ">=0.0.0-0"}
    chart = {"apiVersion": "v2", "name": "many", "version": "1.0.0"}
    chart["dependencies"] = [{**versions, "alias": name} for name in names.values()]
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart), encoding="utf-8")
    given = (",".join(f"{name}.{one}" for one in BETWEEN.split(setting)) for setting, name in names.items())
    done = helm.helm("template", "many", folder, *(option for one in given for option in ("--set", one)))
    _, *said = re.split(r"^(case-\d+):$", done.stderr, flags=re.MULTILINE)
    told = dict(zip(said[::2], said[1::2], strict=True))
    return {setting: told.get(name, "") for setting, name in names.items()}


@pytest.mark.parametrize(("setting", "path"), BY_THE_SCHEMA)
def test_a_value_that_the_schema_refuses_is_named_by_its_path(
    said_by_the_schema: Mapping[str, str], setting: str, path: str
) -> None:
    assert path in said_by_the_schema[setting]


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        pytest.param("replicas=2", "additional properties 'replicas' not allowed", id="by the schema"),
        pytest.param(
            f"{NEEDED},operator.resources.requests.memory=1Gi",
            "operator.resources.requests.memory is 1Gi, but must not be above the limit 512Mi",
            id="a request above its limit",
        ),
        pytest.param(
            f"{NEEDED},worker.resources.requests.cpu=1001m",
            "worker.resources.requests.cpu is 1001m, but must not be above the limit 1",
            id="a request of runs above its limit",
        ),
        pytest.param(
            f"{NEEDED},deniedRanges.nodes={{10.0.0.1/8}}",
            "deniedRanges.nodes has the range 10.0.0.1/8, which has host bits set",
            id="a range that begins in its middle",
        ),
        pytest.param(
            f"{NEEDED},ui.enabled=true,ui.httpRoute.enabled=true",
            "ui.httpRoute.parentRefs is empty, so no Gateway would serve the pages",
            id="a route of no Gateway",
        ),
    ],
)
def test_a_bad_value_is_refused_with_what_is_wrong(setting: str, path: str) -> None:
    done = helm.helm("template", helm.RELEASE, helm.CHART, "--set", setting)
    assert done.returncode != 0
    assert path in done.stderr


LEGAL_VALUES = """
image: {pullSecrets: [one, {name: two}]}
operator:
  tolerations: [{operator: Exists}, {key: "", operator: Exists, effect: ""}, {key: a, operator: "", value: ""}]
  resources: {requests: {cpu: 0.25}, limits: {cpu: null, memory: 1073741824, ephemeral-storage: 1Gi}}
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - {topologyKey: kubernetes.io/hostname, labelSelector: {}, matchLabelKeys: [pod-template-hash]}
  topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}, matchLabelKeys: [a/b]}
  dnsConfig: {searches: [svc.cluster.example., ., _a.example]}
worker: {resources: {requests: {cpu: 1.5}, limits: {cpu: 2.5, nvidia.com/gpu: 1}}}
master: {resources: null}
target: {resources: {limits: null}}
runPods:
  tolerations: [{key: dedicated, operator: Exists, effect: ""}]
"""


def test_the_chart_takes_each_way_in_which_kubernetes_lets_values_be_written(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(LEGAL_VALUES, encoding="utf-8")
    read = read_installation(installation("--values", values))
    assert read.worker_resources["requests"] == {"cpu": "1.5", "memory": "1Gi"}
    assert resource_amount(read.worker_resources["limits"]["nvidia.com/gpu"]) == 1
    assert read.run_pods.master_resources == {}
    assert read.run_pods.target_resources == {"requests": {"cpu": "80m", "memory": "64Mi"}}
    assert read.run_pods.tolerations == ({"key": "dedicated", "operator": "Exists"},)
    assert read.image_pull_secrets == ("one", "two")
    (deployment,) = (one for one in helm.objects("--values", values) if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"memory": 1073741824, "ephemeral-storage": "1Gi"}


ADDED = (
    "global", "extraObjects", "operator.dnsConfig", "operator.extraVolumes", "runPods.affinity", "crds.annotations",
    "runPods.priorityClassName", "runNetworkPolicy.metricsFrom", "permitted.nodeSelector", "ui.ingress", "ui.httpRoute",
    "monitoring.serviceMonitor.relabelings", "monitoring.prometheusRule.certificateDays",
)  # fmt: skip
"""Values that `helm upgrade --reuse-values` lacks if the release is older than they are."""


def test_values_of_a_release_that_knew_fewer_are_enough(tmp_path: Path) -> None:
    chart = shutil.copytree(helm.CHART, tmp_path / "sshload")
    defaults = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    for path in ADDED:
        *folders, name = path.split(".")
        del functools.reduce(operator.getitem, folders, defaults)[name]
    (chart / "values.yaml").write_text(yaml.safe_dump(defaults), encoding="utf-8")
    everything = helm.ROOT / "tests/golden/chart/alerts/values.yaml"
    done = helm.helm("template", helm.RELEASE, chart, "--values", helm.NEEDED_VALUES, "--values", everything)
    assert done.returncode == 0, done.stderr
    made = (one for one in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if one)
    (told,) = (one for one in made if one["metadata"]["name"] == "sshload-installation")
    assert read_installation(told["data"]["installation.yaml"]).run_pods.metrics_from == ()


@pytest.mark.parametrize("values", [pytest.param(values, id=values.parent.name) for values in GOLDEN_CASES])
def test_the_operator_reads_what_the_chart_writes_for_it(values: Path) -> None:
    read_installation(installation("--values", values))


@pytest.mark.parametrize("case", [path for path in GOLDEN_CASES if path.parent.name.startswith("gateway")])
def test_the_gateway_reads_what_the_chart_writes_for_it(case: Path) -> None:
    (made,) = (
        one
        for one in helm.objects("--values", case)
        if (one["kind"], one["metadata"]["name"]) == ("ConfigMap", "sshload-gateway")
    )
    given = yaml.safe_load(case.read_text(encoding="utf-8"))["gateway"]
    read = read_config(made["data"]["gateway.yaml"])
    assert read.sealing_keys.active == given["sealingKeys"]["active"]
    assert [entry.host for entry in read.destinations.allowed] == [
        entry["host"] for entry in given["config"]["destinations"]["allowed"]
    ]


@pytest.mark.parametrize("host", ["*", "*.example.com", "10.1.*", "10.*.*.*", "192.0.2.0/24", "fd00::/8", "0x7f.1"])
def test_what_the_chart_takes_for_a_host_the_operator_reads(host: str) -> None:
    read = read_installation(installation("--set", f"externalTargets[0].host={host},externalTargets[0].ports={{22}}"))
    assert read.allow_list.targets == (AllowedTarget(host, (22,)),)


def test_workers_have_a_whole_guaranteed_cpu_each_unless_the_cluster_is_small() -> None:
    resources = read_installation(installation()).worker_resources
    assert resources["requests"] == resources["limits"]
    assert resource_amount(resources["limits"]["cpu"]) == 1
    small = read_installation(installation("--values", helm.CHART / "values-small.yaml")).worker_resources
    assert "cpu" not in small["limits"]
    assert 10 * resource_amount(small["requests"]["cpu"]) < 2


@pytest.mark.parametrize("release", ["1st", "team.loads"])
def test_a_release_whose_name_no_service_can_have_is_refused(release: str) -> None:
    done = helm.helm("template", release, helm.CHART, "--set", NEEDED)
    assert done.returncode != 0
    assert "set fullnameOverride" in done.stderr
    named = helm.helm("template", release, helm.CHART, "--set", f"{NEEDED},fullnameOverride=loads")
    assert named.returncode == 0, named.stderr


def test_names_that_look_like_numbers_stay_texts() -> None:
    names = "operator.priorityClassName=1,image.pullSecrets={2},fullnameOverride=a,ui.certificateSecret=3"
    done = helm.helm(
        "template", "4", helm.CHART, "--namespace=5", "--set", f"{NEEDED},ui.enabled=true", "--set-string", names
    )
    found = [one for one in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if one]
    (pod,) = (one["spec"]["template"]["spec"] for one in found if one["kind"] == "Deployment")
    assert (pod["priorityClassName"], pod["imagePullSecrets"]) == ("1", [{"name": "2"}])
    assert {one["metadata"].get("namespace") for one in found} == {"5", "kube-system", None}
    assert {one["metadata"]["labels"]["app.kubernetes.io/instance"] for one in found} == {"4"}


def test_a_service_account_that_is_not_made_must_be_named() -> None:
    done = helm.helm("template", helm.RELEASE, helm.CHART, "--set", "serviceAccount.create=false")
    assert done.returncode != 0
    assert "serviceAccount.name" in done.stderr


@pytest.mark.parametrize("tag", ["1.2.3", "12", "20261121", "0123", "1e5"])
def test_an_image_tag_may_look_like_a_number(tag: str) -> None:
    (deployment,) = (found for found in helm.objects("--set", f"image.tag={tag}") if found["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f"/sshload-operator:{tag}")


def test_an_installation_without_a_registry_is_refused_with_what_to_set() -> None:
    done = helm.helm("template", helm.RELEASE, helm.CHART)
    assert done.returncode != 0
    assert "image.registry is needed" in done.stderr


def test_each_image_may_have_a_registry_a_tag_and_a_digest_of_its_own() -> None:
    digest = f"sha256:{'ab' * 32}"
    read = read_installation(
        installation(
            "--set", f"image.tag=1.2,worker.image.digest={digest},target.image.registry=other,target.image.tag=7"
        )
    )
    assert read.worker_image.endswith(f"/sshload-worker:1.2@{digest}")
    assert read.target_image == "other/sshload-target:7"
    assert read.system_image.endswith("/sshload-system:1.2")
    assert read.proxy_image.endswith("/sshload-proxy:1.2")
    assert read.gateway_image.endswith("/sshload-gateway:1.2")


class SingleKeys(yaml.CSafeLoader):
    """Reads YAML as Flux and kustomize do: no mapping has a key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - yaml's own
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"twice in one mapping: {keys}"
        return super().construct_mapping(node, deep)


def test_a_label_that_is_given_twice_stands_once() -> None:
    given = "commonLabels.team=all,operator.podLabels.team=pod,monitoring.podMonitor.labels.team=monitor"
    meshes = "operator.podLabels.sidecar\\.istio\\.io/inject=true"
    made = helm.template(
        *("--set-string", given, "--set-string", meshes, "--set-string", "commonLabels.helm\\.sh/chart=other"),
        *("--set", "crds.install=false,monitoring.podMonitor.enabled=true,monitoring.serviceMonitor.enabled=true"),
    )
    found = {one["kind"]: one for one in yaml.load_all(made, Loader=SingleKeys) if one}
    pod = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert (pod["team"], pod["sidecar.istio.io/inject"]) == ("pod", "true")
    assert found["PodMonitor"]["metadata"]["labels"]["team"] == "monitor"
    assert found["ServiceMonitor"]["metadata"]["labels"]["team"] == "all"


def empty_lists(found: Any, path: str) -> list[str]:
    if isinstance(found, dict):
        return [each for name, value in found.items() for each in empty_lists(value, f"{path}.{name}")]
    if isinstance(found, list):
        return [each for value in found for each in empty_lists(value, path)] if found else [path]
    return []


@pytest.mark.parametrize("values", [pytest.param(values, id=values.parent.name) for values in GOLDEN_CASES])
def test_no_object_states_an_empty_list_which_the_api_server_would_drop_and_argo_cd_show_for_ever(values: Path) -> None:
    assert [each for one in helm.objects("--values", values) for each in empty_lists(one, one["kind"])] == []


def test_the_pod_of_helm_test_may_speak_to_the_api_server_where_policies_deny_the_rest() -> None:
    operator, tester, policy = release_pods()
    (component,) = policy["spec"]["podSelector"]["matchExpressions"]
    for pod in (operator, tester):
        labels = pod["metadata"]["labels"]
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        assert labels[component["key"]] in component["values"]


@pytest.mark.parametrize(
    "watched", ["namespaced=false", "namespaced=true,watchNamespaces={a-team}"], ids=["all", "others"]
)
def test_helm_finds_the_log_of_helm_test_under_the_name_of_each_of_its_hooks(watched: str) -> None:
    """`helm test --logs` reads the log of a pod of the release's namespace for each hook, whatever its kind."""
    made = helm.objects("--set", watched)
    hooks = [one["metadata"]["name"] for one in made if one["metadata"].get("annotations", {}).get("helm.sh/hook")]
    assert hooks == [pod["metadata"]["name"] for pod in made if pod["kind"] == "Pod"] * 2


def test_the_pod_of_helm_test_runs_where_the_operator_runs_and_fits_the_same_quota() -> None:
    terms = "operator.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    expression = f"{terms}[0].matchExpressions[0]"
    operator, tester, _ = release_pods(
        *("--set", f"{expression}.key=kubernetes.io/arch,{expression}.operator=In,{expression}.values={{amd64}}"),
        *("--set", "operator.resources.limits.cpu=1"),
    )
    assert tester["spec"]["affinity"] == operator["spec"]["affinity"]
    assert tester["spec"]["containers"][0]["resources"] == operator["spec"]["containers"][0]["resources"]
    assert tester["spec"]["containers"][0]["resources"]["limits"]["cpu"] == 1


def test_no_mesh_injects_a_proxy_into_the_pods_of_the_release() -> None:
    """The policy of the release would keep the proxy from its control plane."""
    operator, tester, _ = release_pods()
    for pod in (operator, tester):
        assert pod["metadata"]["labels"]["sidecar.istio.io/inject"] == "false"
        assert pod["metadata"]["annotations"]["linkerd.io/inject"] == "disabled"


@pytest.mark.parametrize(("user", "mode"), [("10001", 0o440), ("null", 0o444)])
def test_the_certificate_of_the_metrics_is_readable_with_and_without_an_fs_group(user: str, mode: int) -> None:
    secured = "metrics.authentication.enabled=true,metrics.authentication.certificateSecret=tls"
    operator, _, _ = release_pods("--set", f"{secured},runAsUser={user}")
    (secret,) = (volume["secret"] for volume in operator["spec"]["volumes"] if "secret" in volume)
    assert secret["defaultMode"] == mode
    assert ("fsGroup" in operator["spec"]["securityContext"]) == (mode == 0o440)


def test_relabelings_name_the_action_that_the_api_server_would_add() -> None:
    """Argo CD takes what is added to a list of a custom resource for drift."""
    monitors = [
        one for one in helm.objects("--set", "monitoring.podMonitor.enabled=true") if one["kind"] == "PodMonitor"
    ]
    (endpoint,) = monitors[0]["spec"]["podMetricsEndpoints"]
    assert {relabeling["action"] for relabeling in endpoint["relabelings"]} == {"replace"}


def release_pods(*arguments: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the operator's pod, the pod of `helm test`, and the NetworkPolicy of both."""
    found = {one["kind"]: one for one in helm.objects(*arguments)}
    return found["Deployment"]["spec"]["template"], found["Pod"], found["NetworkPolicy"]


def installation(*arguments: str | Path) -> str:
    """Return what the operator is told of its installation."""
    made = (found for found in helm.objects(*arguments) if found["metadata"]["name"].endswith("-installation"))
    (config_map,) = made
    text: str = config_map["data"]["installation.yaml"]
    return text
