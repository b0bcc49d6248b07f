"""A run's results fit into one ConfigMap, and say what had to go."""

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import plans
import pytest
from runs import retold, trial
from runs import steps as usual_steps
from sshload_contract.judgement.figures import total_step
from sshload_contract.vocabulary import Outcome, RunEnd, SearchEnd, Window
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.report import EncodedHistogram, ErrorCount
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import (
    RunSummary,
    SearchOutcome,
    SeriesPoint,
    StepStats,
)
from sshload_operator.manifests import child_ref, results_config_map, results_ref, swept
from sshload_operator.manifests import results as results_module

CONFIG_MAP_LIMIT_BYTES = 1_048_576
ETCD_REQUEST_LIMIT_BYTES = 1_572_864


def noise(characters: int, seed: int) -> str:
    return Random(seed).randbytes(characters // 2).hex()  # noqa: S311 - incompressible, and nothing secret


def histograms(characters: int) -> tuple[EncodedHistogram, ...]:
    return (EncodedHistogram("total", Window.MEASURED, Outcome.OK, 600, noise(characters, 1)),)


def series(points: int) -> tuple[SeriesPoint, ...]:
    chance = Random(points)  # noqa: S311 - incompressible, and nothing secret
    numbers = (chance.getrandbits(48) for _ in range(points))
    return tuple(
        SeriesPoint(float(at), 0, 0, 9, number, number, 0, number, number, number) for at, number in enumerate(numbers)
    )


def errors(kinds: int) -> tuple[ErrorCount, ...]:
    return tuple(
        ErrorCount(f"step-{kind}", Outcome.RESET_BEFORE_BANNER, Window.MEASURED, 1, noise(200, kind))
        for kind in range(kinds)
    )


def steps(count: int) -> tuple[StepStats, ...]:
    percentiles = {"50": 180_000, "99": None}
    return tuple(
        StepStats(
            noise(64, step),
            Window.MEASURED,
            600,
            0,
            20.0,
            90_000,
            181_000.5,
            400_000,
            None,
            percentiles,
            percentiles,
            percentiles,
        )
        for step in range(count)
    )


SMALL = RunSummary(
    run_id="a1b2c3d4e5",
    end=RunEnd.COMPLETED,
    message="",
    login_failure=None,
    early_end=None,
    started_unix_s=1_000.0,
    finished_unix_s=1_030.0,
    trial=trial(steps=steps(12)),
    search=None,
    series_interval_s=1.0,
    series=series(30),
    histograms=histograms(20_000),
    omitted=(),
)


def read(config_map: dict[str, Any]) -> tuple[dict[str, Any], RunSummary]:
    """Return the results and the summary that it stores."""
    packed = base64.b64decode(config_map["binaryData"]["summary.json.gz"])
    return json.loads(config_map["data"]["results.json"]), from_json(RunSummary, gzip.decompress(packed).decode())


def test_an_ordinary_summary_is_stored_whole() -> None:
    results, summary = read(results_config_map(plans.plan(), SMALL))
    assert summary == SMALL
    assert results["omitted"] == []
    assert results["trial"]["load"]["succeeded"] == 600
    assert results["trial"]["steps"][0]["percentiles_us"] == {"50": 180_000, "99": None}


def test_what_was_run_stands_beside_its_results() -> None:
    config_map = results_config_map(plans.plan(), SMALL)
    assert from_json(RunConfig, config_map["data"]["run.json"]).load == plans.plan().spec.load


def test_what_was_run_is_what_its_master_was_told_though_the_installation_is_another_one_since() -> None:
    then = results_config_map(plans.plan(), SMALL)["data"]["run.json"]
    elsewhere = replace(plans.INSTALLATION, worker_resources={"limits": {"cpu": "4"}})
    config_map = results_config_map(plans.plan(installation=elsewhere), replace(SMALL, run_json=then))
    assert config_map["data"]["run.json"] == then
    assert "run_json" not in config_map["data"]["results.json"]
    assert read(config_map)[1] == SMALL


@pytest.mark.parametrize("said", ["1", "x" * 400_000], ids=["little", "all it may"])
def test_whatever_a_master_says_it_was_told_is_kept_up_to_its_limit(said: str) -> None:
    assert results_config_map(plans.plan(), replace(SMALL, run_json=said))["data"]["run.json"] == said


def test_what_is_no_text_in_what_a_master_says_costs_no_results() -> None:
    """JSON can spell a lone surrogate, which no request to the API server can have."""
    config_map = results_config_map(plans.plan(), replace(SMALL, run_json="a\ud800b"))
    assert config_map["data"]["run.json"] == "a?b"
    assert read(config_map)[1].run_json == ""


def test_the_results_are_laid_out_for_people_without_what_is_only_to_be_drawn() -> None:
    text = results_config_map(plans.plan(), SMALL)["data"]["results.json"]
    assert text.startswith('{\n  "version": ')
    assert not {"series", "histograms"} & json.loads(text).keys()


def test_no_time_is_in_what_is_packed() -> None:
    """It has none by RFC 1952, so the same results make the same object at any time."""
    packed = base64.b64decode(results_config_map(plans.plan(), SMALL)["binaryData"]["summary.json.gz"])
    assert packed[4:8] == bytes(4)


def test_a_summary_is_stored_whole_as_long_as_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = results_config_map(plans.plan(), SMALL)
    characters = sum(map(len, (*whole["data"].values(), *whole["binaryData"].values())))
    for limit, omitted in ((characters, []), (characters - 1, ["series"])):
        monkeypatch.setattr(results_module, "_LIMIT_CHARACTERS", limit)
        assert read(results_config_map(plans.plan(), SMALL))[0]["omitted"] == omitted


def test_a_master_that_says_too_much_of_what_it_was_told_is_not_heard() -> None:
    config_map = results_config_map(plans.plan(), replace(SMALL, run_json="x" * 400_001))
    assert config_map["data"]["run.json"] == results_config_map(plans.plan(), SMALL)["data"]["run.json"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("large", "omitted"),
    [
        pytest.param(lambda: {"series": series(40_000)}, ["series"], id="a long series"),
        pytest.param(lambda: {"histograms": histograms(1_500_000)}, ["series", "histograms"], id="big histograms"),
        pytest.param(
            lambda: {"errors": errors(2_000)},
            ["series", "histograms", "errors after the first 100"],
            id="very many errors",
        ),
        pytest.param(lambda: {"steps": steps(2_000)}, ["all but the totals"], id="very many steps"),
        pytest.param(lambda: {"message": noise(1_000_000, 1)}, ["all but the totals"], id="an endless message"),
    ],
)
def test_whatever_the_size_it_fits_and_says_what_went(large: Callable[[], dict[str, Any]], omitted: list[str]) -> None:
    summary = retold(SMALL, **large())
    config_map = results_config_map(plans.plan(), summary)
    texts = [*config_map["data"].values(), *config_map["binaryData"].values()]
    assert sum(len(text.encode()) for text in texts) < CONFIG_MAP_LIMIT_BYTES
    assert len(json.dumps(config_map)) < ETCD_REQUEST_LIMIT_BYTES
    results, packed = read(config_map)
    assert results["omitted"] == omitted
    assert packed.trial.load == summary.trial.load


def test_a_summary_without_all_but_the_totals_has_the_totals() -> None:
    of_whole = (*steps(2_000), *usual_steps(600, 3))
    _, packed = read(results_config_map(plans.plan(), retold(SMALL, steps=of_whole)))
    assert packed.omitted == ("all but the totals",)
    assert total_step(packed.trial, Window.MEASURED) == total_step(retold(SMALL, steps=of_whole).trial, Window.MEASURED)
    assert {step.step for step in packed.trial.steps} == {"total", "connect", "login"}


@pytest.mark.slow
def test_trials_whose_totals_alone_are_too_many_are_no_results() -> None:
    others = tuple(trial(number=number) for number in range(2, 1_000))
    search = SearchOutcome(SearchEnd.MOST_HELD, None, None, others)
    with pytest.raises(ValueError, match=r"^the totals of all trials are too large for a ConfigMap$"):
        results_config_map(plans.plan(), replace(SMALL, search=search))


def test_the_same_results_make_the_same_object() -> None:
    assert results_config_map(plans.plan(), SMALL) == results_config_map(plans.plan(), SMALL)


def test_results_are_owned_by_the_test_and_outlive_the_run() -> None:
    plan = plans.plan()
    config_map = results_config_map(plan, SMALL)
    assert config_map["metadata"]["name"] == "quickstart-a1b2c3d4e5-results"
    assert config_map["metadata"]["ownerReferences"][0]["uid"] == plan.test.uid
    assert child_ref(config_map) not in swept(plan.test, plan.run_id)
    assert child_ref(config_map) == results_ref(plan.test, plan.run_id)
