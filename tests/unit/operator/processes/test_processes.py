"""processes_per_pod: one process for each whole CPU, unless the test says otherwise."""

from fractions import Fraction
from typing import Any

import pytest
from plans import plan, quickstart
from sshload_operator.planning.processes import cpus


@pytest.mark.parametrize(
    ("amount", "whole"),
    [
        pytest.param("1500m", Fraction(3, 2), id="thousandths"),
        pytest.param("0.5", Fraction(1, 2), id="a half"),
        pytest.param(3, Fraction(3), id="a number"),
        pytest.param(1.5, Fraction(3, 2), id="a number with a point"),
        pytest.param("1k", Fraction(1000), id="thousands"),
        pytest.param("1Ki", Fraction(1024), id="1024"),
    ],
)
def test_amounts_of_cpu_are_read_as_kubernetes_writes_them(amount: Any, whole: Fraction) -> None:
    assert cpus(amount) == whole


@pytest.mark.parametrize("amount", ["many", "1x", "m", ""])
def test_what_is_no_amount_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of CPU"):
        cpus(amount)


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
