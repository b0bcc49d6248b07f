"""Whatever is written is read back equal; whatever is not what was promised is refused by its path."""

import importlib
import json
import pkgutil
from dataclasses import is_dataclass
from typing import Any

import pytest
import sshload_contract
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sshload_contract.codec import from_json, from_plain, to_json, to_plain
from sshload_contract.errors import ContractError
from sshload_contract.master_log import MasterLog


def _contract_types() -> list[type]:
    found = set()
    for module_info in pkgutil.iter_modules(sshload_contract.__path__):
        module = importlib.import_module(f"sshload_contract.{module_info.name}")
        found |= {
            value
            for value in vars(module).values()
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__
        }
    return sorted(
        found - {MasterLog}, key=lambda kind: kind.__name__
    )  # MasterLog is what was read: it has no wire form


CONTRACT_TYPES = _contract_types()
every_type = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in CONTRACT_TYPES])
few = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def _refusal(kind: type, plain: Any) -> ContractError:
    with pytest.raises(ContractError) as refused:
        from_plain(kind, plain)
    return refused.value


def test_the_types_that_cross_process_borders_are_all_tested() -> None:
    names = {kind.__name__ for kind in CONTRACT_TYPES}
    assert {"RunConfig", "Report", "Snapshot", "RunSummary", "TargetConfig", "TargetStats"} <= names


@every_type
@few
@given(data=st.data())
def test_a_value_comes_back_equal_from_its_json(kind: type, values_of: Any, data: st.DataObject) -> None:
    value = data.draw(values_of(kind))
    assert from_json(kind, to_json(value)) == value


@every_type
@few
@given(data=st.data())
def test_json_is_one_line_and_every_reader_reads_it(kind: type, values_of: Any, data: st.DataObject) -> None:
    text = to_json(data.draw(values_of(kind)))
    assert len(text.splitlines()) == 1
    assert text.isascii()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@every_type
@few
@given(data=st.data())
def test_a_missing_field_is_refused_by_its_path(kind: type, values_of: Any, data: st.DataObject) -> None:
    plain = to_plain(data.draw(values_of(kind)))
    name = data.draw(st.sampled_from(sorted(set(plain) - {"kind"})))
    del plain[name]
    refused = _refusal(kind, plain)
    assert (refused.path, refused.problem) == (name, "missing field")


@every_type
@few
@given(data=st.data())
def test_an_unknown_field_is_refused_by_its_path(kind: type, values_of: Any, data: st.DataObject) -> None:
    plain = to_plain(data.draw(values_of(kind)))
    refused = _refusal(kind, {**plain, "unheardOf": 1})
    assert (refused.path, refused.problem) == ("unheardOf", "unknown field")


@every_type
@few
@given(data=st.data())
def test_a_value_of_another_json_type_is_refused_by_its_path(kind: type, values_of: Any, data: st.DataObject) -> None:
    plain = to_plain(data.draw(values_of(kind)))
    name = data.draw(st.sampled_from(sorted(set(plain) - {"kind"})))
    plain[name] = _of_another_type(plain[name])
    assert _refusal(kind, plain).path == name


def _of_another_type(plain: Any) -> Any:
    """Return what suits no field that `plain` suits: a boolean is only a boolean, and no field is a list of lists."""
    return [[]] if isinstance(plain, bool) or plain is None else True
