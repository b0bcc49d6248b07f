"""A share of what `make chaos` runs whole: one case of each family of faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from api_server import ApiServer
from chaos_cases import Case, cases
from chaos_faults import Heard
from chaos_kinds import TEST
from chaos_oracles import WRONG, judged
from chaos_run import Run, run

_STEP = 7


def one_of_each(families: str, reference: Run, heard: Heard) -> Iterator[Case]:
    """Yield a case of each family whose name begins so: of each another one, and in every run the same ones."""
    found: dict[str, list[Case]] = {}
    for case in cases(reference, heard):
        if case.family.startswith(families):
            found.setdefault(case.family, []).append(case)
    yield from (of_family[number * _STEP % len(of_family)] for number, of_family in enumerate(found.values()))


@pytest.mark.parametrize("families", ["killed", "answered", "cut", "an event", "a watch"])
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
