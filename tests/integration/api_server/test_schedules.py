"""The CRD of schedules on a real API server: what it refuses, by which message, and that `parse_schedule` agrees."""

import json
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer, DryRun
from circles import some
from live_cluster import LiveCluster
from schedules import schedule_spec
from specs.bad import Bad
from specs.small import SMALL
from specs.spec import Spec
from specs.tables import BAD, GOOD
from sshload_operator.api.kinds import SCHEDULE
from sshload_operator.api.schedule.spec import parse_schedule
from sshload_operator.api.shapes.errors import SpecError

# The schedules that robfig/cron was asked of: see tests/golden/cron.
ANSWERS = Path(__file__).parents[2] / "golden/cron/answers.json"
ASKED = sorted({answer["schedule"] for answer in json.loads(ANSWERS.read_text(encoding="utf-8"))})


@pytest.fixture(scope="module")
def schedules(api_server: ApiServer) -> DryRun:
    """Return what says of a schedule whether the API server accepts it."""
    return DryRun(api_server.namespace(), SCHEDULE)


def parse_refusal(spec: dict[str, Any]) -> str:
    """Return the message with which `parse_schedule` refuses the spec, empty where it accepts it."""
    try:
        parse_schedule(spec)
    except SpecError as error:
        return str(error)
    return ""


def test_parse_and_the_server_take_the_same_schedules(schedules: DryRun) -> None:
    refused = {written for written in ASKED if schedules.refusal(schedule_spec(schedule=written))}
    assert refused == {written for written in ASKED if parse_refusal(schedule_spec(schedule=written))}
    assert 0 < len(refused) < len(ASKED)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"schedule": "@every 1h30m"}, id="every"),
        pytest.param({"schedule": "0 0 29 FEB *", "timeZone": "Pacific/Apia"}, id="29-february"),
        pytest.param({"timeZone": "America/Argentina/Buenos_Aires"}, id="a-time-zone"),
        pytest.param({"startingDeadlineSeconds": 0, "concurrencyPolicy": "Replace", "suspend": True}, id="policies"),
        pytest.param({"successfulTestsHistoryLimit": 0, "failedTestsHistoryLimit": 100}, id="limits"),
        pytest.param({"jitter": "1h"}, id="jitter"),
        pytest.param(
            {"testTemplate": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": ""}}, "spec": SMALL}},
            id="metadata",
        ),
    ],
)
def test_a_good_spec_is_accepted(schedules: DryRun, fields: dict[str, Any]) -> None:
    assert not schedules.refusal(schedule_spec(**fields))
    assert not parse_refusal(schedule_spec(**fields))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"schedule": "60 * * * *"}, "must be a cron expression of five fields", id="minute-60"),
        pytest.param({"schedule": "TZ=UTC 0 * * * *"}, "must be a cron expression of five fields", id="tz"),
        pytest.param({"schedule": ""}, "spec.schedule", id="empty"),
        pytest.param({"schedule": "5-1 * * * *"}, "a range must not end before it begins", id="backwards"),
        pytest.param({"schedule": "0 0 * * Fri-mon"}, "a range must not end before it begins", id="names-backwards"),
        pytest.param({"schedule": "0 0 30 2 *"}, "never fires", id="30-february"),
        pytest.param({"schedule": "0 0 31 4,JUN ?"}, "never fires", id="31-april"),
        pytest.param({"schedule": "@every 59s"}, "@every must have a duration from 1m", id="every-59s"),
        pytest.param({"schedule": "@every 1.5h"}, "must be a cron expression", id="every-1.5h"),
        pytest.param({"timeZone": ""}, "spec.timeZone", id="no-time-zone"),
        pytest.param({"timeZone": "/etc/localtime"}, "spec.timeZone", id="a-path"),
        pytest.param({"startingDeadlineSeconds": -1}, "spec.startingDeadlineSeconds", id="deadline"),
        pytest.param({"concurrencyPolicy": "Never"}, "spec.concurrencyPolicy", id="policy"),
        pytest.param({"successfulTestsHistoryLimit": 101}, "spec.successfulTestsHistoryLimit", id="limit"),
        pytest.param({"jitter": "61m"}, "must be a duration from 0s to 1h", id="jitter"),
        pytest.param({"jitter": "500ms"}, "spec.jitter", id="jitter-of-milliseconds"),
        pytest.param({"unknown": 1}, 'unknown field "spec.unknown"', id="unknown"),
        pytest.param({"testTemplate": {"spec": SMALL, "kind": "x"}}, "unknown field", id="unknown-in-template"),
        pytest.param({"testTemplate": {}}, "spec.testTemplate.spec", id="no-spec"),
    ],
)
def test_a_bad_spec_is_refused_by_a_message_that_says_why(schedules: DryRun, fields: dict[str, Any], says: str) -> None:
    assert says in schedules.refusal(schedule_spec(**fields))
    assert parse_refusal(schedule_spec(**fields))


@pytest.mark.parametrize("bad", some(BAD, 20))
def test_a_template_is_refused_where_the_test_would_be(schedules: DryRun, bad: Bad) -> None:
    spec = schedule_spec(testTemplate={"spec": dict(bad.spec)})
    assert schedules.refusal(spec)
    assert "spec.testTemplate.spec" in parse_refusal(spec)


@pytest.mark.parametrize("spec", some(GOOD, 10))
def test_a_template_is_accepted_where_the_test_would_be(schedules: DryRun, spec: Spec) -> None:
    assert not schedules.refusal(schedule_spec(testTemplate={"spec": spec}))


def test_what_the_server_completes_is_parsed_to_what_was_written(schedules: DryRun) -> None:
    written = schedule_spec()
    completed = parse_schedule(schedules.completed(written))
    ours = parse_schedule(written)
    assert completed.template.spec != ours.template.spec
    assert (completed.calendar_text, completed.concurrency) == (ours.calendar_text, ours.concurrency)
    assert (completed.passed_limit, completed.failed_limit, completed.jitter) == (3, 1, ours.jitter)


def test_kubectl_shows_the_promised_columns(cluster: LiveCluster) -> None:
    metadata = {"name": "shown"}
    spec = schedule_spec(schedule="30 2 * * *")
    cluster.apply(
        {"apiVersion": "sshload.dev/v1alpha1", "kind": "SSHLoadTestSchedule", "metadata": metadata, "spec": spec}
    )
    point = {"test": "a", "time": "2026-06-01T10:00:00Z"}
    status = {
        "activeCount": 1,
        "lastScheduleTime": "2026-06-01T10:00:00Z",
        "lastVerdict": "Passed",
        "trend": [{**point, "capacityInWords": "10 users"}, {**point, "test": "b", "capacityInWords": "41.5/s"}],
    }
    patch = json.dumps({"status": status})
    cluster.kubectl("patch", "slts", "shown", "--subresource=status", "--type=merge", "-p", patch)
    header, row = cluster.kubectl("get", "slts").splitlines()
    assert header.split() == "NAME SCHEDULE SUSPEND ACTIVE LAST VERDICT CAPACITY AGE".split()  # noqa: SIM905 - as it is printed
    assert row.split()[:8] == ["shown", "30", "2", "*", "*", "*", "false", "1"]
    assert row.split()[9:11] == ["Passed", "41.5/s"]
