"""The Secret of a run holds exactly what its pods mount."""

import json

import plans
import pytest
from plans import PROOF_SHA256, TOKEN
from sshload_operator.manifests import KEY_FILES, children, keys_secret
from sshload_operator.manifests.gateway import credential_request


def test_the_secret_holds_every_file_that_a_pod_mounts_from_it() -> None:
    plan = plans.plan(plans.quickstart(client={"auth": "certificate"}))
    secret = keys_secret(plan, TOKEN, dict.fromkeys(KEY_FILES, "text"))
    owners = (made for made in children(plan, PROOF_SHA256) if made["kind"] in ("Deployment", "Job"))
    volumes = (volume for owner in owners for volume in owner["spec"]["template"]["spec"]["volumes"])
    sources = [source for volume in volumes for source in volume.get("projected", {}).get("sources", ())]
    mounted = [source["secret"] for source in sources if "secret" in source]
    assert {source["name"] for source in mounted} == {secret["metadata"]["name"]}
    assert {item["key"] for source in mounted for item in source["items"]} == set(secret["stringData"])


def test_a_run_against_an_external_target_has_no_keys_but_its_token() -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))
    assert keys_secret(plan, TOKEN, {})["stringData"] == {"run_token": TOKEN}


@pytest.mark.parametrize(
    "files",
    [pytest.param(KEY_FILES[1:], id="one missing"), pytest.param((*KEY_FILES, "id_rsa"), id="one too many")],
)
def test_any_other_set_of_keys_is_refused(files: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="the keys of this run are"):
        keys_secret(plans.plan(), TOKEN, dict.fromkeys(files, "text"))


def test_the_gateway_is_told_each_host_key_by_its_type_and_its_text() -> None:
    known_hosts = "[target]:2222 ssh-ed25519 AAAA1\n[target]:2222 ecdsa-sha2-nistp256 AAAA2\n"
    told = json.loads(credential_request("target", 2222, "load", "the private key", known_hosts))
    assert {name: told[name] for name in ("host", "port", "user", "privateKey", "hostKeys")} == {
        "host": "target",
        "port": 2222,
        "user": "load",
        "privateKey": "the private key",
        "hostKeys": ["ssh-ed25519 AAAA1", "ecdsa-sha2-nistp256 AAAA2"],
    }
