"""What is run under faults: one object of each kind, when it has come to its end, and what the masters find."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from live_cluster import load_test
from played_namespace import PlayedNamespace
from runs import summary
from searches import found_118
from sshload_contract.wire.run_summary import RunSummary

Manifest = Mapping[str, Any]
WITHIN_S = 240.0
"""The deadline of the tests that are run, but for searches, which may not be that short.

On a busy machine an operator that was killed takes half a minute to start again; until then nobody sees the pods.
"""

LIMITS = {"startTimeout": "120s", "deadline": f"{WITHIN_S:g}s"}
_SEARCH = {"capacity": {"arrivals": {"min": 10, "max": 500, "duration": "30s"}, "confirm": 1}}
_THRESHOLDS = [
    {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
    {"errorRate": {"below": "1%"}},
    {"capacity": {"above": 100}},
]
_GONE_AFTER_A_SECOND = {"passed": "1s", "failed": "1s"}


@dataclass(frozen=True, slots=True)
class Kind:
    """What is applied, and when it is over, which it has to be `within_s`. `found` is what each master finds.

    `status` returns what is written into the status after the creation, as an operator would have left it.
    """

    name: str
    manifest: Manifest
    is_over: Callable[[PlayedNamespace], bool]
    within_s: float = WITHIN_S
    found: Callable[[], RunSummary] = summary
    status: Callable[[], Manifest] | None = None


def _of(kind: str, spec: Manifest) -> Manifest:
    return {"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": {"name": "run"}, "spec": spec}


def _is_gone(namespace: PlayedNamespace) -> bool:
    """Tell whether a test with a time to live came and went, with everything that it had."""
    return bool(namespace.history) and not namespace.objects


def _is_scheduled_test_over(namespace: PlayedNamespace) -> bool:
    """Tell whether the schedule has its verdict, and has deleted the test, of which it keeps none."""
    kinds = {kind for kind, _ in list(namespace.objects)}
    status = namespace.objects.get(("SSHLoadTestSchedule", "run"), {}).get("status", {})
    return kinds == {"SSHLoadTestSchedule"} and "lastVerdict" in status and "active" not in status


def _is_compared(namespace: PlayedNamespace) -> bool:
    """Tell whether the comparison is finished, and nothing is left but its tests and their results."""
    left = [kind for kind, _ in list(namespace.objects)]
    status = namespace.objects.get(("SSHLoadTestComparison", "run"), {}).get("status", {})
    kept = {"SSHLoadTestComparison", "SSHLoadTest", "ConfigMap"}
    return status.get("phase") == "Finished" and set(left) <= kept and left.count("ConfigMap") <= len(_VARIANTS)


def _two_years_ago() -> Manifest:
    return {"lastScheduleTime": f"{datetime.now(UTC) - timedelta(days=730):%Y-%m-%dT%H:%M:%SZ}"}


_VARIANTS = (
    {"name": "tuned"},
    {"name": "default", "patch": {"target": {"managed": {"sshd": {"maxStartups": "10:30:100"}}}}},
)
TEST = Kind(
    name="test",
    manifest=load_test("run", ttlAfterFinished=_GONE_AFTER_A_SECOND, **LIMITS),
    is_over=_is_gone,
)
SEARCH = Kind(
    name="search",
    manifest=load_test(
        "run", load=_SEARCH, thresholds=_THRESHOLDS, deadline="1h", ttlAfterFinished=_GONE_AFTER_A_SECOND
    ),
    is_over=_is_gone,
    found=found_118,
)
SCHEDULE = Kind(
    name="schedule",
    manifest=_of(
        "SSHLoadTestSchedule",
        {
            "schedule": "0 0 1 1 *",
            "successfulTestsHistoryLimit": 0,
            "failedTestsHistoryLimit": 0,
            "testTemplate": {"spec": load_test("run", **LIMITS)["spec"]},
        },
    ),
    is_over=_is_scheduled_test_over,
    status=_two_years_ago,
)
COMPARISON = Kind(
    name="comparison",
    manifest=_of(
        "SSHLoadTestComparison",
        {"base": load_test("run", **LIMITS)["spec"], "variants": [*_VARIANTS], "repeats": 1},
    ),
    is_over=_is_compared,
    within_s=len(_VARIANTS) * WITHIN_S,
)
KINDS = {kind.name: kind for kind in (TEST, SEARCH, SCHEDULE, COMPARISON)}
