"""The master's log is read whole, cut, mixed with others' lines, or spoilt, and a spoilt one is never believed."""

import json
import zlib
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sshload_contract.codec import to_json
from sshload_contract.master_log import (
    SNAPSHOT_LINE_LIMIT_BYTES,
    read_master_log,
    snapshot_line,
    summary_lines,
)
from sshload_contract.run_summary import GeneratorStats, LoadStats, RunSummary
from sshload_contract.sample import EncodedHistogram
from sshload_contract.snapshot import Snapshot, Stage
from sshload_contract.vocabulary import Outcome, RunEnd, Window

FRAGMENT_BYTES = 16_384  # what the kubelet writes at a time, and what the API server's tailLines counts
some = settings(max_examples=40)
noise_lines = st.lists(
    st.one_of(st.text(max_size=60), st.sampled_from(["Traceback:", '{"level":"warning"}', '{"sshload":', "{", ""])),
    max_size=5,
)


def _snapshot(iterations: int) -> Snapshot:
    return Snapshot(
        version=1,
        run_id="quickstart-1",
        stage=Stage.MEASURING,
        elapsed_s=12.5,
        remaining_s=47.5,
        workers_connected=2,
        users=0,
        held=0,
        in_flight=9,
        offered_rate=90.0,
        completed_rate=89.5,
        iterations=iterations,
        failures=0,
        p99_us=180_000,
        search=None,
    )


def _summary(histogram_characters: int = 0, seed: int = 0) -> RunSummary:
    """Return a summary of about this size; its histogram is as incompressible as real ones."""
    data = "".join(sha256(f"{seed}-{number}".encode()).hexdigest() for number in range(histogram_characters // 64))
    return RunSummary(
        version=1,
        run_id="quickstart-1",
        end=RunEnd.COMPLETED,
        message="",
        started_unix_s=1_000.0,
        finished_unix_s=1_060.0,
        load=LoadStats(60.0, 5_400, 5_400, 5_400, 0, 0, 0, 90.0, 90.0, 90.0, 0, 0),
        steps=(),
        errors=(),
        negotiated=(),
        generator=GeneratorStats(2, 2, 0, 0, 0.1, 0.0, 200, 100, 900, 1_500, 2_000, 40, 28_000, 0),
        target_before=None,
        target_held=None,
        target_after=None,
        capacity=None,
        series_interval_s=1.0,
        series=(),
        histograms=(EncodedHistogram("total", Window.MEASURED, Outcome.OK, 5_400, data),),
    )


def _log(summary: RunSummary) -> list[str]:
    return [snapshot_line(_snapshot(1)), snapshot_line(_snapshot(2)), *summary_lines(summary)]


@some
@given(data=st.data())
def test_any_summary_comes_back_equal(values_of: Any, data: st.DataObject) -> None:
    summary = data.draw(values_of(RunSummary))
    read = read_master_log("\n".join(summary_lines(summary)))
    assert (read.summary, read.problem) == (summary, "")


@some
@given(data=st.data())
def test_any_snapshot_comes_back_equal(values_of: Any, data: st.DataObject) -> None:
    snapshot = data.draw(values_of(Snapshot))
    read = read_master_log(snapshot_line(snapshot))
    assert (read.snapshot, read.summary, read.summary_lines, read.problem) == (snapshot, None, 0, "")


def test_the_newest_snapshot_is_the_one() -> None:
    assert read_master_log("\n".join(_log(_summary()))).snapshot == _snapshot(2)


def test_a_snapshot_fits_in_its_line() -> None:
    assert len(snapshot_line(_snapshot(10**12)).encode()) <= SNAPSHOT_LINE_LIMIT_BYTES


@pytest.mark.parametrize("characters", [0, 20_000, 500_000], ids=["small", "some parts", "many parts"])
def test_every_line_of_a_summary_is_one_fragment_of_the_kubelets(characters: int) -> None:
    lines = list(summary_lines(_summary(characters)))
    assert max(len(line.encode()) for line in lines) < FRAGMENT_BYTES
    assert read_master_log("\n".join(lines)).summary == _summary(characters)


@pytest.mark.parametrize("characters", [0, 100_000], ids=["one part", "many parts"])
def test_a_tail_that_is_too_short_says_how_many_lines_to_ask_for(characters: int) -> None:
    lines = _log(_summary(characters))
    closing_only = read_master_log(lines[-1])
    assert closing_only.summary is None
    assert closing_only.problem == ""
    assert read_master_log("\n".join(lines[-closing_only.summary_lines :])).summary == _summary(characters)


@some
@given(start=st.integers(min_value=0, max_value=200_000))
def test_a_log_cut_anywhere_gives_the_whole_summary_or_none(start: int) -> None:
    summary = _summary(60_000)
    text = "\n".join(_log(summary))
    read = read_master_log(text[start % len(text) :])
    assert read.summary in (None, summary)
    assert read.summary is not None or read.summary_lines > 0 or read_master_log(text).summary == summary


@some
@given(end=st.integers(min_value=0, max_value=200_000))
def test_a_log_that_is_still_being_written_has_no_summary_yet(end: int) -> None:
    text = "\n".join(_log(_summary(60_000)))
    read = read_master_log(text[: end % (len(text) - 1)])
    assert (read.summary, read.summary_lines) == (None, 0)


@some
@given(noise=st.lists(noise_lines, min_size=20, max_size=20))
def test_lines_of_others_between_ours_change_nothing(noise: list[list[str]]) -> None:
    summary = _summary(60_000)
    mixed = [line for ours, others in zip(_log(summary), noise, strict=False) for line in (*others, ours)]
    read = read_master_log("\n".join(mixed))
    assert (read.snapshot, read.summary) == (_snapshot(2), summary)


@some
@given(data=st.data())
def test_a_changed_character_never_makes_another_summary(data: st.DataObject) -> None:
    summary = _summary(20_000)
    text = "\n".join(_log(summary))
    at = data.draw(st.integers(min_value=0, max_value=len(text) - 1))
    changed = text[:at] + data.draw(st.characters()) + text[at + 1 :]
    assert read_master_log(changed).summary in (None, summary)


@some
@given(data=st.data())
def test_a_lost_part_leaves_no_summary(data: st.DataObject) -> None:
    lines = list(summary_lines(_summary(60_000)))
    del lines[data.draw(st.integers(min_value=0, max_value=len(lines) - 2))]
    read = read_master_log("\n".join(lines))
    assert (read.summary, read.summary_lines) == (None, len(lines) + 1)


def test_parts_in_another_order_or_twice_make_the_same_summary() -> None:
    summary = _summary(60_000)
    lines = list(summary_lines(summary))
    assert read_master_log("\n".join([*lines[::-1], *lines])).summary == summary


def test_parts_of_two_summaries_are_not_mixed_into_one() -> None:
    ours, others = list(summary_lines(_summary(60_000))), list(summary_lines(_summary(60_000, seed=1)))
    read = read_master_log("\n".join([*ours[:-1], others[0], ours[-1]]))
    assert read.summary is None
    assert "SHA-256" in read.problem


def test_a_summary_of_another_version_of_the_contract_is_a_problem_and_no_summary() -> None:
    plain = json.loads(to_json(_summary()))
    del plain["generator"]
    read = read_master_log(_log_of_packed(zlib.compress(json.dumps(plain).encode())))
    assert read.summary is None
    assert "generator: missing field" in read.problem


def _log_of_packed(compressed: bytes) -> str:
    packed = b64encode(compressed).decode()
    digest = sha256(packed.encode()).hexdigest()
    return f'{{"sshload":"part","number":0,"data":"{packed}"}}\n{{"sshload":"end","parts":1,"sha256":"{digest}"}}'


def test_a_summary_that_would_fill_the_memory_is_a_problem_and_no_summary() -> None:
    read = read_master_log(_log_of_packed(zlib.compress(b" " * 300_000_000, level=1)))
    assert read.summary is None
    assert "too large" in read.problem


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"sshload":"snapshot"}', id="snapshot without data"),
        pytest.param('{"sshload":"snapshot","data":[]}', id="snapshot that is a list"),
        pytest.param('{"sshload":"part","number":[],"data":""}', id="part numbered by a list"),
        pytest.param('{"sshload":"part","number":0,"data":5}', id="part that is a number"),
        pytest.param('{"sshload":"end"}', id="end without count"),
        pytest.param('{"sshload":"end","parts":"1","sha256":""}', id="end whose count is a string"),
        pytest.param('{"sshload":"end","parts":-1,"sha256":""}', id="end whose count is negative"),
        pytest.param('{"sshload":"end","parts":1,"sha256":7}', id="end whose digest is a number"),
        pytest.param('{"sshload":"snapshot","data":' + "[" * 100_000, id="nested without end"),
        pytest.param('{"sshload":' + "9" * 10_000 + "}", id="a number of ten thousand digits"),
    ],
)
def test_a_spoilt_line_is_a_problem_and_no_summary(line: str) -> None:
    read = read_master_log(line)
    assert (read.snapshot, read.summary) == (None, None)
    assert read.problem != ""


@pytest.mark.parametrize("data", ["", "!", "\\ud800"], ids=["nothing", "not base64", "half a character"])
def test_parts_without_the_stated_digest_are_a_problem_and_no_summary(data: str) -> None:
    read = read_master_log(
        f'{{"sshload":"part","number":0,"data":"{data}"}}\n{{"sshload":"end","parts":1,"sha256":"0"}}'
    )
    assert read.summary is None
    assert "SHA-256" in read.problem


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@some
@given(
    st.lists(
        st.fixed_dictionaries(
            {"sshload": st.sampled_from(["snapshot", "part", "end", "other"])},
            optional={"number": json_values, "data": json_values, "parts": json_values, "sha256": json_values},
        ),
        max_size=4,
    )
)
def test_whatever_a_line_says_reading_never_fails(records: list[dict[str, Any]]) -> None:
    read = read_master_log("\n".join(json.dumps(record, separators=(",", ":")) for record in records))
    assert read.summary is None
