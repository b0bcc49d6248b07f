"""What is held against a baseline, and which test that is."""

from specs.bad import Bad, bad
from specs.relative import RELATIVE
from specs.search import SEARCH_ARRIVALS
from specs.small import with_thresholds
from specs.spec import Spec, changed

BAD: dict[str, Bad] = {
    "threshold-within-nothing": bad("baseline", None, base=RELATIVE, says="thresholds with within"),
    "capacity-within-nothing": bad("baseline", None, base=SEARCH_ARRIVALS, says="thresholds with within"),
    "baseline-for-nothing": bad("baseline", {"lastPassed": True}, says="thresholds with within"),
    "baseline-of-nothing": bad("baseline", {}, base=RELATIVE, says="exactly one of testRef and lastPassed must be set"),
    "baseline-of-two": bad("baseline.lastPassed", value=True, field="spec.baseline", base=RELATIVE),
    "baseline-that-did-not-pass": bad("baseline", {"lastPassed": False}, "spec.baseline.lastPassed", base=RELATIVE),
    "baseline-without-a-name": bad("baseline", {"testRef": {}}, "spec.baseline.testRef.name", base=RELATIVE),
    "baseline-of-an-impossible-name": bad("baseline.testRef.name", "Week", base=RELATIVE),
    "latency-below-and-within": bad(
        "thresholds.0.latency.below", "1s", "spec.thresholds[0].latency", "exactly one of below and within", RELATIVE
    ),
    "throughput-above-and-within": bad(
        "thresholds.1.throughput.above", 1, "spec.thresholds[1].throughput", "exactly one of above and", RELATIVE
    ),
    "error-rate-within": Bad(with_thresholds({"errorRate": {"within": "5%"}}), "spec.thresholds[0].errorRate"),
    "throughput-within-all-of-it": bad(
        "thresholds.1.throughput.within", "100%", "spec.thresholds[1].throughput.within", base=RELATIVE
    ),
    "throughput-of-a-burst-within": bad(
        "load",
        {"arrivals": None, "burst": {"connections": 5}},
        "spec.thresholds",
        "use throughput.above or latency.below",
        RELATIVE,
    ),
    "latency-within-zero": bad("thresholds.0.latency.within", "0%", "spec.thresholds[0].latency.within", base=RELATIVE),
    "relative-threshold-on-what-is-not-measured": bad(
        "thresholds.0.latency.step", "uptime.exec", "spec.thresholds", "latency.step", RELATIVE
    ),
}

GOOD: dict[str, Spec] = {
    "latency-within-ten-times": changed(RELATIVE, "thresholds.0.latency.within", "900%"),
    "last-that-passed": changed(RELATIVE, "baseline", {"lastPassed": True, "testRef": None}),
}
