"""Whatever is written is read back equal; whatever is not what was promised is refused by its path."""

import importlib
import json
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import cache
from typing import Any

import pytest
import sshload_contract
from circles import draws
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sshload_contract import declared
from sshload_contract.bounds import ContractError
from sshload_contract.load import UserChange
from sshload_contract.load.replay import Trace
from sshload_contract.population import Population
from sshload_contract.wire.codec import from_json, from_plain, to_json, to_plain
from sshload_contract.wire.master_log import MasterLog


def _contract_types() -> list[type]:
    found = set()
    for module_info in pkgutil.walk_packages(sshload_contract.__path__, "sshload_contract."):
        if any(room in module_info.name for room in (".judgement", ".front")):
            continue
        module = importlib.import_module(module_info.name)
        found |= {
            value
            for value in vars(module).values()
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__
        }
    # Declarations, how a spec is written, what was read, what a load model yields, and secrets have no wire form.
    other = {MasterLog, Population, Trace, UserChange} | {
        kind for kind in found if kind.__module__ == declared.__name__ or kind.__name__[0] == "_"
    }
    return sorted(found - other, key=lambda kind: kind.__name__)


pytestmark = pytest.mark.xdist_group("round trip")  # the values are drawn once for all tests
CONTRACT_TYPES = _contract_types()
every_type = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CONTRACT_TYPES])
Values = Callable[[type], Sequence[Any]]


@pytest.fixture(scope="module")
def drawn(values_of: Callable[[type], st.SearchStrategy[Any]]) -> Values:
    """Return what draws values of a type, once for all tests: drawing them takes longer than all that is tested."""

    @cache
    def draw(kind: type) -> Sequence[Any]:
        found = []

        @settings(max_examples=draws(8, 100), database=None, suppress_health_check=[*HealthCheck])
        @given(value=values_of(kind))
        def keep(value: Any) -> None:
            found.append(value)

        keep()
        return found

    return draw


def _refusal(kind: type, plain: Any) -> ContractError:
    with pytest.raises(ContractError) as refused:
        from_plain(kind, plain)
    return refused.value


def test_the_types_that_cross_process_borders_are_all_tested() -> None:
    names = {kind.__name__ for kind in CONTRACT_TYPES}
    assert {"RunConfig", "Report", "Snapshot", "RunSummary", "TargetConfig", "TargetStats"} <= names


@every_type
def test_a_value_comes_back_equal_from_its_json(kind: type, drawn: Values) -> None:
    for value in drawn(kind):
        assert from_json(kind, to_json(value)) == value


@every_type
def test_json_is_one_line_and_every_reader_reads_it(kind: type, drawn: Values) -> None:
    for text in map(to_json, drawn(kind)):
        assert len(text.splitlines()) == 1
        assert text.isascii()
        json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@every_type
def test_a_missing_field_is_refused_by_its_path(kind: type, drawn: Values) -> None:
    for plain in map(to_plain, drawn(kind)):
        for name in set(plain) - {"kind"}:
            refused = _refusal(kind, {key: value for key, value in plain.items() if key != name})
            assert (refused.path, refused.problem) == (name, "missing field")


@every_type
def test_an_unknown_field_is_refused_by_its_path(kind: type, drawn: Values) -> None:
    for plain in map(to_plain, drawn(kind)):
        refused = _refusal(kind, {**plain, "unheardOf": 1})
        assert (refused.path, refused.problem) == ("unheardOf", "unknown field")


@every_type
def test_a_value_of_another_json_type_is_refused_by_its_path(kind: type, drawn: Values) -> None:
    for plain in map(to_plain, drawn(kind)):
        for name in set(plain) - {"kind"}:
            assert _refusal(kind, {**plain, name: _of_another_type(plain[name])}).path == name


def _of_another_type(plain: Any) -> Any:
    """Return what suits no field that `plain` suits: a boolean is only a boolean, and no field is a list of lists."""
    return [[]] if isinstance(plain, bool) or plain is None else True
