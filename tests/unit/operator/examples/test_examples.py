"""The examples: each is a whole valid test that its load can decide."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from plans import INSTALLATION
from short_examples import least_iterations
from sshload_contract.percentiles import samples_needed
from sshload_contract.thresholds import LatencyThreshold
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.kinds import COMPARISON, SCHEDULE, TEST
from sshload_operator.api.load_test import parse
from sshload_operator.api.schedule.spec import parse_schedule
from sshload_operator.api.spec import LoadTestSpec, LocustfileRef
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.decision.comparison.interval import FEWEST_ROUNDS
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.plan import TestIdentity, make_plan
from sshload_operator.planning.preflight import preflight

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "examples"
CHART = ROOT / "charts/sshload"
DOCUMENTS = {path.stem: list(yaml.safe_load_all(path.read_text())) for path in sorted(FOLDER.glob("*.yaml"))}
# Where the spec of a test stands, by the kind of what holds it.
SPECS = {TEST.name: ("spec",), SCHEDULE.name: ("spec", "testTemplate", "spec"), COMPARISON.name: ("spec", "base")}
EXAMPLES = {
    name: next(document for document in documents if document["kind"] in SPECS) for name, documents in DOCUMENTS.items()
}
ALL = [pytest.param(name, id=name) for name in EXAMPLES]
COMPARISONS = [name for name, example in EXAMPLES.items() if example["kind"] == COMPARISON.name]
SLOWEST_ITERATION_S = 3.0
SETTLING_S = 2.0


def read(name: str) -> LoadTestSpec:
    """Return the spec of an example."""
    return parse(written(name))


def written(name: str) -> dict[str, Any]:
    """Return the spec of an example's test as it is written."""
    found: dict[str, Any] = EXAMPLES[name]
    for key in SPECS[found["kind"]]:
        found = found[key]
    return found


def test_they_are_numbered_without_gaps() -> None:
    assert [int(name.partition("-")[0]) for name in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("name", ALL)
def test_an_example_is_called_as_its_file(name: str) -> None:
    assert EXAMPLES[name]["metadata"]["name"] == name.partition("-")[2]


@pytest.mark.parametrize("name", ALL)
def test_an_example_is_one_test_or_one_object_that_makes_tests(name: str) -> None:
    assert [document["kind"] in SPECS for document in DOCUMENTS[name]].count(True) == 1


@pytest.mark.parametrize("name", ALL)
def test_an_example_passes_the_preflight_where_its_target_is_allowed(name: str) -> None:
    spec = read(name)
    plan = make_plan(TestIdentity("default", name, "uid", 1), spec, INSTALLATION, 1)
    refusal = preflight(plan)
    assert (refusal is None) == isinstance(spec.target, ManagedTarget)


@pytest.mark.parametrize("name", ALL)
def test_an_example_makes_enough_samples_for_its_percentiles(name: str) -> None:
    spec = read(name)
    wanted = [threshold.percentile for threshold in spec.thresholds if isinstance(threshold, LatencyThreshold)]
    assert wanted
    assert all(least_iterations(spec, SLOWEST_ITERATION_S) >= samples_needed(percentile) for percentile in wanted)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "managed" in written(name)["target"]])
def test_an_example_with_a_target_of_its_own_takes_less_than_a_minute(name: str) -> None:
    spec = read(name)
    assert spec.warm_up_s + spec.load.least.lasts_s < 60


def variants(name: str) -> dict[str, LoadTestSpec]:
    """Return the specs of a comparison's tests."""
    example = EXAMPLES[name]
    compared = parse_comparison(example["spec"])
    assert compared.repeats >= FEWEST_ROUNDS
    return {variant.name: variant.spec for variant in compared.variants}


@pytest.mark.parametrize("name", COMPARISONS)
def test_every_variant_of_a_comparison_is_a_test_as_good_as_its_base(name: str) -> None:
    for variant, spec in variants(name).items():
        wanted = [threshold.percentile for threshold in spec.thresholds if isinstance(threshold, LatencyThreshold)]
        assert wanted
        assert all(least_iterations(spec, SLOWEST_ITERATION_S) >= samples_needed(percentile) for percentile in wanted)
        assert spec.warm_up_s + spec.load.least.lasts_s < 60
        refusal = preflight(make_plan(TestIdentity("default", variant, "uid", 1), spec, INSTALLATION, 1))
        assert (refusal is None) == (not spec.via)


def test_the_bastion_is_of_the_image_that_the_chart_installs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    repository = yaml.safe_load((CHART / "values.yaml").read_text())["target"]["image"]["repository"]
    (pod,) = (document for document in DOCUMENTS["18-in-the-path"] if document["kind"] == "Pod")
    (container,) = pod["spec"]["containers"]
    assert container["image"] == f"registry.example.com/sshload/{repository}:{chart['appVersion']}"


SEARCHES = [pytest.param(name, id=name) for name in EXAMPLES if read(name).load.is_search]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_likely_takes_less_than_two_minutes_and_has_three_times_as_long(name: str) -> None:
    spec = read(name)
    assert spec.load.is_search
    likely_s = spec.load.likely_trials * (spec.warm_up_s + spec.load.likely_trial_s + SETTLING_S)
    assert likely_s < 120
    assert spec.load.budget_s > 3 * likely_s


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_needs_no_caution(name: str) -> None:
    assert cautions(make_plan(TestIdentity("default", name, "uid", 1), read(name), INSTALLATION, 1)) == ()


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_promise_of_an_example_has_too_few_samples(name: str) -> None:
    said = cautions(make_plan(TestIdentity("default", name, "uid", 1), read(name), INSTALLATION, 1))
    assert [one for one in said if one.startswith("spec.thresholds")] == []


def test_an_example_searches_the_capacity_of_a_server_that_its_cpu_limits() -> None:
    spec = read("19-capacity")
    assert isinstance(spec.target, ManagedTarget)
    assert spec.target.resources["limits"]["cpu"] == "500m"
    assert len(SEARCHES) >= 1


def test_the_config_map_of_the_locustfile_is_the_file_beside_it() -> None:
    (config_map,) = (document for document in DOCUMENTS["12-locustfile"] if document["kind"] == "ConfigMap")
    assert config_map["data"] == {"mixed.py": (FOLDER / "locustfiles/mixed.py").read_text()}
    wanted = read("12-locustfile").locustfile
    assert wanted == LocustfileRef(config_map=config_map["metadata"]["name"], key="mixed.py")


def test_the_schedule_is_one() -> None:
    spec = parse_schedule(EXAMPLES["14-schedule"]["spec"])
    assert spec.calendar_text == "* * * * * Europe/Berlin"
