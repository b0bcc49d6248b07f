"""Names and labels tie a run's objects together, and keep runs apart."""

import re

import plans
import pytest
from plans import PROOF_SHA256, TOKEN
from specs.spec import Spec
from sshload_operator.manifests import Part, child_name, child_ref, children, keys_secret, swept
from sshload_operator.manifests.children import key_files
from sshload_operator.manifests.labels import membership_of_job, membership_of_pod
from sshload_operator.state import Manifest, Role

NAMES = ("n" * 40, "n" * 253, f"{'n.' * 126}n", "9", "a.b")
MOST_WORKERS = 200
DNS_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
THROUGH_A_PROXY = plans.quickstart(target={"managed": {"proxy": {"kind": "haproxy"}}})
THROUGH_A_GATEWAY = plans.quickstart(target={"managed": {"gateway": {"policy": "pool"}}})


@pytest.mark.parametrize("test", NAMES)
def test_every_test_name_leaves_room_for_every_name_and_for_a_workers_host_name(test: str) -> None:
    plan = plans.plan(name=test)
    for part in (*Part, *Role):
        name = child_name(plan, part)
        assert DNS_LABEL.fullmatch(name)
        assert len(f"{name}-{MOST_WORKERS - 1}") <= 63


def test_two_runs_of_a_test_share_no_object() -> None:
    one, other = plans.plan(run_id="a" * 10), plans.plan(run_id="b" * 10)
    assert not {child_ref(made) for made in children(one, PROOF_SHA256)} & {
        child_ref(made) for made in children(other, PROOF_SHA256)
    }


def test_a_plan_always_gives_the_same_objects() -> None:
    assert children(plans.plan(), PROOF_SHA256) == children(plans.plan(), PROOF_SHA256)


@pytest.mark.parametrize("test", NAMES)
def test_everything_of_a_run_but_its_results_is_swept(test: str) -> None:
    made = set()
    for spec in (THROUGH_A_PROXY, THROUGH_A_GATEWAY):
        plan = plans.plan(spec, name=test)
        secret = keys_secret(plan, TOKEN, dict.fromkeys(key_files(plan), ""))
        made |= {child_ref(manifest) for manifest in (*children(plan, PROOF_SHA256), secret)}
    assert made == set(swept(plan.test, plan.run_id))


def test_an_external_target_makes_nothing_that_is_not_swept() -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))
    made = {child_ref(manifest) for manifest in children(plan, PROOF_SHA256)}
    assert made < set(swept(plan.test, plan.run_id))
    assert not any(name.endswith(("-target", "-proxy", "-gateway", "-keys")) for name in (ref.name for ref in made))


def test_the_load_is_swept_before_what_it_loads() -> None:
    kinds = [ref.kind for ref in swept(plans.plan().test, "a1b2c3d4e5")]
    assert kinds[:3] == ["Job", "Job", "Deployment"]


def test_the_policies_are_applied_before_any_pod() -> None:
    kinds = [manifest["kind"] for manifest in children(plans.plan(), PROOF_SHA256)]
    last_policy = max(index for index, kind in enumerate(kinds) if kind == "NetworkPolicy")
    assert last_policy < min(kinds.index("Deployment"), kinds.index("Job"))


def test_every_object_is_owned_by_its_test_and_labelled_with_its_run() -> None:
    plan = plans.plan()
    for manifest in children(plan, PROOF_SHA256):
        metadata = manifest["metadata"]
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == [plan.test.uid]
        assert not metadata["ownerReferences"][0]["blockOwnerDeletion"]
        assert metadata["labels"]["sshload.dev/run-id"] == plan.run_id
        assert metadata["namespace"] == plan.test.namespace


@pytest.mark.parametrize("spec", [THROUGH_A_PROXY, THROUGH_A_GATEWAY])
@pytest.mark.parametrize("test", NAMES)
def test_the_jobs_and_pods_of_a_run_are_known_as_such_whatever_the_test_s_name(test: str, spec: Spec) -> None:
    plan = plans.plan(spec, name=test)
    for manifest in children(plan, PROOF_SHA256):
        if manifest["kind"] in {"Job", "Deployment"}:
            assert belongs(manifest) == (manifest["kind"] == "Job")
            name = manifest["metadata"]["name"]
            maker = {"Job": ("Job", name), "Deployment": ("ReplicaSet", f"{name}-5c9f")}[manifest["kind"]]
            owner = {"kind": maker[0], "name": maker[1], "uid": "maker", "controller": True}
            pod = {**manifest["spec"]["template"]["metadata"], "name": "pod", "ownerReferences": [owner]}
            found = membership_of_pod(pod)
            assert found is not None
            assert (found.test, found.run_id, found.controller_uid) == (test, plan.run_id, "maker")


def belongs(manifest: Manifest) -> bool:
    found = membership_of_job(manifest["metadata"])
    return found is not None and found.test == manifest["metadata"]["ownerReferences"][0]["name"]


def test_a_pod_that_claims_another_name_than_its_label_stands_for_is_none_of_a_run() -> None:
    plan = plans.plan(name="n" * 253)
    workers = children(plan, PROOF_SHA256)[-1]
    template = workers["spec"]["template"]["metadata"]
    owner = {"kind": "Job", "name": workers["metadata"]["name"], "uid": "maker", "controller": True}
    pod = {**template, "name": "pod", "ownerReferences": [owner]}
    assert membership_of_pod(pod) is not None
    for claimed in ("n" * 252, "other", "", template["labels"]["sshload.dev/test"]):
        annotations = {**template["annotations"], "sshload.dev/test": claimed}
        assert membership_of_pod({**pod, "annotations": annotations}) is None


def test_an_object_is_addressed_as_the_api_server_has_it() -> None:
    job = next(child_ref(made) for made in children(plans.plan(), PROOF_SHA256) if made["kind"] == "Job")
    assert job.api_path == "/apis/batch/v1/namespaces/load-tests/jobs/quickstart-a1b2c3d4e5-master"
