"""Each case is a target's `sshd` and the sshd_config that comes of it."""

from collections.abc import Callable
from pathlib import Path

import plans
import pytest
import yaml
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.manifests.target import sshd_config

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/spec.yaml"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_the_knobs_become_this_sshd_config(case: Path, golden: Callable[[Path, str], None]) -> None:
    sshd = yaml.safe_load((case / "spec.yaml").read_text())
    target = plans.plan(plans.quickstart(target={"managed": {"sshd": sshd}})).spec.target
    assert isinstance(target, ManagedTarget)
    golden(case / "expected.conf", sshd_config(target))
