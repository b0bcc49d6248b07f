"""The same result as YAML, JUnit, Markdown and CSV, and what it advises; text of servers stays text in each of them."""

import csv
import io
from typing import Any
from xml.etree import ElementTree as ET

import click
import pytest
import yaml
from sshload_contract.thresholds import ErrorRateThreshold, LatencyThreshold
from sshload_operator.cli.view.advice import advice_page
from sshload_operator.cli.view.formats import as_csv, as_junit, as_markdown, print_result
from sshload_operator.cli.view.page import Check, Facts, Grid, Page, as_text
from sshload_operator.cli.view.result import result_page, result_rows
from statuses import RESULTS, read_test_status, step_json, threshold_json

HOSTILE = "=cmd|`ls` <b> ]]> & [x](y) *z*\x1b[31m\n# head"
STATUS: dict[str, Any] = {
    "phase": "Finished",
    "verdict": "Failed",
    "reason": "ThresholdBroken",
    "message": "broken",
    "thresholds": [
        threshold_json(LatencyThreshold("total", 99, 2.0), "90 ms", met=True, value=90),
        threshold_json(ErrorRateThreshold(0.01), "3 % (18 of 600)", met=False, value=3),
        threshold_json(LatencyThreshold("total", 99.9, 3.0)),
    ],
    "results": {
        **RESULTS,
        "steps": [step_json("total", {50: 40.0, 99: 90.0, 99.9: 99.0}, maxMs=100.0), step_json("login", {50: 20.0})],
        "errors": [{"step": "kex", "outcome": "kexFailed", "count": 3, "firstMessage": HOSTILE}],
    },
}


def page(**changes: Any) -> Page:
    return result_page("one", read_test_status({**STATUS, **changes}))


def cases(text: str) -> dict[str, list[str]]:
    """Return what JUnit's XML says of each case: the kinds of trouble."""
    suite = ET.fromstring(text)  # noqa: S314 - it is our own
    found = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert int(suite.attrib["tests"]) == len(found)
    for kind in ("failure", "error"):
        assert int(suite.attrib[f"{kind}s"]) == sum(kind in tags for tags in found.values())
    return found


def test_junit_has_a_case_for_each_threshold_and_one_for_the_verdict() -> None:
    assert cases(as_junit(page())) == {
        "p99 of total below 2 s": [],
        "error rate below 1 %": ["failure"],
        "p99.9 of total below 3 s": ["skipped"],
        "verdict": ["failure"],
    }


@pytest.mark.parametrize("verdict", ["Invalid", "Error", "Inconclusive", "Aborted"])
def test_a_run_that_cannot_be_judged_is_an_error_and_never_passes(verdict: str) -> None:
    expected = ["skipped"] if verdict != "Inconclusive" else []
    assert cases(as_junit(page(verdict=verdict, thresholds=STATUS["thresholds"][:1]))) == {
        "p99 of total below 2 s": expected,
        "verdict": ["error"],
    }


def test_a_list_has_no_verdict_for_junit() -> None:
    with pytest.raises(click.UsageError, match="sshload watch NAME -o junit"):
        print_result("junit", {}, Page("list", "", "", None), ())


def test_a_passed_run_has_neither_failures_nor_errors() -> None:
    assert not any(cases(as_junit(page(verdict="Passed", thresholds=STATUS["thresholds"][:1]))).values())


def test_text_of_a_server_stays_text_in_xml() -> None:
    hostile = Page(HOSTILE, HOSTILE, HOSTILE, None, checks=(Check(HOSTILE, HOSTILE, False),))
    suite = ET.fromstring(as_junit(hostile))  # noqa: S314 - likewise
    assert "\x1b" not in as_junit(hostile)
    assert HOSTILE.split("\x1b", maxsplit=1)[0] in suite.attrib["name"]


def test_text_of_a_server_stays_in_its_cell_of_a_markdown_table() -> None:
    text = as_markdown(page())
    (row,) = (line for line in text.splitlines() if "kexFailed" in line)
    assert row.count(" | ") == 3
    for mark in ("\\|", "\\`ls\\`", "\\<b\\>", "\\[x\\]", "\\*z\\*", "\\# head"):
        assert mark in row


def test_markdown_has_the_verdict_the_thresholds_and_the_steps() -> None:
    text = as_markdown(page())
    assert text.startswith("**Failed (ThresholdBroken)**: 1 of 3 thresholds was broken\n")
    assert "| ✗ | error rate below 1 %: 3 % (18 of 600), 2 points above |" in text
    assert "| total | 600 | 0 |" in text


def test_csv_has_a_row_for_each_step_with_the_statuss_names() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(result_rows(read_test_status(STATUS))))))
    assert [row["step"] for row in rows] == ["login", "total"]
    assert (rows[1]["p99Ms"], rows[1]["maxMs"], rows[0]["p99Ms"]) == ("90.0", "100.0", "")
    assert rows[1]["p999Ms"] == "99.0"


def test_a_text_that_a_spreadsheet_would_run_is_quoted_and_a_number_is_not() -> None:
    assert as_csv([{"a": "=1+1", "b": -1.5}]).splitlines()[1] == "'=1+1,-1.5"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        pytest.param("a \x1b[31mb\nc", "a  [31mb c", id="control-characters"),
        pytest.param("\t=1+1", "' =1+1", id="a-tab-before-a-formula"),
        pytest.param("\r@x", "' @x", id="a-return-before-a-formula"),
        pytest.param("1,2", "1,2", id="a-comma"),
    ],
)
def test_a_text_in_csv_is_one_line_that_no_program_acts_on(text: str, cell: str) -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv([{"a": text}])))
    assert row["a"] == cell


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        pytest.param("@everyone", "@&#8203;everyone", id="a-mention"),
        pytest.param("https://x.y", "https:&#8203;//x.y", id="a-link"),
        pytest.param("WWW.x.y", "W&#8203;WW.x.y", id="a-link-without-scheme"),
        pytest.param("~~x~~", "\\~\\~x\\~\\~", id="struck-text"),
        pytest.param("&lt;b&gt;", "\\&lt;b\\&gt;", id="references"),
        pytest.param("$x$", "&#36;x&#36;", id="a-formula"),
    ],
)
def test_text_of_a_server_mentions_nobody_and_links_nowhere(text: str, markdown: str) -> None:
    assert as_markdown(Page("one", "Failed", text, False)) == f"**Failed**: {markdown}\n"


def test_junit_is_utf_8_in_whatever_encoding_it_is_printed() -> None:
    text = as_junit(Page("東京", "Passed", "", True))
    assert text.isascii()
    assert ET.fromstring(text.encode()).attrib["name"] == "東京"  # noqa: S314 - it is our own


def test_yaml_is_the_same_object_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    whole = {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTest", "status": STATUS}
    print_result("yaml", whole, page(), ())
    assert yaml.safe_load(capsys.readouterr().out) == whole


def test_a_server_cannot_write_control_characters_in_any_part_of_a_page() -> None:
    parts = (Grid((HOSTILE,), ((HOSTILE,),), note=HOSTILE), Facts(((HOSTILE, HOSTILE),)))
    hostile = Page(HOSTILE, HOSTILE, HOSTILE, None, (Check(HOSTILE, HOSTILE, None),), parts)
    assert "\x1b" not in as_text(hostile) + as_markdown(hostile)


STARTUPS = {"setting": "10:30:100", "recommended": "50:30:100", "observedDropPercent": 12.0, "message": "12 % dropped"}


@pytest.mark.parametrize(
    ("startups", "pasted"),
    [
        pytest.param(STARTUPS, True, id="drops"),
        pytest.param({**STARTUPS, "setting": None}, True, id="of-an-unknown-setting"),
        pytest.param({**STARTUPS, "setting": "100:30:200"}, False, id="the-setting-is-larger"),
        pytest.param({**STARTUPS, "observedDropPercent": 0.0}, False, id="nothing-was-dropped"),
        pytest.param({**STARTUPS, "recommended": None}, False, id="no-setting-loses-nothing"),
        pytest.param({**STARTUPS, "recommended": "50:30:100; rm -rf /"}, False, id="no-setting-at-all"),
    ],
)
def test_the_line_to_paste_stands_last_where_max_startups_turned_logins_away(
    *, startups: dict[str, Any], pasted: bool
) -> None:
    stated = {key: value for key, value in startups.items() if value is not None}
    text = as_text(page(results={**RESULTS, "maxStartups": stated}))
    assert text.endswith("sshd_config:\n\n    MaxStartups 50:30:100\n") == pasted
    assert ("rm -rf" in text) is False


def test_penalties_are_answered_with_the_line_that_exempts_the_workers() -> None:
    results = {**RESULTS, "target": {"dropped": {"penalty": 5}}}
    assert "\n    PerSourcePenaltyExemptList " in as_text(page(results=results))


def test_advice_is_what_the_result_rests_on_and_the_lines() -> None:
    text = as_text(advice_page("one", read_test_status({**STATUS, "results": {**RESULTS, "maxStartups": STARTUPS}})))
    assert text.startswith("Advice: the server's configuration is a limit\n")
    assert "startups  12 % dropped" in text
    assert text.endswith("    MaxStartups 50:30:100\n")


def test_refused_channels_name_the_option_that_refuses_them() -> None:
    errors = [{"step": "channelOpen", "outcome": "channelRefused", "count": 7}]
    text = as_text(advice_page("one", read_test_status({**STATUS, "results": {**RESULTS, "errors": errors}})))
    assert "7 channels were refused: raise MaxSessions" in text


def test_logins_that_ended_after_too_many_keys_name_the_option_and_what_clients_can_do() -> None:
    errors = [{"step": "auth", "outcome": "tooManyAuthFailures", "count": 1200}]
    text = as_text(advice_page("one", read_test_status({**STATUS, "results": {**RESULTS, "errors": errors}})))
    assert "1,200 logins ended before the right key's turn: raise MaxAuthTries" in text
    assert "IdentitiesOnly" in text


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("tooManyLogins", "raise maxlogins in /etc/security/limits.conf"),
        ("accountLocked", "faillock --user NAME --reset"),
        ("secondFactorReused", "one user logs in once per period"),
        ("passwordExpired", "chage -M"),
        ("accountExpired", "chage -E"),
        ("noLogin", "/etc/nologin"),
    ],
)
def test_logins_that_pam_refused_name_its_limit(outcome: str, words: str) -> None:
    errors = [{"step": "auth", "outcome": outcome, "count": 1200}]
    text = as_text(advice_page("one", read_test_status({**STATUS, "results": {**RESULTS, "errors": errors}})))
    assert "1,200 logins" in text
    assert words in " ".join(text.split())


def test_logins_that_wait_as_long_as_sssd_does_name_its_timeouts() -> None:
    def advice(longest_ms: float) -> str:
        results = {**RESULTS, "steps": [step_json("auth", {50: 40.0}, maxMs=longest_ms)]}
        return as_text(advice_page("one", read_test_status({**STATUS, "results": results})))

    assert "accounts  auth took up to 6.1 s. Where sssd answers" in advice(6_100.0)
    assert "ldap_search_timeout" in advice(6_100.0)
    assert "offline_timeout" in advice(6_100.0)
    assert "accounts" not in advice(5_000.0)


@pytest.mark.parametrize(("cache", "is_said"), [("cold", True), ("warm", False)])
def test_a_cold_cache_names_the_options_of_a_warm_one(cache: str, is_said: bool) -> None:  # noqa: FBT001 - of a table
    results = {**RESULTS, "target": {"directory": {"cache": cache}}}
    text = as_text(advice_page("one", read_test_status({**STATUS, "results": results})))
    assert ("entry_cache_timeout" in text) is is_said


def test_refused_channels_of_a_server_without_that_option_name_none() -> None:
    errors = [{"step": "channelOpen", "outcome": "channelRefused", "count": 7}]
    negotiated = [
        {"serverVersion": "SSH-2.0-dropbear_2025.88", "kex": "k", "cipher": "c", "mac": "m", "hostKey": "h", "count": 7}
    ]
    results = {**RESULTS, "errors": errors, "negotiated": negotiated}
    text = as_text(advice_page("one", read_test_status({**STATUS, "results": results})))
    assert "7 channels were refused" in text
    assert "MaxSessions" not in text


@pytest.mark.parametrize("verdict", ["Invalid", "Error", "Aborted"])
def test_a_run_that_was_not_measured_gives_no_line_to_paste(verdict: str) -> None:
    results = {**RESULTS, "maxStartups": STARTUPS, "target": {"dropped": {"penalty": 5}}}
    status = {**STATUS, "verdict": verdict, "reason": "Some", "message": "the generator lagged", "results": results}
    said = f"No advice: the verdict is {verdict} (Some): the generator lagged\n"
    assert as_text(advice_page("one", read_test_status(status))) == said
    assert "sshd_config" not in as_text(result_page("one", read_test_status(status)))


@pytest.mark.parametrize(("status", "phase"), [({}, "Pending"), ({"phase": "Running"}, "Running")])
def test_a_test_that_has_not_finished_gives_no_advice_yet(status: dict[str, Any], phase: str) -> None:
    said = f"No advice: the test is not finished yet: {phase}\n"
    assert as_text(advice_page("one", read_test_status({**status, "results": RESULTS}))) == said


def test_a_test_that_measured_nothing_gives_no_advice() -> None:
    assert as_text(advice_page("one", read_test_status({"phase": "Finished"}))).startswith("No advice: ")
