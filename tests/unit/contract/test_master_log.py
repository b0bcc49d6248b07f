"""The master's log is read whole, cut, mixed with others' lines, or spoilt, and a spoilt one is never believed."""

import json
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import retold
from sshload_contract.bounds import WIRE_VERSION
from sshload_contract.thresholds import LatencyThreshold, ThresholdResult
from sshload_contract.vocabulary import Outcome, RunEnd, SearchEnd, TrialState, Window
from sshload_contract.wire.codec import to_json, to_plain
from sshload_contract.wire.master_log import (
    SNAPSHOT_LINE_LIMIT_BYTES,
    Snapshot,
    Stage,
    proof_sha256,
    read_master_log,
    snapshot_line,
    summary_lines,
)
from sshload_contract.wire.report import EncodedHistogram, ErrorCount
from sshload_contract.wire.run_summary import (
    GeneratorStats,
    LoadStats,
    RunSummary,
    SearchOutcome,
    SeriesPoint,
    StepStats,
    Trial,
)

FRAGMENT_BYTES = 16_384  # what the kubelet writes at a time, and what the API server's tailLines counts
TOKEN = "0f" * 32
some = settings(max_examples=40)
SPACES = 60_000_000  # so many bytes are more memory than a reader may take, and pack into a few lines of log
noise_lines = st.lists(
    st.one_of(st.text(max_size=60), st.sampled_from(["Traceback:", '{"level":"warning"}', '{"sshload":', "{", ""])),
    max_size=5,
)


def _snapshot(iterations: int) -> Snapshot:
    return Snapshot(
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
        problem="",
    )


def _summary(histogram_characters: int = 0, seed: int = 0) -> RunSummary:
    """Return a summary of about this size; its histogram is as incompressible as real ones."""
    data = "".join(sha256(f"{seed}-{number}".encode()).hexdigest() for number in range(histogram_characters // 64))
    return RunSummary(
        run_id="quickstart-1",
        end=RunEnd.COMPLETED,
        message="",
        login_failure=None,
        early_end=None,
        started_unix_s=1_000.0,
        finished_unix_s=1_060.0,
        trial=_trial(1, steps=()),
        search=None,
        series_interval_s=1.0,
        series=(),
        histograms=(EncodedHistogram("total", Window.MEASURED, Outcome.OK, 5_400, data),),
        omitted=(),
    )


def _log(summary: RunSummary) -> list[str]:
    return [snapshot_line(_snapshot(1)), snapshot_line(_snapshot(2)), *summary_lines(summary, TOKEN)]


@pytest.mark.slow
@settings(max_examples=12)  # what its fields may be is tested in test_round_trip.py
@given(data=st.data())
def test_any_summary_comes_back_equal(values_of: Any, data: st.DataObject) -> None:
    summary = data.draw(values_of(RunSummary))
    read = read_master_log("\n".join(summary_lines(summary, TOKEN)))
    assert (read.summary, read.problem) == (summary, "")


@pytest.mark.slow
@some
@given(data=st.data())
def test_any_snapshot_comes_back_equal(values_of: Any, data: st.DataObject) -> None:
    snapshot = data.draw(values_of(Snapshot))
    read = read_master_log(snapshot_line(snapshot))
    assert (read.snapshot, read.summary, read.summary_lines, read.problem) == (snapshot, None, 0, "")


def of_another_release(summary: RunSummary, **changes: Any) -> str:
    """Return the log of a master whose summary has these fields beside or in place of ours; "absent" takes one away."""
    plain = {name: value for name, value in {**to_plain(summary), **changes}.items() if value != "absent"}
    packed = b64encode(zlib.compress(json.dumps(plain).encode())).decode()
    part = {"sshload": "part", "number": 0, "data": packed}
    end = {"sshload": "end", "parts": 1, "sha256": sha256(packed.encode()).hexdigest(), "proof": ""}
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in (part, end))


@pytest.mark.parametrize("more", [{}, {"colour": "red"}, {"run_id": "absent"}])
def test_a_summary_of_another_release_is_not_used_and_both_versions_are_named(more: Mapping[str, str]) -> None:
    read = read_master_log(of_another_release(_summary(), version=WIRE_VERSION + 1, **more))
    assert read.summary is None
    assert f"version: is {WIRE_VERSION + 1}, and this release reads {WIRE_VERSION}" in read.problem


@pytest.mark.parametrize(("name", "value"), [("colour", "red"), ("run_id", "absent"), ("stages", "absent")])
def test_a_summary_of_this_version_has_each_field_of_it_and_no_other(name: str, value: str) -> None:
    read = read_master_log(of_another_release(_summary(), **{name: value}))
    assert read.summary is None
    assert name in read.problem


def test_the_proof_below_a_summary_is_known_by_its_hash_and_does_not_tell_the_token() -> None:
    log = "\n".join(_log(_summary()))
    assert read_master_log(log).proof_sha256 == proof_sha256(TOKEN)
    assert TOKEN not in log


def test_the_newest_snapshot_is_the_one() -> None:
    assert read_master_log("\n".join(_log(_summary()))).snapshot == _snapshot(2)


def test_a_snapshot_fits_in_its_line() -> None:
    assert len(snapshot_line(_snapshot(10**12)).encode()) <= SNAPSHOT_LINE_LIMIT_BYTES


@pytest.mark.parametrize("characters", [0, 20_000, 500_000], ids=["small", "some parts", "many parts"])
def test_every_line_of_a_summary_is_one_fragment_of_the_kubelets(characters: int) -> None:
    lines = list(summary_lines(_summary(characters), TOKEN))
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


@pytest.mark.slow
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
    lines = list(summary_lines(_summary(60_000), TOKEN))
    del lines[data.draw(st.integers(min_value=0, max_value=len(lines) - 2))]
    read = read_master_log("\n".join(lines))
    assert (read.summary, read.summary_lines) == (None, len(lines) + 1)


def test_parts_in_another_order_or_twice_make_the_same_summary() -> None:
    summary = _summary(60_000)
    lines = list(summary_lines(summary, TOKEN))
    assert read_master_log("\n".join([*lines[::-1], *lines])).summary == summary


def test_parts_of_two_summaries_are_not_mixed_into_one() -> None:
    ours, others = list(summary_lines(_summary(60_000), TOKEN)), list(summary_lines(_summary(60_000, seed=1), TOKEN))
    read = read_master_log("\n".join([*ours[:-1], others[0], ours[-1]]))
    assert read.summary is None
    assert "SHA-256" in read.problem


def test_a_summary_of_another_version_of_the_contract_is_a_problem_and_no_summary() -> None:
    plain = json.loads(to_json(_summary()))
    del plain["trial"]["generator"]
    read = read_master_log(_log_of_packed(zlib.compress(json.dumps(plain).encode())))
    assert read.summary is None
    assert "trial.generator: missing field" in read.problem


def _log_of_packed(compressed: bytes) -> str:
    packed = b64encode(compressed).decode()
    digest = sha256(packed.encode()).hexdigest()
    chunks = [packed[start : start + 12_000] for start in range(0, len(packed), 12_000)]
    parts = [f'{{"sshload":"part","number":{number},"data":"{chunk}"}}' for number, chunk in enumerate(chunks)]
    return "\n".join([*parts, f'{{"sshload":"end","parts":{len(chunks)},"sha256":"{digest}","proof":"{TOKEN}"}}'])


def test_a_summary_that_would_fill_the_memory_is_a_problem_and_no_summary() -> None:
    read = read_master_log(_log_of_packed(zlib.compress(b" " * SPACES)))
    assert read.summary is None
    assert "too large" in read.problem


def test_a_summary_of_more_values_than_any_run_prints_is_never_parsed() -> None:
    """Parsed JSON takes many times its text: 3 MB of empty objects are 200 MB of memory."""
    read = read_master_log(_log_of_packed(zlib.compress(b"[" + b"{}," * 1_000_000 + b"{}]")))
    assert read.summary is None
    assert "too large: over 400000 values" in read.problem


@pytest.mark.slow
def test_what_a_hostile_log_takes_of_memory_is_bounded() -> None:
    """87 kB of log once took 1.7 GB."""
    emoji = b'"\\ud83d\\ude00' + b"a" * 4_000_000 + b'"'
    hostile = [
        _log_of_packed(zlib.compress(text))
        for text in (b"[" + b"{}," * 190_000 + b"{}]", b"[" + b"[]," * 190_000 + b"[]]", emoji, b" " * SPACES)
    ]
    tracemalloc.start()
    problems = [read_master_log(log).problem for log in hostile]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(problems)
    assert most < 40_000_000


def test_the_largest_run_is_read_whole() -> None:
    summary = retold(
        _summary(),
        steps=tuple(_step_stats(number) for number in range(160)),
        errors=tuple(
            ErrorCount(f"step-{number}", Outcome.OK, Window.MEASURED, 10**6, "x" * 200) for number in range(200)
        ),
        series=tuple(SeriesPoint(float(at), 1_000, 1_000, 1_000, 10**6, 10**6, 10**6, 10**6) for at in range(600)),
        search=SearchOutcome(SearchEnd.FOUND, 1.0, 2.0, tuple(_trial(number) for number in range(1, 60))),
        histograms=tuple(replace(_summary(3_000, seed).histograms[0], step=f"step-{seed}") for seed in range(300)),
    )
    assert read_master_log("\n".join(summary_lines(summary, TOKEN))).summary == summary


def test_a_summary_too_large_for_the_log_says_what_it_leaves_out() -> None:
    summary = replace(_summary(6_000_000), series=(SeriesPoint(0.0, 1, 1, 1, 1, 1, 1, 1),))
    read = read_master_log("\n".join(summary_lines(summary, TOKEN)))
    assert read.summary == replace(summary, series=(), histograms=(), omitted=("series", "histograms"))


def _step_stats(number: int) -> StepStats:
    percentiles = {str(percentile): 123_456 for percentile in (50, 75, 90, 95, 99, 99.9)}
    return StepStats(
        f"step-{number}", Window.MEASURED, 10**6, 10**6, 1.5, 1, 2.5, 3, 1e9, percentiles, percentiles, percentiles
    )


def _trial(number: int, **changes: Any) -> Trial:
    told = ThresholdResult(LatencyThreshold("total", 99, 2.0).terms, "1.5 s" * 10, met=True)
    facts: dict[str, Any] = {
        "number": number,
        "amount": 100.0,
        "end": RunEnd.COMPLETED,
        "state": TrialState.FAILED,
        "message": "p99 of total is 3 s" * 10,
        "invalidity": None,
        "thresholds": (told,) * 10,
        "started_s": 1.0,
        "load": LoadStats(60.0, 5_400, 5_400, 5_400, 0, 0, 0, 90.0, 90.0, 90.0, 0, 0),
        "steps": tuple(map(_step_stats, (1, 2, 3))),
        "errors": (),
        "negotiated": (),
        "generator": GeneratorStats(
            0.1,
            0.0,
            None,
            200,
            100,
            900,
            1_500,
            2_000,
            40,
            28_000,
            0,
            workers_expected=2,
            workers_connected=2,
            workers_lost=0,
            reports_missing=0,
        ),
        "target_before": None,
        "target_held": None,
        "target_after": None,
    }
    return Trial(**{**facts, **changes})


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"sshload":"snapshot"}', id="snapshot without data"),
        pytest.param('{"sshload":"snapshot","data":[]}', id="snapshot that is a list"),
        pytest.param('{"sshload":"part","number":[],"data":""}', id="part numbered by a list"),
        pytest.param('{"sshload":"part","number":0,"data":5}', id="part that is a number"),
        pytest.param('{"sshload":"end"}', id="end without count"),
        pytest.param('{"sshload":"end","parts":"1","sha256":"","proof":""}', id="end whose count is a string"),
        pytest.param('{"sshload":"end","parts":-1,"sha256":"","proof":""}', id="end whose count is negative"),
        pytest.param('{"sshload":"end","parts":201,"sha256":"","proof":""}', id="end of more parts than a summary has"),
        pytest.param('{"sshload":"part","number":0,"data":"' + "x" * 20_000 + '"}', id="a line longer than any"),
        pytest.param('{"sshload":"end","parts":1,"sha256":7,"proof":""}', id="end whose digest is a number"),
        pytest.param('{"sshload":"snapshot","data":' + "[" * 100_000, id="nested without end"),
        pytest.param('{"sshload":' + "9" * 10_000 + "}", id="a number of ten thousand digits"),
    ],
)
def test_a_spoilt_line_is_a_problem_and_no_summary(line: str) -> None:
    read = read_master_log(line)
    assert (read.snapshot, read.summary) == (None, None)
    assert read.problem != ""


@pytest.mark.parametrize("data", ["", "!"], ids=["nothing", "not base64"])
def test_parts_without_the_stated_digest_are_a_problem_and_no_summary(data: str) -> None:
    read = read_master_log(
        f'{{"sshload":"part","number":0,"data":"{data}"}}\n{{"sshload":"end","parts":1,"sha256":"0","proof":"{TOKEN}"}}'
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
            optional={
                "number": json_values,
                "data": json_values,
                "parts": json_values,
                "sha256": json_values,
                "token": json_values,
            },
        ),
        max_size=4,
    )
)
def test_whatever_a_line_says_reading_never_fails(records: list[dict[str, Any]]) -> None:
    read = read_master_log("\n".join(json.dumps(record, separators=(",", ":")) for record in records))
    assert read.summary is None
