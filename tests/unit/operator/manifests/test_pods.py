"""What a run's pods may do, what they are given, and when they end."""

from collections.abc import Iterator
from typing import Any

import plans
import pytest
from sshload_operator.manifests import children
from sshload_operator.planning.plan import Plan

MANAGED = plans.plan()
EXTERNAL = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))


def made(plan: Plan, kind: str) -> Iterator[dict[str, Any]]:
    yield from (dict(manifest) for manifest in children(plan) if manifest["kind"] == kind)


def pod_specs(plan: Plan) -> dict[str, dict[str, Any]]:
    owners = [*made(plan, "Deployment"), *made(plan, "Job")]
    specs = (owner["spec"]["template"]["spec"] for owner in owners)
    return {spec["containers"][0]["name"]: spec for spec in specs}


def given_files(spec: dict[str, Any]) -> set[str]:
    (config,) = (volume for volume in spec["volumes"] if volume["name"] == "config")
    sources = (next(iter(source.values())) for source in config["projected"]["sources"])
    return {item["path"] for source in sources for item in source["items"]}


def test_each_pod_of_a_managed_run_is_given_its_own_files_only() -> None:
    given = {role: given_files(spec) for role, spec in pod_specs(MANAGED).items()}
    assert given == {
        "target": {
            "target.json",
            "keys/id_ed25519.pub",
            "keys/ssh_host_ed25519_key",
            "keys/ssh_host_ecdsa_key",
        },
        "master": {"run.json"},
        "worker": {"run.json", "keys/id_ed25519", "keys/known_hosts"},
    }


@pytest.mark.parametrize(
    ("auth", "credentials"),
    [pytest.param("publickey", "keys/id", id="key"), pytest.param("password", "keys/password", id="password")],
)
def test_workers_of_an_external_run_are_given_the_one_credential_that_they_log_in_with(
    auth: str, credentials: str
) -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}, client={"auth": auth}))
    given = {role: given_files(spec) for role, spec in pod_specs(plan).items()}
    assert given == {"master": {"run.json"}, "worker": {"run.json", credentials, "keys/known_hosts"}}


def test_an_ignored_host_key_needs_no_known_hosts() -> None:
    external = {key: value for key, value in plans.EXTERNAL.items() if key != "knownHostsSecretRef"}
    plan = plans.plan(plans.quickstart(target={"external": {**external, "insecureIgnoreHostKey": True}}))
    assert given_files(pod_specs(plan)["worker"]) == {"run.json", "keys/id"}


@pytest.mark.parametrize("plan", [pytest.param(MANAGED, id="managed"), pytest.param(EXTERNAL, id="external")])
def test_no_credential_is_in_an_environment_or_a_command(plan: Plan) -> None:
    for spec in pod_specs(plan).values():
        (container,) = spec["containers"]
        assert "env" not in container
        assert "envFrom" not in container
        assert not any("keys" in word for word in container["command"])


@pytest.mark.parametrize("plan", [pytest.param(MANAGED, id="managed"), pytest.param(EXTERNAL, id="external")])
def test_every_job_ends_by_itself_a_minute_after_the_deadline(plan: Plan) -> None:
    jobs = list(made(plan, "Job"))
    assert [job["spec"]["activeDeadlineSeconds"] for job in jobs] == [1860, 1860]
    assert not any("ttlSecondsAfterFinished" in job["spec"] for job in jobs)


def test_a_lost_worker_is_neither_replaced_nor_the_end_of_the_others() -> None:
    master, workers = made(plans.plan(plans.quickstart(workers={"replicas": 3})), "Job")
    assert (workers["spec"]["completions"], workers["spec"]["parallelism"]) == (3, 3)
    assert workers["spec"]["backoffLimitPerIndex"] == 0
    assert "backoffLimit" not in workers["spec"]
    assert "maxFailedIndexes" not in workers["spec"]
    assert master["spec"]["backoffLimit"] == 0


def test_by_default_no_pod_has_a_cpu_limit_and_ten_runs_of_one_worker_fit_two_cores() -> None:
    specs = pod_specs(MANAGED)
    resources = {role: spec["containers"][0]["resources"] for role, spec in specs.items()}
    assert not any("cpu" in found.get("limits", {}) for found in resources.values())
    millicores = {role: int(found["requests"]["cpu"].removesuffix("m")) for role, found in resources.items()}
    assert 10 * sum(millicores.values()) <= 1900


def test_given_resources_replace_the_default_ones() -> None:
    resources = {"requests": {"cpu": "2"}}
    plan = plans.plan(plans.quickstart(workers={"resources": resources}))
    assert pod_specs(plan)["worker"]["containers"][0]["resources"] == resources


def test_the_home_of_a_target_has_room_for_its_fixtures() -> None:
    fixtures = {"files": [{"path": "big", "size": "10Gi"}], "directories": [{"path": "many", "files": 100_000}]}
    plan = plans.plan(plans.quickstart(target={"managed": {"fixtures": fixtures}}))
    (home,) = (volume for volume in pod_specs(plan)["target"]["volumes"] if volume["name"] == "home")
    assert int(home["emptyDir"]["sizeLimit"].removesuffix("Mi")) >= 10 * 1024 + 400


def test_pull_secrets_of_test_and_installation_come_each_once() -> None:
    installation = plans.Installation("w", "t", "Always", ("shared", "ours"), ())
    workers = {"imagePullSecrets": [{"name": "theirs"}, {"name": "shared"}]}
    plan = plans.plan(plans.quickstart(workers=workers), installation=installation)
    specs = pod_specs(plan)
    assert [found["name"] for found in specs["worker"]["imagePullSecrets"]] == ["theirs", "shared", "ours"]
    assert [found["name"] for found in specs["target"]["imagePullSecrets"]] == ["shared", "ours"]
    assert specs["master"]["containers"][0]["imagePullPolicy"] == "Always"


def test_workers_keep_away_from_a_managed_target_unless_the_author_says_where_they_go() -> None:
    assert "podAntiAffinity" in pod_specs(MANAGED)["worker"]["affinity"]
    assert "affinity" not in pod_specs(EXTERNAL)["worker"]
    own = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    plan = plans.plan(plans.quickstart(workers={"affinity": own}))
    assert pod_specs(plan)["worker"]["affinity"] == own
    assert "affinity" not in pod_specs(plan)["master"]


def test_an_overloaded_target_stays_reachable() -> None:
    assert all(service["spec"]["publishNotReadyAddresses"] for service in made(MANAGED, "Service"))
    assert "livenessProbe" not in pod_specs(MANAGED)["target"]["containers"][0]
