"""Runs and what they are held against: finished tests as the API server shows them, made by whole passes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from passes import Passes
from plans import allowing, quickstart
from runs import pod, retold, snapshot, summary
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import Timing
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.planning.installation import Installation
from sshload_operator.state import ObservedBaseline, Role

WITHIN = [{"latency": {"step": "total", "percentile": 90, "within": "10%"}}]
PODS = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))
NAMED = {"testRef": {"name": "before"}}
LAST_PASSED = {"lastPassed": True}
ALLOWING = allowing(AllowedTarget("*.example.com", (22,)))
EARLY = datetime(2026, 11, 21, 11, 0, tzinfo=UTC)


def asked(**changes: Any) -> dict[str, Any]:
    """Return a spec with a threshold within 10 % of the test `before`, and other fields."""
    return quickstart(**{"thresholds": WITHIN, "baseline": NAMED, **changes})


def slower(times: float, noise: float = 0.01, **changes: Any) -> RunSummary:
    """Return a summary whose latencies are so many times longer, each bounded to this share on both sides."""
    sound = summary()

    def scaled(values: Mapping[str, int | None], by: float) -> dict[str, int | None]:
        return {key: None if value is None else round(value * by) for key, value in values.items()}

    longer = tuple(
        replace(
            step,
            percentiles_us=scaled(step.percentiles_us, times),
            percentiles_low_us=scaled(step.percentiles_us, times / (1 + noise)),
            percentiles_high_us=scaled(step.percentiles_us, times * (1 + noise)),
        )
        if step.step != Timing.START_DELAY
        else step
        for step in sound.trial.steps
    )
    return retold(sound, **{"steps": longer, **changes})


def run_to_end(
    spec: Mapping[str, Any],
    found: RunSummary,
    observed_baseline: ObservedBaseline | None = None,
    now: datetime | None = None,
    installation: Installation = ALLOWING,
) -> Passes:
    """Return a test that has run to its end and found this, beside these other tests."""
    passes = Passes(spec=spec, beside=observed_baseline, installation=installation)
    if now is not None:
        passes.now = now
    passes.run()
    passes.run(*PODS, snapshot=snapshot(), after_s=1)
    passes.run(*PODS, summary=found, after_s=30)
    return passes


def finished(
    found: RunSummary,
    spec: Mapping[str, Any] | None = None,
    name: str = "before",
    now: datetime = EARLY,
    installation: Installation = ALLOWING,
    **status: Any,
) -> dict[str, Any]:
    """Return a test that has ended with what it found; `status` replaces fields of its status."""
    passes = run_to_end(quickstart() if spec is None else spec, found, now=now, installation=installation)
    metadata = {"namespace": "load-tests", "name": name, "uid": f"uid-of-{name}", "generation": 1}
    return {"metadata": metadata, "spec": passes.spec, "status": {**passes.status, **status}}


def seen(*tests: Mapping[str, Any]) -> ObservedBaseline:
    """Return what an operator sees that finds these tests."""
    return ObservedBaseline(tests, "")
