"""The shortened examples: the same tests, with a load of seconds that still makes enough samples for each promise."""

from typing import Any

import pytest
import yaml
from short_examples import EXAMPLES, SHORT_LOADS, least_iterations, short_example
from sshload_contract.judgement.binomial import tries_needed
from sshload_contract.percentiles import samples_needed
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, Threshold
from sshload_operator.api.load_test import parse

ON_OTHER_SERVERS = {"05-own-server", "09-jump-host"}
LONGEST_ITERATION_S = 2.0
LONGEST_S = 32.0


def spec_of(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the spec of an example's test, or of a comparison's base."""
    (found,) = (item for item in documents if item["kind"].startswith("SSHLoadTest"))
    spec: dict[str, Any] = found["spec"]
    for key in ("base", "testTemplate", "spec"):
        spec = spec.get(key, spec)
    return spec


@pytest.mark.parametrize("name", SHORT_LOADS)
def test_only_the_load_with_its_pause_the_warm_up_and_limits_differ_from_the_example(name: str) -> None:
    written = spec_of(list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())))
    short = spec_of(short_example(name))
    assert short["load"].keys() == written["load"].keys()
    for spec in (written, short):
        del spec["load"]
        spec.pop("warmUp", None)
        spec["target"].get("managed", {}).get("system", {}).get("ldap", {}).pop("pause", None)
        for threshold in spec.get("thresholds", ()):
            for kind in ("latency", "errorRate"):
                threshold.get(kind, {}).pop("below", None)
            threshold.get("latency", {}).pop("percentile", None)
            threshold.get("throughput", {}).pop("above", None)
    assert short == written


@pytest.mark.parametrize("name", SHORT_LOADS)
def test_a_short_load_makes_enough_samples_and_takes_seconds(name: str) -> None:
    spec = parse(spec_of(short_example(name)))
    judged = [one for one in spec.thresholds if not spec.load.is_search or not isinstance(one, ErrorRateThreshold)]
    needed = [_needed(threshold) for threshold in judged]
    assert least_iterations(spec, LONGEST_ITERATION_S) > max(needed, default=0)  # one may fail
    assert spec.warm_up_s + spec.load.least.lasts_s <= LONGEST_S


def _needed(threshold: Threshold) -> int:
    """Return how many iterations a promise needs."""
    if isinstance(threshold, ErrorRateThreshold):
        return tries_needed(0, 1, threshold.below) or 0
    return samples_needed(threshold.percentile) if isinstance(threshold, LatencyThreshold) else 0


def test_every_other_example_has_a_short_load() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} - ON_OTHER_SERVERS == SHORT_LOADS.keys()
