"""A share of what `make chaos` runs whole: a case of each family of faults, and some changes of fields."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from api_server import ApiServer
from chaos_cases import Case, cases
from chaos_faults import Heard
from chaos_fields import REFUSED, TAKEN, change_fields
from chaos_kinds import TEST
from chaos_oracles import WRONG, judged
from chaos_run import Run, run

_STEP = 7
_EVERY_FIELD = 211


def one_of_each(families: str, reference: Run, heard: Heard) -> Iterator[Case]:
    """Yield a case of each family whose name begins so: of each another one, and in every run the same ones."""
    found: dict[str, list[Case]] = {}
    for case in cases(reference, heard):
        if case.family.startswith(families):
            found.setdefault(case.family, []).append(case)
    yield from (of_family[number * _STEP % len(of_family)] for number, of_family in enumerate(found.values()))


@pytest.mark.parametrize(
    "families",
    ["killed", "cut", *(pytest.param(one, marks=pytest.mark.full) for one in ("answered", "an event", "a watch"))],
)
def test_a_run_comes_to_the_end_of_its_reference_whatever_befalls_the_operator(
    api_server: ApiServer, tmp_path: Path, families: str
) -> None:
    heard = Heard()
    reference = run(api_server, TEST, heard, tmp_path)
    assert reference.is_over
    wrong = {}
    for number, case in enumerate(one_of_each(families, reference, heard)):
        folder = tmp_path / str(number)
        folder.mkdir()
        fault = case.fault()
        outcome = judged(reference, run(api_server, TEST, fault, folder), fault)
        if outcome.word == WRONG:
            wrong[str(fault)] = outcome.said
    assert wrong == {}


def test_a_field_that_is_changed_and_changed_back_leaves_no_trace(api_server: ApiServer, tmp_path: Path) -> None:
    found = change_fields(api_server, tmp_path, every=_EVERY_FIELD)
    assert found.wrong == []
    assert {outcome for _, outcome in found.counts} >= {REFUSED, TAKEN}
