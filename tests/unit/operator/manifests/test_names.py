"""Names and labels tie a run's objects together, and keep runs apart."""

import re

import plans
from plans import PROOF_SHA256, TOKEN
from sshload_operator.manifests import Part, child_name, child_ref, children, keys_secret, swept
from sshload_operator.manifests.secret import KEY_FILES

LONGEST_NAME = "n" * 40
MOST_WORKERS = 200
DNS_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")


def test_the_longest_test_name_leaves_room_for_every_name_and_for_a_workers_host_name() -> None:
    plan = plans.plan(name=LONGEST_NAME)
    for part in Part:
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


def test_everything_of_a_run_but_its_results_is_swept() -> None:
    plan = plans.plan()
    secret = keys_secret(plan, TOKEN, dict.fromkeys(KEY_FILES, ""))
    made = {child_ref(manifest) for manifest in (*children(plan, PROOF_SHA256), secret)}
    assert made == set(swept(plan.test, plan.run_id))


def test_an_external_target_makes_nothing_that_is_not_swept() -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))
    made = {child_ref(manifest) for manifest in children(plan, PROOF_SHA256)}
    assert made < set(swept(plan.test, plan.run_id))
    assert not any(name.endswith(("-target", "-keys")) for name in (ref.name for ref in made))


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


def test_an_object_is_addressed_as_the_api_server_has_it() -> None:
    job = next(child_ref(made) for made in children(plans.plan(), PROOF_SHA256) if made["kind"] == "Job")
    assert job.api_path == "/apis/batch/v1/namespaces/load-tests/jobs/quickstart-a1b2c3d4e5-master"
