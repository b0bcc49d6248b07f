"""Samples as Locust's request events, for its statistics, its web page and its plugins."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from locust import runners, stats
from locust.event import EventHook
from sshload_contract.vocabulary import Outcome

from sshload_worker.outcomes import StepFailure

_US_PER_MS = 1_000
_TYPE = "SSH"


class RequestPerSample:
    """Fires Locust's request event for each sample (recording.recorder.Listener)."""

    def __init__(self, environment: Any) -> None:
        self._fire = environment.events.request.fire
        self.at_once = (self._fire,)

    def on_sample(self, step: str, outcome: Outcome, latency_us: int) -> None:
        """Fire the event, except for steps that Locust cut off at its end. Locust's own users fire none for them."""
        if outcome is not Outcome.UNFINISHED:
            self._fire(**_event(step, outcome, latency_us))

    def on_sum(self, step: str, outcome: Outcome, counts: Mapping[int, int]) -> None:
        """Do nothing: each sample has been reported."""


class SummedRequests:
    """Adds sums to Locust's own statistics, and fires its request event for other listeners (recorder.Listener).

    Locust's statistics take 7 us for each event, and an iteration, which takes 80 us, has two. The resulting statistics
    are the same, except that their times are those of a report's end, and that latencies above 2 ms are rounded down by
    at most 1/1,024. It must be made before Locust's runner.
    """

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        if not isinstance(environment.events.request, _RequestHook):
            environment.events.request = _RequestHook()
        self._hook: _RequestHook = environment.events.request
        self.at_once = self._hook.others

    def on_sample(self, step: str, outcome: Outcome, latency_us: int) -> None:
        """Fire the event for all listeners except Locust's own statistics."""
        self._hook.fire_to_others(**_event(step, outcome, latency_us))

    def on_sum(self, step: str, outcome: Outcome, counts: Mapping[int, int]) -> None:
        """Add the samples to Locust's own statistics."""
        total: stats.RequestStats = self._environment.stats
        added = _entry(total, step, outcome, counts)
        total.entries[step, _TYPE].extend(added)
        total.total.extend(added)
        if outcome is not Outcome.OK:
            failure = _failure(outcome)
            key = stats.StatsError.create_key(_TYPE, step, failure)
            error = total.errors.setdefault(key, stats.StatsError(_TYPE, step, failure))
            error.occurred()
            error.occurrences += added.num_requests - 1


class _RequestHook(EventHook):
    """Locust's request event, which distinguishes the runner's listener, for the statistics, from all `others`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Locust has no types here
        self.others: list[Any] = self._handlers
        self._statistics: list[Callable[..., None]] = []

    def add_listener(self, handler: Any) -> Any:
        if handler.__module__ != runners.__name__:
            return super().add_listener(handler)  # type: ignore[no-untyped-call]  # likewise
        self._statistics.append(handler)
        return handler

    def fire(self, *, reverse: bool = False, **event: Any) -> None:
        """Fire an event from another source."""
        for handler in self._statistics:
            handler(**event)
        super().fire(reverse=reverse, **event)  # type: ignore[no-untyped-call]  # likewise

    def fire_to_others(self, **event: Any) -> None:
        super().fire(**event)  # type: ignore[no-untyped-call]  # likewise


def _event(step: str, outcome: Outcome, latency_us: int) -> dict[str, Any]:
    return {
        "request_type": _TYPE,
        "name": step,
        "response_time": latency_us / _US_PER_MS,
        "response_length": 0,
        "exception": None if outcome is Outcome.OK else _failure(outcome),
        "context": {},
    }


def _failure(outcome: Outcome) -> StepFailure:
    return StepFailure(outcome, str(outcome))


def _entry(total: stats.RequestStats, step: str, outcome: Outcome, counts: Mapping[int, int]) -> stats.StatsEntry:
    now_s = time.time()
    entry = stats.StatsEntry(total, step, _TYPE)
    bucket, times = stats.bucket_response_time, entry.response_times
    count = sum_us = 0
    for latency_us, of_this in counts.items():
        count += of_this
        sum_us += latency_us * of_this
        times[bucket(latency_us / _US_PER_MS)] += of_this
    entry.num_requests = entry.num_reqs_per_sec[int(now_s)] = count
    if outcome is not Outcome.OK:
        entry.num_failures = entry.num_fail_per_sec[int(now_s)] = count
    entry.last_request_timestamp = now_s
    entry.total_response_time = sum_us / _US_PER_MS  # type: ignore[assignment]  # Locust's own is fractional too
    entry.min_response_time = min(counts) / _US_PER_MS  # type: ignore[assignment]  # likewise
    entry.max_response_time = max(counts) / _US_PER_MS  # type: ignore[assignment]  # likewise
    return entry
