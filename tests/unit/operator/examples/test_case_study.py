"""The examples of the case study: each is a comparison that can be run as it is written."""

from pathlib import Path

import pytest
from plans import INSTALLATION
from short_examples import CASE_STUDY, short, written
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.decision.comparison.interval import FEWEST_ROUNDS
from sshload_operator.planning.plan import TestIdentity, make_plan
from sshload_operator.planning.preflight import preflight

EACH = pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CASE_STUDY])


@EACH
def test_it_is_called_as_its_file_and_its_page_names_it(path: Path) -> None:
    page = path.parents[2] / "docs/explanation/case-study.md"
    assert written(path)["metadata"]["name"] == path.stem
    assert f"examples/case-study/{path.name}" in page.read_text(encoding="utf-8")


@EACH
def test_each_of_its_tests_passes_the_preflight_and_rounds_are_enough_for_an_interval(path: Path) -> None:
    for document in (written(path), short(path)):
        for variant in parse_comparison(document["spec"]).variants:
            plan = make_plan(TestIdentity("default", "case-study", "uid", 1), variant.spec, INSTALLATION, 1)
            assert preflight(plan) is None
    assert written(path)["spec"]["repeats"] >= FEWEST_ROUNDS


def test_figure_1_is_of_all_rates_of_the_study() -> None:
    logins = next(path for path in CASE_STUDY if path.stem == "figure-1-logins")
    variants = parse_comparison(written(logins)["spec"]).variants
    assert [variant.name for variant in variants] == [f"{rate}" for rate in range(10, 91, 10)]
