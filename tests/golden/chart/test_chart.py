"""Each case is a values file and what the chart makes of it, without the CRDs, which are compared with crds/ apart."""

from collections.abc import Callable
from pathlib import Path

import helm
import pytest

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/values.yaml"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_values_become_these_objects(case: Path, golden: Callable[[Path, str], None]) -> None:
    golden(case / "expected.yaml", helm.template("--values", case / "values.yaml", "--set", "crds.install=false"))


@pytest.mark.slow
def test_helm_lint_finds_nothing() -> None:
    """With the chart's own default values, and what has to be set."""
    done = helm.helm("lint", "--strict", helm.CHART, "--values", helm.NEEDED_VALUES)
    assert done.returncode == 0, done.stdout + done.stderr
