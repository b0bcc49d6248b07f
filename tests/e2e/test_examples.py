"""The examples that need nothing beforehand: each passes, with a shorter load, and only slowness fails any of it."""

from pathlib import Path

import pytest
from live_cluster import LiveCluster
from short_examples import EXAMPLES, is_of_a_system, short_example
from yaml import safe_load_all

WITHIN_S = 300


def needs_nothing(path: Path) -> bool:
    """Tell whether it is a test that needs nothing beforehand and has no other file of tests."""
    specs = [item["spec"] for item in safe_load_all(path.read_text()) if item["kind"] == "SSHLoadTest"]
    return bool(specs) and not any(
        "external" in spec["target"] or "capacity" in spec["load"] or "baseline" in spec or is_of_a_system(spec)
        for spec in specs
    )


SELF_CONTAINED = [
    path for path in sorted(EXAMPLES.glob("*.yaml")) if needs_nothing(path) and path.stem != "01-quickstart"
]


IN_EVERY_RUN = {"12-locustfile", "23-replay"}
"""Those whose pods are given a file of a ConfigMap. tests/integration/worker plays the steps of the others."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in IN_EVERY_RUN else pytest.mark.full)
        for path in SELF_CONTAINED
    ],
)
def test_the_example_passes(path: Path, cluster: LiveCluster) -> None:
    *needed, test = short_example(path.stem)
    if needed:
        cluster.apply(*needed)
    status = cluster.run(test, WITHIN_S)
    reason = "ThresholdsMet" if test["spec"].get("thresholds") else "NoThresholds"
    assert (status["verdict"], status["reason"]) == ("Passed", reason), status["message"]
    errors = status["results"].get("errors", ())
    assert [error for error in errors if not error["outcome"].endswith("Timeout")] == []
