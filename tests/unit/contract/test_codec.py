"""The codec refuses what its types do not promise, and names the place."""

import copy
import json
import sys
from collections import Counter
from typing import Any

import pytest
from reports import REPORT
from runs import retold, snapshot, steps, summary
from sshload_contract.bounds import ContractError
from sshload_contract.load import ArrivalProcess, ArrivalsLoad, ArrivalsStage
from sshload_contract.steps import ExecStep, SleepStep
from sshload_contract.wire.codec import from_json, from_plain, to_json, to_plain
from sshload_contract.wire.master_log import Snapshot
from sshload_contract.wire.report import Report
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary, StepStats
from sshload_contract.wire.target import TargetConfig

TARGET: dict[str, Any] = {
    "version": 1,
    "user": "load",
    "home": "/home/load",
    "keys_dir": "/keys",
    "sshd_config": "",
    "sshd_port": 2222,
    "stats_port": 9200,
    "files": [{"path": "a", "size_bytes": 1}, {"path": "b", "size_bytes": 2}],
    "directories": [],
    "repositories": [],
    "system": None,
    "kdc_port": 0,
    "host": "",
    "revoked_keys": None,
}


def _refusal(kind: type, text: str) -> ContractError:
    with pytest.raises(ContractError) as refused:
        from_json(kind, text)
    return refused.value


def _with(path: list[str | int], value: Any) -> str:
    plain = copy.deepcopy(TARGET)
    place: Any = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(plain)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        pytest.param(["sshd_port"], "2222", "sshd_port: expected int, got str", id="a string for a number"),
        pytest.param(["sshd_port"], True, "sshd_port: expected int, got bool", id="a boolean for a number"),
        pytest.param(["sshd_port"], 2222.0, "sshd_port: expected int, got float", id="a float for an integer"),
        pytest.param(["user"], None, "user: expected str, got NoneType", id="null for a string"),
        pytest.param(["files"], {}, "files: expected a list, got dict", id="an object for a list"),
        pytest.param(["files", 1], 5, "files[1]: expected an object, got int", id="a number for an object"),
        pytest.param(
            ["files", 1, "size_bytes"], "1k", "files[1].size_bytes: expected int, got str", id="deep in a list"
        ),
        pytest.param(["files", 0, "mode"], 7, "files[0].mode: unknown field", id="an unknown field deep in a list"),
    ],
)
def test_the_message_names_the_place_and_what_is_wrong(path: list[str | int], value: Any, message: str) -> None:
    assert str(_refusal(TargetConfig, _with(path, value))) == message


def test_a_text_that_is_not_json_is_refused() -> None:
    assert str(_refusal(TargetConfig, "{")).startswith("document: is not JSON")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "1" + 400 * "0"])
def test_numbers_that_are_not_finite_are_refused(word: str) -> None:
    refused = _refusal(ArrivalsStage, f'{{"rate": {word}, "duration_s": 1.0, "to_rate": null}}')
    assert (refused.path, refused.problem) == ("rate", "is not a finite number")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(ArrivalsStage(rate=value, duration_s=1.0))


def test_an_integer_is_read_where_a_float_is_promised() -> None:
    stage = from_json(ArrivalsStage, '{"rate": 90, "duration_s": 60, "to_rate": null}')
    assert stage == ArrivalsStage(rate=90.0, duration_s=60.0)
    assert isinstance(stage.rate, float)


def test_members_of_a_union_are_told_apart_by_their_kind() -> None:
    steps = (SleepStep(duration_s=1.0), ExecStep(name="a", command="true", expect_exit_code=0, expect_stdout=""))
    assert [to_plain(step)["kind"] for step in steps] == ["sleep", "exec"]


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    load = ArrivalsLoad(stages=(), process=ArrivalProcess.POISSON, max_in_flight=1, seed=0)
    text = to_json(load).replace('"kind":"arrivals"', '"kind":"tsunami"')
    refused = _refusal(RunConfig, f'{{"load": {text}}}')
    assert refused.problem in ("missing field", "kind is 'tsunami', expected one of arrivals, burst, hold, users")


def test_an_unknown_word_of_an_enum_is_refused_with_the_known_ones() -> None:
    load = ArrivalsLoad(stages=(), process=ArrivalProcess.POISSON, max_in_flight=1, seed=0)
    refused = _refusal(ArrivalsLoad, to_json(load).replace("poisson", "steady"))
    assert str(refused) == "process: is 'steady', expected one of constant, poisson"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        pytest.param(["user"], "\ud800", "user", id="in a text"),
        pytest.param(["files", 0, "path"], "a\udfff", "files[0].path", id="further inside"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_since_no_reader_gives_it_back(
    path: list[str | int], value: str, field: str
) -> None:
    refused = _refusal(TargetConfig, _with(path, value))
    assert (refused.path, refused.problem) == (field, "has half of a surrogate pair, which is not a character")


def test_the_name_of_an_unknown_field_is_shown_as_text_of_bounded_length() -> None:
    for name in ("\ud800", "x" * 100_000):
        refused = str(_refusal(TargetConfig, json.dumps({**TARGET, name: 1})))
        refused.encode()
        assert len(refused) < 100


@pytest.mark.parametrize("levels", [900, 960, 970, 980, 985, 988, 990, 992])
def test_a_value_nested_to_the_limit_of_the_json_reader_in_place_of_a_word_is_refused(levels: int) -> None:
    load = to_json(ArrivalsLoad(stages=(), process=ArrivalProcess.POISSON, max_in_flight=1, seed=0))
    nested = "[" * levels + "]" * levels
    with pytest.raises(ContractError):
        from_json(ArrivalsLoad, load.replace('"poisson"', nested))
    with pytest.raises(ContractError):
        from_json(RunConfig, f'{{"load": {load.replace(chr(34) + "arrivals" + chr(34), nested)}}}')


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"iterations": -1}, "iterations: is not from 0 to 9.0072e+15", id="a negative count"),
        pytest.param({"iterations": 2**53 + 1}, "iterations: is not from 0 to 9.0072e+15", id="too large a count"),
        pytest.param({"offered_rate": -0.5}, "offered_rate: is not from 0 to 9.0072e+15", id="a negative rate"),
        pytest.param({"completed_rate": 1e300}, "completed_rate: is not from 0 to 9.0072e+15", id="too high a rate"),
    ],
)
def test_a_figure_beyond_its_bounds_is_refused(changes: dict[str, float], problem: str) -> None:
    with pytest.raises(ContractError) as refused:
        from_plain(Snapshot, {**to_plain(snapshot()), **changes})
    assert str(refused.value) == problem


def test_a_trial_has_a_number_that_a_status_may_state() -> None:
    with pytest.raises(ContractError, match=r"^trial\.number: is not from 1 to 9\.0072e\+15$"):
        from_plain(RunSummary, to_plain(retold(summary(), number=0)))


@pytest.mark.parametrize("key", ["", "0", "100", "p99", "nan", "1e1000", "0.00000000001"])
def test_a_percentile_that_is_none_is_refused(key: str) -> None:
    step = to_plain(steps(600, 0)[-1])
    with pytest.raises(ContractError, match="is no percentile"):
        from_plain(StepStats, {**step, "percentiles_us": {key: 5}})


def _values(plain: Any) -> int:
    """Return how many values there are, each object and list counted as one more, and each key of a mapping."""
    inside = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ()
    return 1 + sum(map(_values, inside))


def test_reading_calls_three_functions_for_a_value_at_most_because_a_master_reads_a_hundred_reports_a_second() -> None:
    text = to_json(REPORT)
    from_json(Report, text)
    calls = Counter[str]()
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _argument: calls.update([event]))
    try:
        from_json(Report, text)
    finally:
        sys.setprofile(before)
    assert calls["call"] <= 3 * _values(json.loads(text))
