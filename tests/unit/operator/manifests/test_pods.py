"""What a run's pods may do, what they are given, and when they end."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import plans
import pytest
from plans import PROOF_SHA256
from specs.permitted import EVERYTHING
from sshload_operator.manifests import children
from sshload_operator.manifests.system_target import CAPABILITIES, WITHOUT_USER_NAMESPACE
from sshload_operator.planning.installation import Installation, RunPods
from sshload_operator.planning.plan import Plan

MANAGED = plans.plan()
EXTERNAL = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))


OF_EVERY_LOAD_POD = ("run.json", "keys/run_token")


def made(plan: Plan, kind: str) -> Iterator[dict[str, Any]]:
    yield from (dict(manifest) for manifest in children(plan, PROOF_SHA256) if manifest["kind"] == kind)


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
            "keys/user_ca.pub",
            "keys/ssh_host_ed25519_key",
            "keys/ssh_host_ecdsa_key",
        },
        "master": {*OF_EVERY_LOAD_POD},
        "worker": {*OF_EVERY_LOAD_POD, "keys/id_ed25519", "keys/known_hosts"},
    }


def test_workers_look_up_a_name_with_a_dot_as_it_is_first() -> None:
    assert pod_specs(EXTERNAL)["worker"]["dnsConfig"] == {"options": [{"name": "ndots", "value": "1"}]}


@pytest.mark.parametrize(
    ("auth", "credentials"),
    [
        pytest.param("publickey", {"keys/id"}, id="key"),
        pytest.param("agent", {"keys/id"}, id="agent"),
        pytest.param("certificate", {"keys/id", "keys/id-cert.pub"}, id="certificate"),
        pytest.param("password", {"keys/password"}, id="password"),
        pytest.param("keyboard-interactive", {"keys/password"}, id="keyboard-interactive"),
    ],
)
def test_workers_of_an_external_run_are_given_only_what_they_log_in_with(auth: str, credentials: set[str]) -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}, client={"auth": auth}))
    given = {role: given_files(spec) for role, spec in pod_specs(plan).items()}
    assert given == {
        "master": {*OF_EVERY_LOAD_POD},
        "worker": {*OF_EVERY_LOAD_POD, *credentials, "keys/known_hosts"},
    }


def test_the_passphrase_of_an_encrypted_key_comes_with_it() -> None:
    plan = plans.plan(plans.quickstart(target={"external": {**plans.EXTERNAL, "encryptedKey": True}}))
    assert given_files(pod_specs(plan)["worker"]) == {
        "run.json",
        "keys/run_token",
        "keys/id",
        "keys/passphrase",
        "keys/known_hosts",
    }


def test_a_certificate_is_given_to_those_who_log_in_with_it() -> None:
    plan = plans.plan(plans.quickstart(client={"auth": "certificate"}))
    assert given_files(pod_specs(plan)["worker"]) == {
        "run.json",
        "keys/run_token",
        "keys/id_ed25519",
        "keys/id_ed25519-cert.pub",
        "keys/known_hosts",
    }


SIGNING = {"auth": "certificate", "certificates": {"lifetime": "1m"}}


def test_the_authority_of_a_run_is_given_to_the_workers_that_sign_certificates_and_to_nobody_else() -> None:
    given = {role: given_files(spec) for role, spec in pod_specs(plans.plan(plans.quickstart(client=SIGNING))).items()}
    assert given["worker"] == {
        "run.json",
        "keys/run_token",
        "keys/id_ed25519",
        "keys/user_ca",
        "keys/known_hosts",
    }
    assert [role for role, files in given.items() if "keys/user_ca" in files] == ["worker"]


def test_the_authority_of_an_author_is_given_to_the_workers_only() -> None:
    authority = {"ca": {"secretRef": {"name": "authority"}, "encryptedKey": True}}
    client = {"auth": "certificate", "certificates": authority}
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}, client=client))
    given = {role: given_files(spec) for role, spec in pod_specs(plan).items()}
    assert given == {
        "master": {*OF_EVERY_LOAD_POD},
        "worker": {*OF_EVERY_LOAD_POD, "keys/id", "keys/ca", "keys/ca-passphrase", "keys/known_hosts"},
    }


def test_the_files_of_each_jump_host_are_in_a_folder_of_its_own() -> None:
    one = {**plans.EXTERNAL, "auth": "password"}
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}, via=[one, plans.EXTERNAL]))
    assert given_files(pod_specs(plan)["worker"]) == {
        "run.json",
        "keys/run_token",
        "keys/id",
        "keys/known_hosts",
        "keys/via1/password",
        "keys/via1/known_hosts",
        "keys/via2/id",
        "keys/via2/known_hosts",
    }
    assert given_files(pod_specs(plan)["master"]) == {*OF_EVERY_LOAD_POD}


def test_a_locustfile_is_mounted_into_the_workers_and_must_be_there() -> None:
    scenario = {"locustfile": {"configMapRef": {"name": "own-users"}, "key": "users.py"}}
    specs = pod_specs(plans.plan(plans.quickstart(scenario=scenario)))
    (config,) = (volume for volume in specs["worker"]["volumes"] if volume["name"] == "config")
    assert {
        "configMap": {
            "name": "own-users",
            "items": [{"key": "users.py", "path": "locustfile.py"}],
            "optional": False,
        }
    } in config["projected"]["sources"]
    assert given_files(specs["master"]) == {*OF_EVERY_LOAD_POD}


def test_an_ignored_host_key_needs_no_known_hosts() -> None:
    external = {key: value for key, value in plans.EXTERNAL.items() if key != "knownHostsSecretRef"}
    plan = plans.plan(plans.quickstart(target={"external": {**external, "insecureIgnoreHostKey": True}}))
    assert given_files(pod_specs(plan)["worker"]) == {*OF_EVERY_LOAD_POD, "keys/id"}


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


def test_workers_have_the_installations_resources_and_no_other_pod_has_a_cpu_limit() -> None:
    resources = {role: spec["containers"][0]["resources"] for role, spec in pod_specs(MANAGED).items()}
    assert resources.pop("worker") == plans.INSTALLATION.worker_resources
    assert not any("cpu" in found.get("limits", {}) for found in resources.values())


def test_given_resources_replace_the_default_ones() -> None:
    resources = {"requests": {"cpu": "2"}}
    plan = plans.plan(plans.quickstart(workers={"resources": resources}))
    assert pod_specs(plan)["worker"]["containers"][0]["resources"] == resources


def run_pods(**settings: Any) -> Plan:
    """Return the plan of an installation with these settings for the pods of runs."""
    return plans.plan(installation=replace(plans.INSTALLATION, run_pods=RunPods(**{"user_id": 10_001, **settings})))


def templates(plan: Plan) -> Iterator[dict[str, Any]]:
    yield from (owner["spec"]["template"] for kind in ("Deployment", "Job") for owner in made(plan, kind))


def test_meshes_stay_out_of_all_pods_and_autoscalers_leave_their_nodes_alone() -> None:
    for template in templates(MANAGED):
        metadata = template["metadata"]
        assert metadata["labels"]["sidecar.istio.io/inject"] == "false"
        assert metadata["labels"]["istio.io/dataplane-mode"] == "none"
        assert metadata["annotations"]["linkerd.io/inject"] == "disabled"
        assert metadata["annotations"]["karpenter.sh/do-not-disrupt"] == "true"
        assert metadata["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"


def test_the_installers_labels_and_annotations_precede_these_but_never_the_runs_own_labels() -> None:
    labels = {"sidecar.istio.io/inject": "true", "team": "hpc", "sshload.dev/role": "king"}
    plan = run_pods(labels=labels, annotations={"linkerd.io/inject": "enabled"})
    for template in templates(plan):
        metadata = template["metadata"]
        assert (metadata["labels"]["sidecar.istio.io/inject"], metadata["labels"]["team"]) == ("true", "hpc")
        assert metadata["labels"]["sshload.dev/role"] == template["spec"]["containers"][0]["name"]
        assert metadata["annotations"]["linkerd.io/inject"] == "enabled"


def test_without_a_uid_the_cluster_chooses_user_and_groups_and_every_user_can_read_what_is_mounted() -> None:
    for spec in pod_specs(run_pods(user_id=None)).values():
        assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        (config,) = (volume for volume in spec["volumes"] if volume["name"] == "config")
        assert config["projected"]["defaultMode"] == 0o444


def test_the_installers_resources_are_those_of_masters_and_of_targets_that_name_none() -> None:
    plan = run_pods(master_resources={"limits": {"cpu": "1"}}, target_resources={"limits": {"cpu": "2"}})
    resources = {role: spec["containers"][0]["resources"] for role, spec in pod_specs(plan).items()}
    assert resources["master"] == {"limits": {"cpu": "1"}}
    assert resources["target"] == {"limits": {"cpu": "2"}}


def test_the_installers_nodes_and_tolerations_join_those_of_the_test() -> None:
    nodes = RunPods(
        user_id=10_001,
        node_selector={"kubernetes.io/arch": "amd64", "pool": "any"},
        tolerations=({"key": "load", "operator": "Exists"},),
    )
    own = {"nodeSelector": {"pool": "load"}, "tolerations": [{"key": "team", "operator": "Exists"}]}
    installation = replace(plans.INSTALLATION, run_pods=nodes)
    specs = pod_specs(plans.plan(plans.quickstart(workers=own), installation=installation))
    assert specs["worker"]["nodeSelector"] == {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "pool": "load",
    }
    assert [one["key"] for one in specs["worker"]["tolerations"]] == ["load", "team"]
    assert specs["target"]["nodeSelector"]["pool"] == "any"
    assert [one["key"] for one in specs["target"]["tolerations"]] == ["load"]


def with_everything(**pods: Any) -> Plan:
    """Return the plan of a test whose pods have all that can be permitted."""
    own = {**EVERYTHING, **pods}
    return plans.plan(plans.quickstart(workers=own, target={"managed": own}))


def test_what_a_test_adds_to_its_pods_reaches_them_as_kubernetes_writes_it() -> None:
    specs = pod_specs(with_everything())
    for role in ("worker", "target"):
        (container,) = specs[role]["containers"]
        assert container["env"] == EVERYTHING["env"]
        volumes = {volume["name"]: volume for volume in specs[role]["volumes"]}
        mounted = {mount["mountPath"]: (volumes[mount["name"]], mount) for mount in container["volumeMounts"]}
        assert mounted["/mnt/settings"][0]["configMap"] == {"name": "settings"}
        assert mounted["/mnt/login"][0]["secret"] == {"secretName": "login"}
        assert mounted["/mnt/data/in"][0]["persistentVolumeClaim"] == {"claimName": "data"}
        assert mounted["/mnt/data/in"][1]["readOnly"]
        assert mounted["/mnt/data/out"][0]["emptyDir"] == {"sizeLimit": 2**30}
        assert len(volumes) == len(specs[role]["volumes"]) == len(mounted)


@pytest.mark.parametrize(
    "in_path", [{"proxy": {"kind": "nginx"}}, {"gateway": {"policy": "pool"}}], ids=["proxy", "gateway"]
)
def test_a_program_in_the_path_has_nothing_that_is_for_the_targets_own_image(in_path: dict[str, Any]) -> None:
    plain, own = (
        pod_specs(plans.plan(plans.quickstart(target={"managed": {**in_path, **added}}))) for added in ({}, EVERYTHING)
    )
    (role,) = in_path
    assert own[role]["volumes"] == plain[role]["volumes"]
    for name in ("env", "volumeMounts"):
        assert own[role]["containers"][0].get(name) == plain[role]["containers"][0].get(name)


def test_the_master_has_the_workers_labels_and_accounts_and_nothing_that_is_for_their_code() -> None:
    plan = with_everything()
    (master,) = (one for one in templates(plan) if one["spec"]["containers"][0]["name"] == "master")
    assert master["metadata"]["labels"].items() >= EVERYTHING["labels"].items()
    assert master["metadata"]["annotations"].items() >= EVERYTHING["annotations"].items()
    assert (master["spec"]["serviceAccountName"], master["spec"]["runtimeClassName"]) == ("load", "gvisor")
    assert "env" not in master["spec"]["containers"][0]
    assert {volume["name"] for volume in master["spec"]["volumes"]} == {"config", "tmp"}


def test_no_pod_has_a_token_of_the_service_account_that_its_test_names() -> None:
    for spec in pod_specs(with_everything()).values():
        assert spec["serviceAccountName"] == "load"
        assert not spec["automountServiceAccountToken"]
        assert not any("serviceAccountToken" in str(volume) for volume in spec["volumes"])


def test_the_installers_labels_and_the_runs_own_precede_those_of_the_test() -> None:
    labels = {"team": "theirs", "sidecar.istio.io/inject": "true"}
    settings = RunPods(user_id=10_001, labels={"team": "hpc"}, annotations={"note": "ours"})
    installation = replace(plans.INSTALLATION, run_pods=settings)
    spec = plans.quickstart(workers={"labels": labels, "annotations": {"note": "theirs"}})
    for template in templates(plans.plan(spec, installation=installation)):
        role = template["spec"]["containers"][0]["name"]
        assert (template["metadata"]["labels"]["team"], template["metadata"]["annotations"]["note"]) == ("hpc", "ours")
        assert template["metadata"]["labels"]["sidecar.istio.io/inject"] == ("false" if role == "target" else "true")


def test_an_installation_without_network_policies_makes_none() -> None:
    assert list(made(run_pods(network_policies=False), "NetworkPolicy")) == []


def test_the_installers_egress_rules_are_added_to_every_policy() -> None:
    rule = {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}
    policies = list(made(run_pods(extra_egress=(rule,)), "NetworkPolicy"))
    assert len(policies) == 3
    assert all(rule in policy["spec"]["egress"] for policy in policies)


def test_every_pod_asks_for_a_node_with_linux() -> None:
    assert all(spec["nodeSelector"] == {"kubernetes.io/os": "linux"} for spec in pod_specs(MANAGED).values())


def test_the_home_of_a_target_has_room_for_its_fixtures() -> None:
    fixtures = {"files": [{"path": "big", "size": "10Gi"}], "directories": [{"path": "many", "files": 100_000}]}
    plan = plans.plan(plans.quickstart(target={"managed": {"fixtures": fixtures}}))
    (home,) = (volume for volume in pod_specs(plan)["target"]["volumes"] if volume["name"] == "home")
    assert int(home["emptyDir"]["sizeLimit"].removesuffix("Mi")) >= 10 * 1024 + 400


def test_the_home_of_a_target_has_room_for_its_repositories_and_for_what_is_written() -> None:
    fixtures = {"repositories": [{"path": "big.git", "commits": 1000, "size": "1Gi"}], "spare": "2Gi"}
    plan = plans.plan(plans.quickstart(target={"managed": {"fixtures": fixtures}}))
    (home,) = (volume for volume in pod_specs(plan)["target"]["volumes"] if volume["name"] == "home")
    assert int(home["emptyDir"]["sizeLimit"].removesuffix("Mi")) >= 3 * 1024 + 3 * 1000 * 4 // 1024


@pytest.mark.parametrize(
    ("fixtures", "mib"),
    [
        pytest.param({}, 0, id="nothing"),
        pytest.param({"files": [{"path": "a", "size": "3Mi"}]}, 4, id="a block more than a file"),
        pytest.param({"directories": [{"path": "a", "files": 255}]}, 1, id="a block for each file and their directory"),
        pytest.param({"directories": [{"path": "a", "files": 256}]}, 2, id="one file more"),
        pytest.param({"repositories": [{"path": "a.git", "commits": 63, "size": "4Ki"}]}, 1, id="63 times 3 objects"),
        pytest.param({"repositories": [{"path": "a.git", "commits": 64, "size": "4Ki"}]}, 2, id="one commit more"),
    ],
)
def test_a_home_has_whole_mebibytes_for_the_blocks_of_its_fixtures_beside_what_may_be_written_and_one_of_its_own(
    fixtures: dict[str, Any], mib: int
) -> None:
    plan = plans.plan(plans.quickstart(target={"managed": {"fixtures": fixtures}}))
    (home,) = (volume for volume in pod_specs(plan)["target"]["volumes"] if volume["name"] == "home")
    assert home["emptyDir"]["sizeLimit"] == f"{256 + mib + 1}Mi"


def test_pull_secrets_of_test_and_installation_come_each_once() -> None:
    installation = replace(plans.INSTALLATION, image_pull_policy="Always", image_pull_secrets=("shared", "ours"))
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


def test_pods_whose_test_asks_for_neither_have_the_installers_affinity_and_priority() -> None:
    zone = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}}
    settled = RunPods(user_id=10_001, affinity={"nodeAffinity": zone}, priority_class_name="load")
    own = {"workers": {"affinity": {"nodeAffinity": {}}, "priorityClassName": "own"}}
    installation = replace(plans.INSTALLATION, run_pods=settled)
    found = pod_specs(plans.plan(plans.quickstart(**own), installation=installation))
    assert {role: spec["priorityClassName"] for role, spec in found.items()} == {
        "target": "load",
        "master": "own",
        "worker": "own",
    }
    assert found["target"]["affinity"] == {"nodeAffinity": zone}
    assert found["worker"]["affinity"] == {"nodeAffinity": {}}
    unasked = pod_specs(plans.plan(installation=installation))["worker"]["affinity"]
    assert unasked["nodeAffinity"] == zone
    assert "podAntiAffinity" in unasked, "workers still stay away from the target's node"


RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
OF_BASELINE = {
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}
"""The capabilities that Pod Security "baseline" lets a container add."""


def system(installation: Installation = plans.INSTALLATION, **fields: Any) -> dict[str, dict[str, Any]]:
    """Return the pods of a run against a managed system, by their roles."""
    managed = {"system": fields.pop("system", {}), **fields}
    return pod_specs(plans.plan(plans.quickstart(target={"managed": managed}), installation=installation))


def test_root_of_a_system_is_root_in_a_user_namespace_with_few_capabilities_and_nothing_beside_it_is() -> None:
    pods = system()
    target = pods.pop("target")
    assert target["hostUsers"] is False
    security = {"runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    assert target["securityContext"] == security
    (container,) = target["containers"]
    assert container["securityContext"].pop("capabilities") == {"drop": ["ALL"], "add": sorted(CAPABILITIES)}
    assert CAPABILITIES.keys() <= OF_BASELINE
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": False}
    for role, spec in pods.items():
        assert spec["securityContext"]["runAsNonRoot"], role
        assert "hostUsers" not in spec
        assert "initContainers" not in spec
        assert spec["containers"][0]["securityContext"] == RESTRICTED


@pytest.mark.parametrize("user_id", [10_001, 4711, None])
def test_before_root_does_anything_an_image_of_the_installers_proves_the_namespace_without_any_privilege(
    user_id: int | None,
) -> None:
    installation = replace(plans.INSTALLATION, run_pods=RunPods(user_id=user_id))
    target = system(installation, image="registry.example.com/own:1")["target"]
    proof, copy = target["initContainers"]
    assert (proof["name"], proof["image"]) == ("user-namespace", plans.INSTALLATION.system_image)
    own = {"runAsNonRoot": True, "runAsUser": user_id or 10_001, "runAsGroup": user_id or 10_001}
    assert proof["securityContext"] == {**own, **RESTRICTED}
    assert "volumeMounts" not in proof
    assert copy["image"] == target["containers"][0]["image"] == "registry.example.com/own:1"
    assert copy["securityContext"]["capabilities"]["add"] == ["CHOWN", "DAC_OVERRIDE", "FOWNER"]


def test_a_system_without_a_user_namespace_needs_no_proof_of_one() -> None:
    target = system(system={"userNamespace": False})["target"]
    assert "hostUsers" not in target
    added = target["containers"][0]["securityContext"]["capabilities"]["add"]
    assert added == [*CAPABILITIES, *WITHOUT_USER_NAMESPACE]
    assert OF_BASELINE.issuperset(added)
    assert [one["name"] for one in target["initContainers"]] == ["private-etc"]


def test_only_root_of_a_system_may_read_its_keys_and_its_etc_is_a_volume_of_its_own() -> None:
    target = system()["target"]
    (config,) = (volume for volume in target["volumes"] if volume["name"] == "config")
    assert config["projected"]["defaultMode"] == 0o400
    mounted = {mount["mountPath"]: mount["name"] for mount in target["containers"][0]["volumeMounts"]}
    assert mounted["/etc"] == target["initContainers"][1]["volumeMounts"][0]["name"]
    assert mounted["/etc"] in {volume["name"] for volume in target["volumes"] if "emptyDir" in volume}


@pytest.mark.parametrize(
    ("asked", "limit"),
    [({}, None), ({"limits": {"cpu": "2"}}, None), ({"limits": {"ephemeral-storage": "9Gi"}}, "9Gi")],
)
def test_what_root_of_a_system_may_write_is_bounded(asked: dict[str, Any], limit: str | None) -> None:
    target = system(resources=asked)["target"]
    limits = target["containers"][0]["resources"]["limits"]
    homes = next(volume["emptyDir"]["sizeLimit"] for volume in target["volumes"] if volume["name"] == "home")
    assert limits == {**asked.get("limits", {}), "ephemeral-storage": limit or limits["ephemeral-storage"]}
    assert limit or int(limits["ephemeral-storage"].removesuffix("Mi")) > int(homes.removesuffix("Mi"))


def test_a_system_has_an_image_of_its_own_unless_its_author_names_one() -> None:
    assert system()["target"]["containers"][0]["image"] == plans.INSTALLATION.system_image
    assert pod_specs(MANAGED)["target"]["containers"][0]["image"] == plans.INSTALLATION.target_image
