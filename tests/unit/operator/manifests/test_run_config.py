"""What the pods are told follows from the spec, and can be read back."""

import json
from typing import Any

import plans
import pytest
from sshload_contract.codec import from_json
from sshload_contract.run_config import RunConfig
from sshload_contract.target_config import TargetConfig
from sshload_operator.manifests import Places, children, cluster_places, run_config
from sshload_operator.planning.plan import Plan


def told(plan: Plan) -> dict[str, str]:
    (config_map,) = (made for made in children(plan) if made["kind"] == "ConfigMap")
    data: dict[str, str] = config_map["data"]
    return data


def test_the_mounted_texts_are_what_the_contract_reads() -> None:
    plan = plans.plan()
    texts = told(plan)
    assert from_json(RunConfig, texts["run.json"]) == run_config(plan, cluster_places(plan))
    assert from_json(TargetConfig, texts["target.json"]).sshd_port == run_config(plan, cluster_places(plan)).target.port


def test_an_external_target_is_told_nothing_and_has_no_counts() -> None:
    plan = plans.plan(plans.quickstart(target={"external": plans.EXTERNAL}))
    texts = told(plan)
    assert set(texts) == {"run.json"}
    assert json.loads(texts["run.json"])["stats_url"] == ""


def test_percentiles_of_thresholds_are_published_with_the_usual_ones() -> None:
    thresholds = [{"latency": {"step": "total", "percentile": percentile, "below": "1s"}} for percentile in (99, 97.5)]
    plan = plans.plan(plans.quickstart(thresholds=thresholds))
    assert run_config(plan, cluster_places(plan)).percentiles == (50.0, 90.0, 95.0, 97.5, 99.0, 99.9)


@pytest.mark.parametrize(
    ("steps", "drain_s"),
    [
        pytest.param([{"exec": {"command": "true"}}], 6.0, id="one command"),
        pytest.param([{"exec": {"name": "a", "command": "true"}}, {"sleep": "3s"}], 9.0, id="a sleep too"),
        pytest.param([{"exec": {"command": "true"}}, {"sleep": "10m"}], 60.0, id="at most a minute"),
    ],
)
def test_the_drain_lasts_as_long_as_the_slowest_iteration_can(steps: list[dict[str, Any]], drain_s: float) -> None:
    timeouts = dict.fromkeys(("connect", "banner", "kex", "auth", "channel", "step"), "1s")
    plan = plans.plan(plans.quickstart(scenario={"steps": steps}, client={"timeouts": timeouts}))
    assert run_config(plan, cluster_places(plan)).drain_s == drain_s


def test_a_run_elsewhere_differs_by_its_places_only() -> None:
    plan = plans.plan()
    here = cluster_places(plan)
    there = Places(endpoint=cluster_places(plans.plan(name="other")).endpoint, stats_url="http://127.0.0.1:1/stats")
    one, other = run_config(plan, here), run_config(plan, there)
    differing = {name for name in RunConfig.__slots__ if getattr(one, name) != getattr(other, name)}
    assert differing == {"target", "stats_url"}
