from typing import Any

import pytest
from locust.env import Environment
from locust.runners import LocalRunner
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.report import Health
from sshload_worker.locust_runner.request_events import RequestPerSample, SummedRequests
from sshload_worker.recording.recorder import Recorder

HEALTHY = Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0)
SAMPLES = (
    ("total", Outcome.OK, 1_700),
    ("total", Outcome.OK, 147_456),
    ("total", Outcome.REFUSED, 300),
    ("total", Outcome.REFUSED, 310),
    ("ls.command", Outcome.OK, 900),
    ("kex", Outcome.OK, 800),
)


@pytest.fixture
def environment() -> Any:
    return Environment()


def record(environment: Any, listener: Any) -> None:
    recorder = Recorder("run", 0, listener, (Timing.COMMAND, Timing.TOTAL))
    if environment.runner is None:
        environment.runner = LocalRunner(environment)
    for step, outcome, latency_us in SAMPLES:
        recorder.sample(step, Window.MEASURED, outcome, latency_us)
    recorder.take_report(HEALTHY, final=False)


def statistics(environment: Any) -> Any:
    """Return all of Locust's statistics but the instants."""
    stats = environment.stats
    entries = [stats.total, *(stats.entries[key] for key in sorted(stats.entries))]
    errors = sorted((error.name, repr(error.error), error.occurrences) for error in stats.errors.values())
    return errors, [
        (
            entry.name,
            entry.method,
            entry.num_requests,
            entry.num_failures,
            pytest.approx(entry.total_response_time),
            entry.min_response_time,
            entry.max_response_time,
            dict(entry.response_times),
            sum(entry.num_reqs_per_sec.values()),
            sum(entry.num_fail_per_sec.values()),
        )
        for entry in entries
    ]


def test_locusts_statistics_are_the_same_from_sums_as_from_each_request(environment: Any) -> None:
    each = Environment()
    record(each, RequestPerSample(each))
    record(environment, SummedRequests(environment))
    assert statistics(environment) == statistics(each)
    assert environment.stats.total.num_requests == 5


@pytest.mark.parametrize("listener", [RequestPerSample, SummedRequests])
def test_whoever_listens_to_locusts_request_event_hears_of_each_request_once(environment: Any, listener: Any) -> None:
    told = listener(environment)
    heard: list[tuple[str, float, str]] = []
    environment.events.request.add_listener(
        lambda name, response_time, exception, **_: heard.append((name, response_time, repr(exception)))
    )
    record(environment, told)
    assert heard == [
        ("total", 1.7, "None"),
        ("total", 147.456, "None"),
        ("total", 0.3, "StepFailure('refused')"),
        ("total", 0.31, "StepFailure('refused')"),
        ("ls.command", 0.9, "None"),
    ]
    assert environment.stats.total.num_requests == 5


def test_what_plain_locust_cuts_off_at_its_end_is_no_request_and_no_failure(environment: Any) -> None:
    environment.runner = LocalRunner(environment)
    recorder = Recorder("run", 0, RequestPerSample(environment), (Timing.COMMAND,))
    for outcome in (Outcome.OK, Outcome.UNFINISHED):
        recorder.sample("ls.command", Window.MEASURED, outcome, 900)
    total = environment.stats.total
    assert (total.num_requests, total.num_failures) == (1, 0)


def test_events_that_a_locustfile_fires_itself_are_counted_beside_ours(environment: Any) -> None:
    told = SummedRequests(environment)
    record(environment, told)
    record(environment, SummedRequests(environment))  # another recorder of the same worker
    environment.events.request.fire(
        request_type="GET", name="/", response_time=5.0, response_length=3, exception=None, context={}
    )
    assert environment.stats.get("/", "GET").total_content_length == 3
    assert environment.stats.total.num_requests == 11
