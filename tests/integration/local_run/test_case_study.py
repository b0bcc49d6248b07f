"""The examples of the case study run here, with a shorter load: each measures every variant, without a failure."""

from pathlib import Path

import pytest
import yaml
from circles import some
from generator_reruns import lagged_comparison, rerun_while_lagging
from local_cli import sshload
from short_examples import CASE_STUDY, short


@pytest.mark.parametrize("path", some({path.stem: path for path in CASE_STUDY}, 2))
def test_an_example_of_the_case_study_measures_each_of_its_variants(path: Path, tmp_path: Path) -> None:
    file = tmp_path / path.name
    file.write_text(yaml.safe_dump(short(path)))
    ended = rerun_while_lagging(
        lambda: sshload("compare", "-f", file, "--output", "json"), lambda done: lagged_comparison(done.status)
    )
    variants = ended.status["results"]["variants"]
    assert [variant["measured"] for variant in variants] == [1, 1], ended.err
    for variant in variants:
        figures = {one["figure"]: one["value"] for one in variant["figures"] if "step" not in one}
        assert figures["errorPercent"] == 0
        assert figures["generatorCpuPerIterationMs"] > 0
        assert figures["generatorMemoryPeakBytes"] > 10_000_000
