"""Thresholds that a run is held against by itself: what they are on, and by how much."""

from specs.bad import Bad, bad
from specs.external import EXTERNAL_HOLD
from specs.managed import LOCUSTFILE, MANAGED_STEPS
from specs.search import SEARCH_ARRIVALS
from specs.small import SMALL, with_thresholds
from specs.spec import Spec, changed

_LATENCY = {"step": "total", "percentile": 99, "below": "2s"}

BAD: dict[str, Bad] = {
    "threshold-of-no-kind-that-aborts": bad(
        "thresholds", [{"abortOnFail": True}], "spec.thresholds[0]", "exactly one of latency, errorRate"
    ),
    "threshold-of-nothing": Bad(
        with_thresholds({}), "spec.thresholds[0]", "exactly one of latency, errorRate, throughput, capacity, targetCpu"
    ),
    "threshold-of-two": Bad(
        with_thresholds({"latency": _LATENCY, "errorRate": {"below": "1%"}}), "spec.thresholds[0]", "exactly one of"
    ),
    "threshold-on-what-is-not-measured": Bad(
        with_thresholds({"latency": {**_LATENCY, "step": "uptime.exec"}}), "spec.thresholds", "latency.step"
    ),
    "threshold-on-a-third-jump-host-of-two": Bad(
        changed(EXTERNAL_HOLD, "thresholds.0.latency.step", "via3.login"), "spec.thresholds", "latency.step"
    ),
    "threshold-on-held-sessions-where-none-are": Bad(
        with_thresholds({"latency": {**_LATENCY, "step": "held.login"}}), "spec.thresholds", "latency.step"
    ),
    "threshold-on-another-steps-timing": Bad(
        changed(MANAGED_STEPS, "thresholds.0.latency.step", "clone.subsystem"), "spec.thresholds", "latency.step"
    ),
    "threshold-on-no-name-of-a-locustfile": Bad(
        changed(LOCUSTFILE, "thresholds.0.latency.step", "browse sftpList"), "spec.thresholds", "latency.step"
    ),
    "threshold-on-the-hundredth-percentile": Bad(
        with_thresholds({"latency": {**_LATENCY, "percentile": 100}}), "spec.thresholds[0].latency.percentile"
    ),
    "threshold-without-its-step": Bad(
        with_thresholds({"latency": {"percentile": 99, "below": "2s"}}), "spec.thresholds[0].latency.step"
    ),
    "throughput-of-nothing": Bad(
        with_thresholds({"throughput": {}}), "spec.thresholds[0].throughput", "above and within"
    ),
    "capacity-of-nothing": bad("thresholds.2.capacity", {}, "spec.thresholds[2].capacity", base=SEARCH_ARRIVALS),
    "abort-on-a-throughput": Bad(
        with_thresholds({"throughput": {"above": 1}, "abortOnFail": True}), "spec.thresholds[0].abortOnFail"
    ),
    "abort-as-text-of-a-threshold": Bad(
        with_thresholds({"errorRate": {"below": "1%"}, "abortOnFail": "true"}), "spec.thresholds[0].abortOnFail"
    ),
    "abort-of-a-search": Bad(
        changed(SEARCH_ARRIVALS, "thresholds.0.abortOnFail", True),
        "spec.thresholds",
        "abortOnFail is not for load.hold",
    ),
    "abort-of-held-sessions": Bad(
        changed(EXTERNAL_HOLD, "thresholds.0.abortOnFail", True), "spec.thresholds", "abortOnFail is not for load.hold"
    ),
    "abort-on-a-step-of-a-locustfile": Bad(
        changed(LOCUSTFILE, "thresholds", [{"latency": {**_LATENCY, "step": "browse.command"}, "abortOnFail": True}]),
        "spec.thresholds",
        "abortOnFail with a locustfile",
    ),
    "error-rate-as-a-fraction": Bad(
        with_thresholds({"errorRate": {"below": 0.01}}), "spec.thresholds[0].errorRate.below"
    ),
    "error-rate-without-percent": Bad(
        with_thresholds({"errorRate": {"below": "1"}}), "spec.thresholds[0].errorRate.below"
    ),
    "error-rate-below-zero": Bad(with_thresholds({"errorRate": {"below": "0%"}}), "spec.thresholds[0].errorRate.below"),
    "cpu-of-a-target-that-exists": Bad(
        changed(EXTERNAL_HOLD, "thresholds", [{"targetCpu": {"below": "80%"}}]),
        "spec.thresholds",
        "are for target.managed only",
    ),
    "sessions-of-a-target-that-exists": Bad(
        changed(EXTERNAL_HOLD, "thresholds", [{"sessions": {"below": 10}}]),
        "spec.thresholds",
        "are for target.managed only",
    ),
    "cpu-above-all": Bad(with_thresholds({"targetCpu": {"below": "101%"}}), "spec.thresholds[0].targetCpu.below"),
    "memory-as-a-number": Bad(
        with_thresholds({"targetMemory": {"below": 536_870_912}}), "spec.thresholds[0].targetMemory.below"
    ),
    "memory-that-is-too-little": Bad(
        with_thresholds({"targetMemory": {"below": "1023Ki"}}), "spec.thresholds[0].targetMemory.below"
    ),
    "memory-without-a-limit": Bad(with_thresholds({"targetMemory": {}}), "spec.thresholds[0].targetMemory.below"),
    "abort-on-the-memory-of-a-target": Bad(
        with_thresholds({"targetMemory": {"below": "512Mi"}, "abortOnFail": True}), "spec.thresholds[0].abortOnFail"
    ),
    "error-rate-above-all": Bad(
        with_thresholds({"errorRate": {"below": "100.1%"}}), "spec.thresholds[0].errorRate.below"
    ),
}

GOOD: dict[str, Spec] = {
    "null-for-absent": changed(SMALL, "thresholds", None),
    "threshold-on-a-nameless-exec": with_thresholds({"latency": {**_LATENCY, "step": "exec"}}),
    "error-rate-of-everything": with_thresholds({"errorRate": {"below": "100%"}}),
    "on-the-target": with_thresholds(
        {"targetCpu": {"below": "80%"}}, {"targetMemory": {"below": "512Mi"}}, {"sessions": {"below": 100}}
    ),
    "abort-on-errors": with_thresholds({"errorRate": {"below": "1%"}, "abortOnFail": True}),
    "abort-on-a-latency": with_thresholds({"latency": _LATENCY, "abortOnFail": True}),
    "no-abort-on-a-throughput": with_thresholds({"throughput": {"above": 1}, "abortOnFail": False}),
    "abort-on-the-total-of-a-locustfile": changed(
        LOCUSTFILE, "thresholds", [{"latency": _LATENCY, "abortOnFail": True}]
    ),
    "throughput-of-zero": with_thresholds({"throughput": {"above": 0}}),
}
