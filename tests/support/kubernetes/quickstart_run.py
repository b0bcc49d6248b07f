"""The example of a first test, run once on the cluster: many tests read what became of it."""

from collections.abc import Mapping
from typing import Any

from generator_reruns import lagged_figures, rerun_while_lagging
from live_cluster import LiveCluster
from short_examples import short_test

NAME = "quickstart"
COMMAND = "sleep 2; uptime"
"""It takes so long that a generator's delay has to be long to spoil a baseline."""


def example(name: str) -> dict[str, Any]:
    """Return an example with this command."""
    test = short_test(name)
    (step,) = test["spec"]["scenario"]["steps"]
    step["exec"]["command"] = COMMAND
    return test


def run_quickstart(cluster: LiveCluster) -> dict[str, Any]:
    """Return how the example of a first test ended; again where the generator's delays would make it nobody's baseline.

    Its own thresholds can be met all the same: what they allow is more.
    """

    def run() -> dict[str, Any]:
        if cluster.exists("sshloadtest", NAME):
            cluster.delete("sshloadtest", NAME)
            cluster.gone(lambda: cluster.children(NAME), "children of the test before")
        return cluster.run(example("01-quickstart"))

    return rerun_while_lagging(run, _as_a_baseline)


def _as_a_baseline(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what to say of a run that cannot be compared because its generator lagged, nothing of any other."""
    found = lagged_figures(status)
    return {} if found is status else found
