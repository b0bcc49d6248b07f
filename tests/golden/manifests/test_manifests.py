"""Each case is a spec and all objects of its run; texts within the ConfigMap are shown as what they say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plans
import pytest
import yaml
from plans import PROOF_SHA256, TOKEN
from sshload_operator.manifests import children, key_files, keys_secret
from sshload_operator.state import Manifest

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/spec.yaml"))


def readable(manifest: Manifest) -> dict[str, Any]:
    if manifest["kind"] != "ConfigMap":
        return dict(manifest)
    return {
        **manifest,
        "data": {name: readable_text(name, text) for name, text in manifest["data"].items()},
    }


def readable_text(name: str, text: str) -> Any:
    return json.loads(text, object_hook=opened) if name.endswith(".json") else text.splitlines()


def opened(said: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the lines of sshd's configuration, and with what the gateway's says."""
    if "sshd_config" in said:
        return {**said, "sshd_config": said["sshd_config"].splitlines()}
    return {**said, "config": json.loads(said["config"])} if str(said.get("config")).startswith("{") else said


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_spec_becomes_these_objects(case: Path, golden: Callable[[Path, str], None]) -> None:
    plan = plans.plan(yaml.safe_load((case / "spec.yaml").read_text()), installation=plans.LISTING)
    manifests = list(children(plan, PROOF_SHA256))
    manifests.append(keys_secret(plan, TOKEN, {file: f"<{file}>" for file in key_files(plan)}))
    golden(case / "expected.yaml", yaml.safe_dump_all(map(readable, manifests), sort_keys=False, width=120))
