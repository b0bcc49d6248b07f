"""The reference says what the code says: every word, every limit, every option."""

import re
import sys
from enum import StrEnum
from pathlib import Path

import click
import pytest
from guide import PAGES, ROOT, subcommands
from sshload_contract.judgement import error_rate, figures, own_delay
from sshload_contract.judgement.threshold import latency, throughput
from sshload_contract.percentiles import samples_needed
from sshload_contract.steps import TIMINGS
from sshload_contract.vocabulary import Outcome, SearchEnd, Verdict
from sshload_contract.wire.report import PORTS_SHARE_LIMIT
from sshload_operator.api.status.comparison import ComparisonCondition, ComparisonReason, ComparisonVerdict
from sshload_operator.api.status.schedule import ScheduleCondition, ScheduleReason
from sshload_operator.cli.exit_code import ExitCode, exit_code
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.decision.capacity import limited_by
from sshload_operator.decision.capacity.generator_limit import AIMED_PART_OF_LIMIT
from sshload_operator.planning.preflight import SOURCE_PORTS, TIME_WAIT_S
from sshload_operator.state import ConditionType, Phase, Reason, Resource

REFERENCE = ROOT / "docs/reference"
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def first_cells(text: str) -> list[str]:
    """Return the first cells of all table rows that are code."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def test_the_pages_of_fields_are_the_crds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import reference  # noqa: PLC0415 - a script, found by the path that was just set

    for kind in reference.KINDS:
        assert kind.page.read_text(encoding="utf-8") == reference.page(kind), (
            "run .venv/bin/python scripts/reference.py"
        )
    assert {kind.crd.name for kind in reference.KINDS} == {path.name for path in (ROOT / "crds").iterdir()}


def test_the_chart_takes_the_values_that_the_operator_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import installation_schema  # noqa: PLC0415 - likewise

    written = installation_schema.SCHEMA.read_text(encoding="utf-8")
    assert written == installation_schema.schema(), "run make generate"


def test_the_chart_takes_the_configuration_that_the_gateway_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gateway_schema  # noqa: PLC0415 - likewise

    written = gateway_schema.SCHEMA.read_text(encoding="utf-8")
    assert written == gateway_schema.schema(), "run .venv/bin/python scripts/gateway_schema.py"


def test_the_page_of_the_charts_values_is_the_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import chart_reference  # noqa: PLC0415 - likewise

    written = chart_reference.PAGE.read_text(encoding="utf-8")
    assert written == chart_reference.page(), "run .venv/bin/python scripts/chart_reference.py"


def test_the_page_of_metrics_has_the_figures_that_the_operator_publishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import metrics_reference  # noqa: PLC0415 - likewise

    written = metrics_reference.PAGE.read_text(encoding="utf-8")
    assert written == metrics_reference.page(), "run .venv/bin/python scripts/metrics_reference.py"


def test_the_page_of_the_gateway_is_the_gateways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import gateway_reference  # noqa: PLC0415 - likewise

    written = gateway_reference.PAGE.read_text(encoding="utf-8")
    assert written == gateway_reference.page(), "run .venv/bin/python scripts/gateway_reference.py"


def test_every_verdict_is_explained_with_its_exit_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d) \|$", section(page("verdicts.md"), "Verdicts"), re.MULTILINE)
    assert rows == [(verdict.value, str(exit_code(verdict).value)) for verdict in Verdict]


def test_every_phase_is_named_in_its_order() -> None:
    named = re.findall(r"`(\w+)`", section(page("verdicts.md"), "Phases").split(".")[0])
    assert named == [phase.value for phase in Phase]


def test_every_condition_is_explained() -> None:
    named = re.findall(
        r"`([A-Z]\w+)`", "".join(re.findall(r"^\| (`.*?) \|", section(page("verdicts.md"), "Conditions"), re.MULTILINE))
    )
    assert named == [condition.value for condition in ConditionType]


@pytest.mark.parametrize(
    ("file", "reasons", "conditions"),
    [
        pytest.param("comparison-words.md", ComparisonReason, ComparisonCondition, id="comparisons"),
        pytest.param("schedule-words.md", ScheduleReason, ScheduleCondition, id="schedules"),
    ],
)
def test_every_word_of_what_makes_tests_is_explained(
    file: str, reasons: type[StrEnum], conditions: type[StrEnum]
) -> None:
    assert first_cells(section(page(file), "Reasons")) == [reason.value for reason in reasons]
    assert first_cells(section(page(file), "Conditions")) == [condition.value for condition in conditions]


def test_every_verdict_of_a_comparison_is_explained_with_its_exit_code() -> None:
    text = section(page("comparison-words.md"), "Verdicts")
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d) \|$", text, re.MULTILINE)
    assert rows == [(verdict.value, str(exit_code(verdict).value)) for verdict in ComparisonVerdict]


def test_every_step_and_outcome_is_explained() -> None:
    text = page("steps-and-outcomes.md")
    cells = re.findall(r"^\| (`.*?) \|", section(text, "Steps"), re.MULTILINE)
    steps = [step for cell in cells for step in re.findall(r"`([\w.]+)`", cell.partition(" (")[0])]
    assert sorted(steps) == sorted(TIMINGS)
    assert first_cells(section(text, "Outcomes")) == [outcome.value for outcome in Outcome]


def test_the_limits_of_validity_are_the_codes() -> None:
    text = " ".join(page("validity.md").split())
    for words in (
        f"{own_delay.CPU_SHARE_LIMIT:.0%} of a core".replace("%", " %"),
        f"{PORTS_SHARE_LIMIT:.0%} of a worker's source ports".replace("%", " %"),
        f"at most {own_delay.SOUND_BELOW_US // 1000} ms",
        f"at least {1 - figures.TOLERATED_SHORTFALL:.0%} of the load".replace("%", " %"),
        f"{SOURCE_PORTS:,} each, which a closed connection keeps for {TIME_WAIT_S:.0f} s",
    ):
        assert words in text
    shares = (own_delay.SOUND_SHARE_OF_LIMIT, latency.LARGEST_SHARE_OF_LIMIT, latency.CROWD_SHARE_OF_LIMIT)
    assert shares == (0.1, 0.25, 0.5)
    assert (error_rate.BURST_SHARE_OF_MEDIAN, throughput.CROWD_SHARE_OF_RATE) == (0.25, 0.5)
    assert (latency.SURE_SHARE_OF_SHORTEST, error_rate.SHARE_OF_WINDOW) == (0.5, 0.1)
    assert (latency.SOUND_HIDDEN_DELAYS, latency.SOUND_ADDED_DELAYS) == (2, 4)
    assert (own_delay.HIDDEN_DELAYS, own_delay.ADDED_DELAYS) == (2, 10)
    for words in (
        "at most a tenth of the promised limit",
        "at most a quarter of the limit",
        "below half of the limit",
        "a tenth of the measured window",
        "at most a quarter of `total`'s p50",
        "twice the delay",
        "four times the delay",
        "twice the largest delay",
        "ten times the *largest* delay",
    ):
        assert words in text


def test_the_samples_that_a_percentile_needs_are_the_codes() -> None:
    text = section(page("validity.md"), "Too few samples")
    for percentile, words in ((50, "p50 needs {}"), (90, "p90 {}"), (95, "p95 {}"), (99, "p99 {}"), (99.9, "p99.9 {}")):
        assert words.format(f"{samples_needed(percentile):,}") in text


def test_every_reason_of_invalidity_has_its_limit() -> None:
    invalid = {
        Reason.WORKER_LOST,
        Reason.REPORTS_MISSING,
        Reason.GENERATOR_FAULT,
        Reason.COUNTS_DISAGREE,
        Reason.SOURCE_PORTS_USED_UP,
        Reason.GENERATOR_SATURATED,
        Reason.LATE_ARRIVALS,
        Reason.CPU_STOLEN,
        Reason.ARRIVALS_DROPPED,
    }
    before_any_section = page("validity.md").partition("\n## ")[0]
    assert set(first_cells(before_any_section)) == {reason.value for reason in invalid}


def test_every_end_of_a_search_is_explained() -> None:
    text = section(page("verdicts.md"), "The verdict on a search")
    named = re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `")))
    assert sorted(named) == sorted(end.value for end in SearchEnd)


def test_every_shortage_is_explained_with_its_limits() -> None:
    text = section(page("validity.md"), "What limits a server")
    assert list(dict.fromkeys(first_cells(text))) == [resource.value for resource in Resource]
    for words in (
        f"{limited_by.CPU_SHARE_LIMIT:.0%} of the container's CPU limit",
        f"for more than {limited_by.THROTTLED_SHARE_LIMIT:.0%} of the trial",
        f"{limited_by.MEMORY_SHARE_LIMIT:.0%} of the memory limit",
        f"{limited_by.PROCESSES_SHARE_LIMIT:.0%} of the processes",
    ):
        assert words.replace("%", " %") in text


def test_the_room_for_more_workers_is_the_codes() -> None:
    text, part = section(page("validity.md"), "How many workers are needed"), AIMED_PART_OF_LIMIT
    assert f"{part:.0%} of the limit".replace("%", " %") in text
    assert own_delay.CPU_SHARE_LIMIT == PORTS_SHARE_LIMIT
    assert f"({own_delay.CPU_SHARE_LIMIT * part:.0%} of a core".replace("%", " %") in " ".join(text.split())


def options_of(text: str) -> set[str]:
    """Return the options that the tables of a section name, and those of the sections that its last line adds."""
    added = re.findall(r"\[(options for [^\]]+)\]", "".join(re.findall(r"^And the .*$", text, re.MULTILINE)))
    tables = [text, *(section(page("command-line.md"), title.capitalize()) for title in added)]
    cells = [cell for table in tables for cell in re.findall(r"^\| (`-.*?) \|", table, re.MULTILINE)]
    return {option for cell in cells for option in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("name", sorted(subcommands()))
def test_every_option_is_explained(name: str) -> None:
    text = page("command-line.md")
    titles = re.findall(r"^## (sshload (\w+).*)$", text, re.MULTILINE)
    title = next(title for title, command in titles if command == name)
    options = [one for one in subcommands()[name].params if isinstance(one, click.Option)]
    assert options_of(section(text, title)) == {
        spelling for one in options for spelling in (*one.opts, *one.secondary_opts)
    }


def test_every_exit_code_is_explained() -> None:
    rows = re.findall(r"^\| (\d+) \|", section(page("command-line.md"), "Exit codes"), re.MULTILINE)
    assert rows == [str(code.value) for code in ExitCode]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in _LINK.findall(path.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and GitLab make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_python_is_new_enough_for_what_contributing_says() -> None:
    assert "Python 3.11 or newer" in (ROOT / "CONTRIBUTING.md").read_text()
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text()
    assert sys.version_info >= (3, 11)


def test_every_metric_of_the_operator_is_explained() -> None:
    rendered = b"".join(OperatorMetrics().render()).decode()
    served = set(re.findall(r"^# TYPE (sshload_\w+)", rendered, re.MULTILINE))
    explained = set(first_cells(section(page("metrics.md"), "The operator")))
    assert explained == {name for name in served if not name.endswith("_created")}
