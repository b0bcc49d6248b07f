"""The page of the league: what the results say, and nothing else."""

from collections.abc import Callable
from pathlib import Path

from page import PAGE, page
from results import RESULTS, Entry, Results

HERE = Path(__file__).parent


def test_the_page_is_what_the_results_say() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(Results.read(RESULTS)), "write it again: make league MINUTES=0"


def test_a_page_has_intervals_from_three_rounds_on_and_what_a_server_cannot_and_leaves_out_invalid_runs(
    golden: Callable[[Path, str], None],
) -> None:
    golden(HERE / "expected.md", page(Results.read(HERE / "results.json")))


def test_results_are_kept_as_they_were_read(tmp_path: Path) -> None:
    kept = tmp_path / "results.json"
    Results.read(HERE / "results.json").write(kept)
    assert kept.read_text(encoding="utf-8") == (HERE / "results.json").read_text(encoding="utf-8")
    assert Results.read(kept) == Results.read(HERE / "results.json")


def test_a_server_that_is_another_one_than_before_begins_anew() -> None:
    results = Results.read(HERE / "results.json")
    slow, quick = results.servers["Slow"], len([one for one in results.records if one.server == "Quick"])
    results.enter(slow)
    assert results.rounds_of("Slow", "login-equal") == 4
    results.enter(Entry("Slow", "2.0", slow.build, slow.program, slow.changed))
    assert (results.servers["Slow"].version, results.rounds_of("Slow", "login-equal")) == ("2.0", 0)
    assert len([one for one in results.records if one.server == "Quick"]) == quick
