"""processes_per_pod: one process for each whole CPU, unless the test says otherwise."""

from typing import Any

import pytest
from plans import plan, quickstart


@pytest.mark.parametrize(
    ("workers", "processes"),
    [
        pytest.param({"processesPerPod": 3, "resources": {"limits": {"cpu": "8"}}}, 3, id="as the test says"),
        pytest.param({"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}, 2, id="by the limit"),
        pytest.param({"resources": {"requests": {"cpu": 4}}}, 4, id="by the request without a limit"),
        pytest.param({"resources": {"limits": {"cpu": "2900m"}}}, 2, id="whole CPUs only"),
        pytest.param({"resources": {"requests": {"cpu": "80m"}}}, 1, id="one at least"),
        pytest.param({"resources": {"limits": {"memory": "1Gi"}}}, 1, id="no CPU named"),
        pytest.param({}, 1, id="the installation's"),
    ],
)
def test_a_pod_runs_a_process_for_each_whole_cpu(workers: dict[str, Any], processes: int) -> None:
    assert plan(quickstart(workers=workers)).processes_per_pod == processes


def test_all_pods_together_run_that_many_workers() -> None:
    assert plan(quickstart(workers={"replicas": 3, "resources": {"limits": {"cpu": 2}}})).workers == 6
