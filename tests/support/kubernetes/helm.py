"""helm, as `scripts/tool` finds it or makes it, and the project's chart."""

import functools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "sshload"
RELEASE = "sshload"
NAMESPACE = "sshload-system"
NEEDED_VALUES = ROOT / "tests/golden/chart/defaults/values.yaml"
"""What every installation has to set."""
IN_CLUSTER = "--api-versions=apiregistration.k8s.io/v1"
"""Lets `helm template` make what helm makes when it speaks to a cluster."""
_LIMIT_S = 300


@functools.cache
def helm_path() -> str:
    """Return the path of helm 4."""
    given = os.environ.get("SSHLOAD_HELM")
    return (
        given
        or subprocess.run([ROOT / "scripts/tool", "helm"], check=True, capture_output=True, text=True).stdout.strip()
    )


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run helm, and return how it ended and what it said."""
    return subprocess.run([helm_path(), *arguments], capture_output=True, text=True, check=False, timeout=_LIMIT_S)


@functools.cache
def template(*arguments: str | Path) -> str:
    """Return what helm makes of the chart and NEEDED_VALUES in a cluster; raises AssertionError with helm's words."""
    where = (f"--namespace={NAMESPACE}", IN_CLUSTER)
    done = helm("template", RELEASE, CHART, *where, "--values", NEEDED_VALUES, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(*arguments: str | Path) -> Sequence[dict[str, Any]]:
    """Return the objects that the chart makes, without the CRDs: helm takes four times as long with them."""
    return objects_and_crds("--set", "crds.install=false", *arguments)


def objects_and_crds(*arguments: str | Path) -> Sequence[dict[str, Any]]:
    """Return all objects that the chart makes."""
    found = yaml.load_all(template(*arguments), Loader=yaml.CSafeLoader)  # the CRDs take seconds in Python
    return [one for one in found if one]
