"""What the pods are told follows from the spec, and can be read back."""

import json
from typing import Any

import plans
import pytest
from plans import PROOF_SHA256
from specs.relative import RELATIVE
from specs.search import SEARCH_ARRIVALS, SEARCH_HOLD, SEARCHES
from specs.spec import changed
from sshload_contract.allow_list import AllowedTarget, AllowList, DeniedRange
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.program import ProgramConfig
from sshload_contract.wire.run_config import Endpoint, GatewayEndpoint, RunConfig
from sshload_contract.wire.target import TargetConfig
from sshload_gateway.config import read_config
from sshload_operator.manifests import Places, children, cluster_places, run_config
from sshload_operator.manifests.run_config import login_to_managed
from sshload_operator.planning.plan import Plan

_TIMEOUTS = ("connect", "banner", "kex", "auth", "channel", "step")


def told(plan: Plan) -> dict[str, str]:
    (config_map,) = (made for made in children(plan, PROOF_SHA256) if made["kind"] == "ConfigMap")
    data: dict[str, str] = config_map["data"]
    return data


def test_the_mounted_texts_are_what_the_contract_reads() -> None:
    plan = plans.plan()
    texts = told(plan)
    assert from_json(RunConfig, texts["run.json"]) == run_config(plan, cluster_places(plan))
    assert from_json(TargetConfig, texts["target.json"]).sshd_port == run_config(plan, cluster_places(plan)).target.port


@pytest.mark.parametrize(
    ("changes", "logs_in"),
    [
        ({}, True),
        ({"loginBeforeLoad": False}, False),
        ({"scenario": {"locustfile": {"configMapRef": {"name": "own"}}}}, False),
    ],
    ids=["asked", "not asked", "locustfile"],
)
def test_the_workers_log_in_before_the_load_where_that_is_asked_and_their_own_steps_run(
    changes: dict[str, Any], *, logs_in: bool
) -> None:
    plan = plans.plan(plans.quickstart(**changes))
    assert run_config(plan, cluster_places(plan)).log_in_first is logs_in


def test_an_external_target_is_told_nothing_and_has_no_counts() -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))
    texts = told(plan)
    assert set(texts) == {"run.json"}
    assert json.loads(texts["run.json"])["stats_url"] == ""


def test_percentiles_of_thresholds_are_published_with_the_usual_ones() -> None:
    thresholds = [{"latency": {"step": "total", "percentile": percentile, "below": "1s"}} for percentile in (99, 97.5)]
    plan = plans.plan(plans.quickstart(thresholds=thresholds))
    assert run_config(plan, cluster_places(plan)).percentiles == (50.0, 90.0, 95.0, 97.5, 99.0, 99.9)


def test_percentiles_that_are_held_against_a_baseline_are_published_too() -> None:
    within = [{"latency": {"step": "total", "percentile": 75, "within": "10%"}}]
    held = plans.plan(plans.quickstart(thresholds=within, baseline={"testRef": {"name": "before"}}))
    assert 75.0 in run_config(held, cluster_places(held)).percentiles


def test_percentiles_of_relative_thresholds_are_published_too() -> None:
    plan = plans.plan(changed(RELATIVE, "thresholds.0.latency.percentile", 97.5))
    assert 97.5 in run_config(plan, cluster_places(plan)).percentiles


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in SEARCHES.items()])
def test_a_search_is_told_from_its_least_trial_on(spec: dict[str, Any]) -> None:
    plan = plans.plan(spec)
    config = from_json(RunConfig, told(plan)["run.json"])
    assert config.load.is_search
    assert config.load == plan.spec.load.reading("/etc/sshload/trace.txt" if plan.spec.load.recorded else "")


def test_a_trial_has_to_keep_what_is_held_against_a_run_and_nothing_else() -> None:
    plan = plans.plan(SEARCH_ARRIVALS)
    config = from_json(RunConfig, told(plan)["run.json"])
    assert config.thresholds == (LatencyThreshold("login", 95, 0.25), ErrorRateThreshold(0.01))


def test_a_search_ends_before_the_operators_deadline_and_the_jobs_after_it() -> None:
    plan = plans.plan(SEARCH_HOLD)
    config = run_config(plan, cluster_places(plan))
    assert config.load.is_search
    assert config.workers_timeout_s + config.load.budget_s + config.drain_s < plan.spec.deadline_s
    jobs = [made["spec"]["activeDeadlineSeconds"] for made in children(plan, PROOF_SHA256) if made["kind"] == "Job"]
    assert len(jobs) == 2
    assert min(jobs) > plan.spec.deadline_s


@pytest.mark.parametrize(
    ("steps", "drain_s"),
    [
        pytest.param([{"exec": {"command": "true"}}], 6.0, id="one command"),
        pytest.param([{"exec": {"name": "a", "command": "true"}}, {"sleep": "3s"}], 9.0, id="a sleep too"),
        pytest.param([{"exec": {"command": "true"}}, {"sleep": "10m"}], 60.0, id="at most a minute"),
    ],
)
def test_the_drain_lasts_as_long_as_the_slowest_iteration_can(steps: list[dict[str, Any]], drain_s: float) -> None:
    timeouts = dict.fromkeys(_TIMEOUTS, "1s")
    plan = plans.plan(plans.quickstart(scenario={"steps": steps}, client={"timeouts": timeouts}))
    assert run_config(plan, cluster_places(plan)).drain_s == drain_s


def test_the_drain_holds_a_login_at_each_jump_host_too() -> None:
    timeouts = dict.fromkeys(_TIMEOUTS, "1s")
    plan = plans.plan(plans.quickstart(via=[plans.EXTERNAL], client={"timeouts": timeouts}))
    assert run_config(plan, cluster_places(plan)).drain_s == 10.0


def test_a_locustfile_may_take_the_longest_drain() -> None:
    plan = plans.plan(plans.quickstart(scenario={"locustfile": {"configMapRef": {"name": "own-users"}}}))
    assert run_config(plan, cluster_places(plan)).drain_s == 60.0


LISTED = (
    AllowedTarget("*.example.com", (22,)),
    AllowedTarget("10.20.0.0/16", (22, 2222)),
    AllowedTarget("db.example.com", (5432,)),
    AllowedTarget("elsewhere.example.com", (80,)),
)
SERVICES = DeniedRange("10.96.0.0/12", "the cluster's services")


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        pytest.param({}, (), id="a managed target"),
        pytest.param({"target": {"external": plans.EXTERNAL}}, LISTED[:2], id="an external target"),
        pytest.param({"via": [{**plans.EXTERNAL, "port": 2222}]}, LISTED[1:2], id="a jump host"),
        pytest.param(
            {"scenario": {"steps": [{"forward": {"host": "db.example.com", "port": 5432}}]}},
            LISTED[2:3],
            id="a forward",
        ),
        pytest.param({"scenario": {"locustfile": {"configMapRef": {"name": "own"}}}}, LISTED, id="a locustfile"),
    ],
)
def test_workers_are_told_what_is_allowed_at_the_ports_of_their_test(
    change: dict[str, Any], listed: tuple[AllowedTarget, ...]
) -> None:
    plan = plans.plan(plans.quickstart(**change), installation=plans.allowing(*LISTED, denied=(SERVICES,)))
    assert run_config(plan, cluster_places(plan)).allow_list == AllowList(listed, (SERVICES,))


def test_a_run_elsewhere_differs_by_its_places_only() -> None:
    plan = plans.plan()
    here = cluster_places(plan)
    other_target = cluster_places(plans.plan(name="other")).target
    there = Places(
        other_target,
        (other_target,),
        None,
        "http://127.0.0.1:1/stats",
        {"locustfile.py": "/elsewhere/locustfile.py"},
        "/elsewhere/token",
    )
    one, other = run_config(plan, here), run_config(plan, there)
    differing = {name for name in RunConfig.__slots__ if getattr(one, name) != getattr(other, name)}
    assert differing == {"target", "via", "allow_list", "stats_url", "scenario", "token_path"}


@pytest.mark.parametrize(
    ("auth", "files"),
    [
        pytest.param("publickey", {"private_key_path": "id_ed25519"}, id="key"),
        pytest.param("agent", {"private_key_path": "id_ed25519"}, id="agent"),
        pytest.param(
            "certificate",
            {"private_key_path": "id_ed25519", "certificate_path": "id_ed25519-cert.pub"},
            id="certificate",
        ),
    ],
)
def test_a_managed_target_is_logged_in_to_as_the_test_says(auth: str, files: dict[str, str]) -> None:
    target = cluster_places(plans.plan(plans.quickstart(client={"auth": auth}))).target
    assert target.auth == auth
    assert paths(target) == {
        **{field: f"/etc/sshload/keys/{file}" for field, file in files.items()},
        "known_hosts_path": "/etc/sshload/keys/known_hosts",
    }


def test_every_hop_is_told_with_its_own_files() -> None:
    first = {**plans.EXTERNAL, "host": "192.0.2.7", "port": 2022, "auth": "keyboard-interactive"}
    second = {**plans.EXTERNAL, "encryptedKey": True, "auth": "certificate"}
    spec = plans.quickstart(target={"external": plans.EXTERNAL}, via=[first, second], client={"auth": "password"})
    places = cluster_places(plans.plan(spec))
    assert [(hop.host, hop.port, hop.auth) for hop in places.via] == [
        ("192.0.2.7", 2022, "keyboard-interactive"),
        ("bastion.example.com", 22, "certificate"),
    ]
    assert [paths(endpoint) for endpoint in (places.target, *places.via)] == [
        {"password_path": "/etc/sshload/keys/password", "known_hosts_path": "/etc/sshload/keys/known_hosts"},
        {"password_path": "/etc/sshload/keys/via1/password", "known_hosts_path": "/etc/sshload/keys/via1/known_hosts"},
        {
            "private_key_path": "/etc/sshload/keys/via2/id",
            "certificate_path": "/etc/sshload/keys/via2/id-cert.pub",
            "passphrase_path": "/etc/sshload/keys/via2/passphrase",
            "known_hosts_path": "/etc/sshload/keys/via2/known_hosts",
        },
    ]


def test_what_is_told_of_a_path_is_what_the_workers_are_given() -> None:
    hop = {**plans.EXTERNAL, "encryptedKey": True, "auth": "certificate"}
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}, via=[hop]))
    places = cluster_places(plan)
    told_of = {path for endpoint in (places.target, *places.via) for path in paths(endpoint).values()}
    (job,) = (
        made
        for made in children(plan, PROOF_SHA256)
        if made["metadata"]["name"].endswith("-workers") and made["kind"] == "Job"
    )
    (config,) = (volume for volume in job["spec"]["template"]["spec"]["volumes"] if volume["name"] == "config")
    given = [item["path"] for source in config["projected"]["sources"] for item in next(iter(source.values()))["items"]]
    assert len(set(given)) == len(given)
    assert told_of | {"/etc/sshload/run.json", places.token_path} == {f"/etc/sshload/{path}" for path in given}


def test_a_jump_host_in_another_namespace_finds_the_managed_target() -> None:
    assert cluster_places(plans.plan()).target.host == "quickstart-a1b2c3d4e5-target"
    plan = plans.plan(plans.quickstart(via=[plans.EXTERNAL]))
    assert cluster_places(plan).target.host == "quickstart-a1b2c3d4e5-target.load-tests.svc"


def test_through_a_proxy_the_workers_log_in_at_its_service_and_the_counts_stay_the_targets() -> None:
    through = {"managed": {"proxy": {"kind": "haproxy"}}}
    places = cluster_places(plans.plan(plans.quickstart(target=through)))
    assert (places.target.host, places.target.port) == ("quickstart-a1b2c3d4e5-proxy", 2222)
    assert places.stats_url == "http://quickstart-a1b2c3d4e5-target:9200/stats"
    behind = plans.plan(plans.quickstart(target=through, via=[plans.EXTERNAL]))
    assert cluster_places(behind).target.host == "quickstart-a1b2c3d4e5-proxy.load-tests.svc"


def test_the_gateway_of_a_run_is_called_at_its_service_and_the_counts_stay_the_targets() -> None:
    plan = plans.plan(plans.quickstart(target={"managed": {"gateway": {"policy": "pool"}}}))
    places = cluster_places(plan)
    assert isinstance(places.target, GatewayEndpoint)
    assert (places.target.host, places.target.port) == ("quickstart-a1b2c3d4e5-gateway", 8080)
    assert (places.target.tls, places.target.token_path) == (False, "/etc/sshload/keys/gateway_token")
    assert places.stats_url == "http://quickstart-a1b2c3d4e5-target:9200/stats"
    assert places.in_path == {InPath.GATEWAY: "http://quickstart-a1b2c3d4e5-gateway:9204/stats"}
    assert plan.spec.managed is not None
    assert login_to_managed(plan, plan.spec.managed).host == "quickstart-a1b2c3d4e5-target"


def test_what_observes_a_gateway_runs_it_with_its_own_configuration() -> None:
    plan = plans.plan(plans.quickstart(target={"managed": {"gateway": {"policy": "pool"}}}))
    program = from_json(ProgramConfig, told(plan)["gateway.json"])
    config = read_config(program.config)
    assert program.command == ("python", "-m", "sshload_gateway", "--config")
    assert (config.listen.port, config.management.port) == (program.port, 9203)
    assert (program.stats_port, program.server) == (9204, "quickstart-a1b2c3d4e5-target")
    assert program.open_files > config.pool.connections
    assert "@" not in program.config


def test_a_locustfile_is_named_where_it_is_mounted() -> None:
    plan = plans.plan(plans.quickstart(scenario={"locustfile": {"configMapRef": {"name": "own-users"}}}))
    assert run_config(plan, cluster_places(plan)).scenario.locustfile_path == "/etc/sshload/locustfile.py"
    assert run_config(plans.plan(), cluster_places(plans.plan())).scenario.locustfile_path == ""


def test_workers_are_processes_of_all_pods() -> None:
    plan = plans.plan(plans.quickstart(workers={"replicas": 3, "processesPerPod": 4}))
    told_config = run_config(plan, cluster_places(plan))
    assert (told_config.workers, told_config.processes_per_pod) == (12, 4)


def paths(endpoint: Endpoint) -> dict[str, str]:
    """Return the files that the endpoint names, by the field."""
    named = {name: getattr(endpoint, name) for name in Endpoint.__slots__ if name.endswith("_path")}
    return {name: path for name, path in named.items() if path}
