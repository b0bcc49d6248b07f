from typing import Any

import pytest
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold, ThroughputThreshold
from sshload_operator.api.inert_text import printable
from sshload_operator.cli.view.page import as_text
from sshload_operator.cli.view.result import result_page
from sshload_operator.cli.view.text import bytes_per_second, milliseconds
from statuses import read_test_status, step_json, threshold_json

RESULTS: dict[str, Any] = {
    "durationSeconds": 30.0,
    "offeredRate": 20.0,
    "achievedRate": 19.967,
    "completedRate": 19.9,
    "iterations": 12_345,
    "failures": 3,
    "errorPercent": 0.024,
    "steps": [
        step_json("connect", {50: 0.123, 90: 0.2, 99: 1.5}, count=12_345, meanMs=0.17, maxMs=9.999),
        step_json("total", {50: 43.21, 90: 120.4}, count=12_342, failures=3, rate=19.9, meanMs=55, maxMs=1900),
    ],
    "errors": [{"step": "kex", "outcome": "droppedUnknown", "count": 3, "firstMessage": "closed \x1b[31mby\npeer"}],
}
FINISHED: dict[str, Any] = {
    "phase": "Finished",
    "verdict": "Failed",
    "reason": "ThresholdBroken",
    "message": "one threshold is broken",
    "results": RESULTS,
    "thresholds": [
        threshold_json(LatencyThreshold("total", 99, 2.0)),
        threshold_json(ErrorRateThreshold(0.0001), "0.024 % (3 of 12345)", met=False, value=0.024),
        threshold_json(ThroughputThreshold(1), "19.90/s", met=True, value=19.9),
    ],
}


def result_text(status: dict[str, Any], width: int = 400, *, verbose: bool = False) -> str:
    return as_text(result_page("one", read_test_status(status), verbose=verbose), width)


def lines(status: dict[str, Any], *, verbose: bool = False) -> list[str]:
    return result_text(status, verbose=verbose).splitlines()


def cells(line: str) -> list[str]:
    return line.split()


def test_each_step_stands_in_its_row_under_heads_with_units() -> None:
    rows = lines(FINISHED, verbose=True)
    head = next(number for number, line in enumerate(rows) if line.startswith("step "))
    assert rows[head].split() == ["step", "count", "failed", "rate/s", "mean", "ms", "p50", "p90", "p99", "max"]
    assert cells(rows[head + 1]) == ["connect", "12,345", "0", "20.0", "0.17", "0.12", "0.20", "1.50", "10.00"]
    assert cells(rows[head + 2]) == ["total", "12,342", "3", "19.9", "55.0", "43.2", "120", "-", "1,900"]


def test_steps_stand_in_the_order_in_which_they_happen_whatever_was_seen_first() -> None:
    seen = ("total", "read.command", "kex", "write.exec", "read.exec", "login", "startDelay", "write.command")
    steps = [step_json(name, {50: 1.0}) for name in seen]
    rows = lines({**FINISHED, "results": {**RESULTS, "steps": steps}}, verbose=True)
    head = next(number for number, line in enumerate(rows) if line.startswith("step "))
    names = [cells(row)[0] for row in rows[head + 1 : head + 1 + len(steps)]]
    in_order = ["startDelay", "kex", "login", "read.exec", "read.command", "write.exec", "write.command", "total"]
    assert names == in_order


def test_without_v_the_parts_of_a_login_are_counted_and_not_listed() -> None:
    names = ("connect", "kex", "login", "exec", "command", "total")
    steps = [step_json(name, {}) for name in names]
    shown = lines({**FINISHED, "thresholds": [], "results": {**RESULTS, "steps": steps, "errors": []}})
    assert [line.split()[0] for line in shown if line.startswith(names)] == ["login", "command", "total"]
    assert any("-v shows all 6 steps" in line for line in shown)


def test_the_parts_of_steps_are_listed_where_they_happen() -> None:
    results = {**RESULTS, "errors": [], "parts": [step_json("kex", {50: 3.5})]}
    rows = lines({**FINISHED, "thresholds": [], "results": results}, verbose=True)
    assert [cells(row)[0] for row in rows if row.startswith(("connect", "kex", "total"))] == ["connect", "kex", "total"]


@pytest.mark.parametrize("why", ["failed", "promised"])
def test_a_part_that_failed_or_has_a_threshold_is_listed_without_v(why: str) -> None:
    kex = step_json("kex", {}, failures=3 if why == "failed" else 0)
    thresholds = [threshold_json(LatencyThreshold("kex", 99, 1.0))] if why == "promised" else []
    steps = [kex, step_json("total", {})]
    shown = lines({**FINISHED, "thresholds": thresholds, "results": {**RESULTS, "steps": steps}})
    assert [line for line in shown if line.startswith("kex ")]


def test_a_figure_that_is_not_stated_is_explained_and_never_zero() -> None:
    assert "-: too few samples to state it" in result_text(FINISHED)


def test_without_missing_figures_nothing_is_explained() -> None:
    whole = {**RESULTS, "steps": RESULTS["steps"][:1]}
    assert "-: too few samples" not in result_text({**FINISHED, "results": whole}, verbose=True)


def test_columns_are_aligned() -> None:
    rows = lines(FINISHED, verbose=True)
    head = next(number for number, line in enumerate(rows) if line.startswith("step "))
    assert len({len(row) for row in rows[head : head + 3]}) == 1


def test_where_content_was_moved_the_last_column_says_how_fast() -> None:
    moving = [RESULTS["steps"][0], {**RESULTS["steps"][1], "bytesPerSecond": 11_234_567.0}]
    rows = lines({**FINISHED, "results": {**RESULTS, "steps": moving}}, verbose=True)
    head = next(number for number, line in enumerate(rows) if line.startswith("step "))
    assert cells(rows[head])[-1] == "moved"
    assert cells(rows[head + 1])[-1] == "10.00"
    assert cells(rows[head + 2])[-2:] == ["11.2", "MB/s"]


def test_a_run_that_began_no_load_states_no_rates() -> None:
    none = {"offeredRate": 0.0, "achievedRate": 0.0, "completedRate": 0.0, "durationSeconds": 0.0, "iterations": 0}
    assert not [line for line in lines({**FINISHED, "results": {**RESULTS, **none}}) if line.startswith("load ")]


def test_held_sessions_stand_with_the_totals_and_their_share_of_failures() -> None:
    text = result_text({**FINISHED, "results": {**RESULTS, "hold": {"heldMost": 5000, "heldLeast": 4990}}})
    assert "3 of 12,345 iterations failed\n" in text.replace(" \n", "\n")
    assert "held  5,000 sessions at most, 4,990 at least; with them, 0.02 % failed" in text


@pytest.mark.parametrize(
    ("login", "text"),
    [
        pytest.param(
            {"p50Ms": 52.0, "aloneP50Ms": 40.0, "p50Ratio": 1.3},
            "new login  beside them 52.0 ms (p50), 40.0 ms with nothing held: 1.30 times as long",
            id="both known",
        ),
        pytest.param(
            {"p50Ms": 52.0, "aloneP50Ms": 40.0, "p50Ratio": 1.3, "p50RatioLow": 1.1, "p50RatioHigh": 1.512},
            "new login  beside them 52.0 ms (p50), 40.0 ms with nothing held: 1.30 times as long (1.10 to 1.51)",
            id="with what the ratio may be",
        ),
        pytest.param({"p50Ms": 52.0}, "new login  beside them 52.0 ms (p50)", id="no warm-up"),
    ],
)
def test_a_newcomers_login_stands_with_the_held_sessions(login: dict[str, float], text: str) -> None:
    hold = {"heldMost": 50, "heldLeast": 50, "freshLogin": login}
    assert text in lines({**FINISHED, "results": {**RESULTS, "hold": hold}})


def test_without_probes_nothing_is_said_of_newcomers() -> None:
    hold = {"heldMost": 50, "heldLeast": 50, "freshLogin": {"aloneP50Ms": 40.0}}
    assert "new login" not in result_text({**FINISHED, "results": {**RESULTS, "hold": hold}})


@pytest.mark.parametrize(
    ("target", "text"),
    [
        pytest.param({"memoryPerSessionBytes": 1_934_000}, "1.93 MB per held session", id="a container's"),
        pytest.param(
            {"memoryPerSessionBytes": 1_934_000, "memoryPerSessionUpperBound": True},
            "at most 1.93 MB per held session",
            id="of processes",
        ),
        pytest.param({"oomKills": 0, "refusedForks": 2}, "2 processes could not be started", id="refused forks"),
        pytest.param({"oomKills": 3}, "3 processes killed for lack of memory", id="killed processes"),
    ],
)
def test_what_a_session_takes_and_what_the_target_lacked_stand_in_its_line(target: dict[str, Any], text: str) -> None:
    assert f"server  {text}" in lines({**FINISHED, "results": {**RESULTS, "target": target}})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.0, "0 B/s", id="nothing"),
        pytest.param(999.4, "999 B/s", id="below a thousand"),
        pytest.param(999.6, "1.00 kB/s", id="a thousand"),
        pytest.param(123_456.0, "123 kB/s", id="thousands"),
        pytest.param(1_234_567.0, "1.23 MB/s", id="millions"),
        pytest.param(2.5e12, "2,500 GB/s", id="beyond"),
    ],
)
def test_a_throughput_has_three_digits(value: float, text: str) -> None:
    assert bytes_per_second(value) == text


def test_errors_are_listed_by_step_and_outcome_with_what_was_said_first() -> None:
    row = next(line for line in lines(FINISHED) if "droppedUnknown" in line)
    assert cells(row)[:3] == ["kex", "droppedUnknown", "3"]


def test_a_server_cannot_write_control_characters_to_the_terminal() -> None:
    text = result_text(FINISHED)
    assert "\x1b" not in text
    assert "closed  [31mby peer" in text


@pytest.mark.parametrize(
    ("threshold", "observed", "held"),
    [
        pytest.param("p99 of total below 2 s", "too few samples", "?", id="too few samples"),
        pytest.param("error rate below 0.01 %", "0.024 % (3 of 12345), 0.014 points above", "✗", id="broken"),
        pytest.param("throughput above 1/s", "19.90/s, 1,890 % above", "✓", id="met"),
    ],
)
def test_each_threshold_shows_what_was_observed_and_whether_it_held(threshold: str, observed: str, held: str) -> None:
    assert f"{held}  {threshold}: {observed}" in lines(FINISHED)


@pytest.mark.parametrize("verdict", ["Invalid", "Error", "Aborted"])
@pytest.mark.parametrize("passed", [True, False])
def test_no_threshold_is_met_or_broken_by_a_run_that_was_not_measured(*, verdict: str, passed: bool) -> None:
    judged = threshold_json(LatencyThreshold("total", 99, 0.09), "9 ms", met=passed, value=9)
    shown = lines({**FINISHED, "verdict": verdict, "thresholds": [judged]})
    assert f"?  p99 of total below 90 ms: 9 ms, 90 % below; not judged: {verdict}" in shown


def test_the_baseline_is_named() -> None:
    baseline = {"test": "before", "uid": "1-2", "verdict": "Passed", "completionTime": "2026-11-21T12:00:00Z"}
    assert "baseline  before (Passed, 2026-11-21T12:00:00Z)" in lines({**FINISHED, "baseline": baseline})
    assert "baseline  under-way" in lines({**FINISHED, "baseline": {"test": "under-way"}})


def test_the_verdict_stands_first_and_its_thresholds_below() -> None:
    assert lines(FINISHED)[:3] == ["Failed (ThresholdBroken): 1 of 3 thresholds was broken", "",
                                   "?  p99 of total below 2 s: too few samples"]  # fmt: skip


def test_what_no_table_says_is_said_with_the_verdict() -> None:
    passed = {**FINISHED, "verdict": "Passed", "reason": "ThresholdsMet", "message": "all were met: 9 iterations"}
    text = result_text(passed)
    assert text.startswith("Passed (ThresholdsMet): all were met: 9 iterations\n")
    assert "12,345 iterations" not in text  # the verdict has said how many


def test_at_eighty_columns_nothing_is_cut() -> None:
    long = "the-name-of-a-step-that-somebody-has-chosen-to-be-rather-long.command"
    steps = [step_json(long[-64:], {50: 12_345.0, 90: 23_456.0, 99: 34_567.0}, count=123_456, meanMs=1.0, maxMs=45_678,
                       bytesPerSecond=1e9)]  # fmt: skip
    text = result_text({**FINISHED, "results": {**RESULTS, "steps": steps}}, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for figure in ("12,345", "23,456", "34,567", "45,678", "123,456", "1.00 GB/s"):
        assert figure in text
    assert "".join(line.split("  ")[0] for line in text.splitlines() if line[:4] in long or line[:4] == long[-64:][:4])


def test_a_test_without_results_shows_its_verdict_alone() -> None:
    status = {"phase": "Finished", "verdict": "Error", "reason": "InvalidSpec", "message": "spec.load: missing"}
    assert result_text(status) == "Error (InvalidSpec): spec.load: missing\n"


def test_an_unfinished_test_has_no_verdict() -> None:
    assert result_text({"phase": "Running"}) == "No verdict yet: Running\n"


def test_drops_that_sshd_did_not_log_in_full_are_at_least_so_many() -> None:
    target = {"accepted": 5, "dropped": {"maxStartups": 2, "penalty": 1, "lowerBound": True}}
    text = result_text({**FINISHED, "results": {**RESULTS, "target": target}})
    assert "server  5 logins accepted, at least 3 connections dropped" in text


def test_what_was_negotiated_is_shown_because_a_cheap_handshake_is_no_real_one() -> None:
    one = {
        "serverVersion": "SSH-2.0-OpenSSH_10.0",
        "kex": "curve25519-sha256",
        "hostKey": "ssh-ed25519",
        "cipher": "aes128-gcm@openssh.com",
        "mac": "",
        "count": 600,
    }
    text = result_text({**FINISHED, "results": {**RESULTS, "negotiated": [one]}})
    words = "SSH-2.0-OpenSSH_10.0, curve25519-sha256, ssh-ed25519, aes128-gcm@openssh.com: 600 logins"
    assert f"server  {words}" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(None, "-", id="absent"),
        pytest.param(0.0, "0.00", id="zero"),
        pytest.param(9.994, "9.99", id="below ten"),
        pytest.param(99.94, "99.9", id="below a hundred"),
        pytest.param(1234.5, "1,234", id="above"),
    ],
)
def test_a_latency_has_three_digits(value: float | None, text: str) -> None:
    assert milliseconds(value) == text


def test_printable_keeps_letters_of_all_scripts() -> None:
    assert printable("Zürich 東京\t\x07!") == "Zürich 東京  !"


def test_what_max_startups_did_stands_in_one_line_of_its_own() -> None:
    advice = "4 % of the connections were dropped;\nMaxStartups 10:30:100 explains 4.1 %."
    told = lines({**FINISHED, "results": {**RESULTS, "maxStartups": {"message": advice}}})
    assert "startups  4 % of the connections were dropped; MaxStartups 10:30:100 explains 4.1 %." in told
    assert not [line for line in lines(FINISHED) if line.startswith("startups")]


def test_a_status_that_somebody_has_taken_reason_and_message_from_is_shown_without_them() -> None:
    assert "Passed (-)" in result_text({"phase": "Finished", "verdict": "Passed"})


def test_each_program_in_the_path_has_a_line_of_what_it_used() -> None:
    used = {"cpuPerIterationMs": 1.25, "memoryPeakBytes": 91_000_000, "cpuThrottledSeconds": 0.5}
    programs = {"proxy": {"cpuPerLoginMs": 0.5, "memoryPeakBytes": 24_000_000}, "gateway": used}
    told = lines({**FINISHED, "results": {**RESULTS, **programs}})
    assert "proxy    0.5 ms CPU per login, 24 MB at most" in told
    assert "gateway  1.25 ms CPU per iteration, held back by its CPU limit for 0.5 s, 91 MB at most" in told


def test_a_kernel_that_does_not_tell_how_long_the_workers_waited_for_a_cpu_is_named() -> None:
    generator = {"workersExpected": 2, "workersConnected": 2, "cpuPercent": 12.0}
    told = {**generator, "runDelayPercent": 1.0}
    missing = "this kernel does not report how long it waited for a CPU"
    assert missing in result_text({**FINISHED, "results": {**RESULTS, "generator": generator}})
    assert missing not in result_text({**FINISHED, "results": {**RESULTS, "generator": told}})
    assert missing not in result_text(FINISHED)


def test_stages_stand_in_a_table_of_their_own_so_that_the_one_that_breaks_is_seen() -> None:
    stage = {"durationSeconds": 30, "completedRate": 19.9, "iterations": 600, "failures": 0}
    both = [
        {**stage, "stage": 1, "offeredRate": 20, "p50Ms": 40.2, "p90Ms": 44, "p99Ms": 60},
        {**stage, "stage": 2, "offeredRate": 400, "failures": 1_200, "p50Ms": 900, "p90Ms": 1_800},
    ]
    rows = lines({**FINISHED, "results": {**RESULTS, "stages": both}})
    head = next(number for number, line in enumerate(rows) if line.startswith("stage"))
    assert cells(rows[head])[:5] == ["stage", "offered/s", "completed/s", "ended", "failed"]
    assert cells(rows[head + 1]) == ["1", "20.0", "19.9", "600", "0", "40.2", "44.0", "60.0"]
    assert cells(rows[head + 2]) == ["2", "400.0", "19.9", "600", "1,200", "900", "1,800", "-"]
