"""The load models, and the deadline that a load must end before."""

from specs.bad import Bad, bad
from specs.external import EXTERNAL_BURST, EXTERNAL_HOLD, EXTERNAL_USERS
from specs.search import SEARCH_ARRIVALS
from specs.small import REPLAY, SMALL, WAVE
from specs.spec import Spec, changed, without

BAD: dict[str, Bad] = {
    "arrivals-with-stages-and-a-rate": bad("load.arrivals.rate", 20, "spec.load.arrivals"),
    "arrivals-with-a-rate-for-no-time": bad("load.arrivals", {"rate": 20}, "spec.load.arrivals.duration"),
    "arrivals-for-a-time-at-no-rate": bad("load.arrivals", {"duration": "30s"}, "spec.load.arrivals"),
    "arrivals-in-short-beyond-the-deadline": bad("load.arrivals", {"rate": 20, "duration": "1h"}, "spec.deadline"),
    "burst-repeated-with-a-point": bad("load.burst.repeat", 2.0, "spec", base=EXTERNAL_BURST),
    "no-load": Bad(without(SMALL, "load"), "spec.load"),
    "no-load-model": bad(
        "load", {}, says="exactly one of users, arrivals, burst, hold, replay, wave and capacity must"
    ),
    "two-load-models": bad(
        "load",
        {**SMALL["load"], "burst": {"connections": 1}},
        says="exactly one of users, arrivals, burst, hold, re",
    ),
    "load-beside-a-search": bad(
        "load", {**SMALL["load"], **SEARCH_ARRIVALS["load"]}, says="exactly one of users, arrivals, burst, hold"
    ),
    "rate-of-zero": bad("load.arrivals.stages.0.rate", 0, "spec.load.arrivals.stages[0].rate"),
    "negative-rate": bad("load.arrivals.stages.0.rate", -5, "spec.load.arrivals.stages[0].rate"),
    "rate-as-text": bad("load.arrivals.stages.0.rate", "20", "spec.load.arrivals.stages[0].rate"),
    "no-stages": bad("load.arrivals.stages", []),
    "too-many-stages": bad("load.arrivals.stages", [{"rate": 1, "duration": "1s"}] * 51),
    "stage-without-a-duration": bad("load.arrivals.stages", [{"rate": 1}], "spec.load.arrivals.stages[0].duration"),
    "unknown-process": bad("load.arrivals.process", "uniform"),
    "think-time-the-wrong-way-round": bad(
        "load.users.thinkTime", {"min": "2s", "max": "1s"}, "spec.load.users.thinkTime.max", base=EXTERNAL_USERS
    ),
    "users-of-zero": bad("load.users.stages.0.users", 0, "spec.load.users.stages[0].users", base=EXTERNAL_USERS),
    "ramp-from-no-users-to-none": bad(
        "load.users.stages", [{"users": 0, "toUsers": 0, "duration": "10s"}], base=EXTERNAL_USERS
    ),
    "ramp-from-no-rate-to-none": bad("load.arrivals.stages", [{"rate": 0, "toRate": 0, "duration": "10s"}]),
    "ramp-in-short-from-no-rate-to-none": bad("load.arrivals", {"rate": 0, "toRate": 0.0, "duration": "10s"}),
    "ramp-to-a-negative-rate": bad("load.arrivals.stages.0.toRate", -1, "spec.load.arrivals.stages[0].toRate"),
    "ramp-beside-stages": bad("load.arrivals.toRate", 10, "spec.load.arrivals.toRate"),
    "replay-without-a-trace": bad("load.replay.trace", None, "spec.load.replay.trace", base=REPLAY),
    "replay-of-nothing": bad("load.replay.amplification", 0, base=REPLAY),
    "replay-that-stands-still": bad("load.replay.speed", 0, base=REPLAY),
    "replay-beyond-the-deadline": bad("deadline", "10m", base=REPLAY, says="startTimeout, warmUp and the load"),
    "trace-of-another-namespace": bad("load.replay.trace.configMapRef.namespace", "other", base=REPLAY),
    "burst-of-zero": bad("load.burst.connections", 0, base=EXTERNAL_BURST),
    "burst-interval-in-milliseconds": bad("load.burst.interval", "1500ms", base=EXTERNAL_BURST),
    "hold-of-nothing": bad("load.hold.sessions", 0, base=EXTERNAL_HOLD),
    "hold-without-a-ramp": bad("load.hold.rampUp", None, base=EXTERNAL_HOLD),
    "hold-without-probes": bad("load.hold.probeRate", 0, base=EXTERNAL_HOLD),
    "keep-alive-once-a-day": bad("load.hold.keepAlive", "24h", base=EXTERNAL_HOLD),
    "deadline-before-the-end-of-arrivals": bad("deadline", "154s", says="startTimeout, warmUp and the load"),
    "deadline-before-the-end-of-users": bad("deadline", "160s", base=EXTERNAL_USERS, says="startTimeout, warmUp"),
    "deadline-before-the-end-of-bursts": bad("deadline", "419s", base=EXTERNAL_BURST, says="startTimeout, warmUp"),
    "wave-that-does-not-rise": bad("load.wave.toRate", 2, "spec.load.wave.toRate", "must be above rate", base=WAVE),
    "wave-of-no-rate": bad("load.wave.toRate", 0, "spec.load.wave.toRate", base=WAVE),
    "wave-of-a-second": bad("load.wave.period", "1s", "spec.load.wave.period", base=WAVE),
    "search-with-waves": bad(
        "load.capacity", {"wave": {**WAVE["load"]["wave"]}}, "spec.load.capacity", base=SEARCH_ARRIVALS
    ),
    "waves-beyond-the-deadline": bad("load.wave.repeat", 30, "spec.deadline", "startTimeout, warmUp", base=WAVE),
    "deadline-before-the-end-of-a-hold": bad("deadline", "304s", base=EXTERNAL_HOLD, says="startTimeout, warmUp"),
}

GOOD: dict[str, Spec] = {
    "arrivals-in-short": changed(SMALL, "load.arrivals", {"rate": 20, "duration": "30s", "process": "poisson"}),
    "deadline-to-the-second-with-arrivals-in-short": {
        **SMALL,
        "load": {"arrivals": {"rate": 20, "duration": "30s"}},
        "deadline": "155s",
    },
    "ramp-of-arrivals": changed(
        SMALL, "load.arrivals.stages", [{"rate": 0, "toRate": 40, "duration": "10s"}, {"rate": 40.5, "duration": "20s"}]
    ),
    "ramp-of-arrivals-in-short": changed(SMALL, "load.arrivals", {"rate": 5, "toRate": 0, "duration": "30s"}),
    "ramp-of-users": changed(EXTERNAL_USERS, "load.users.stages", [{"users": 0, "toUsers": 50, "duration": "30s"}]),
    "deadline-to-the-second": changed(SMALL, "deadline", "155s"),
    "deadline-to-the-second-with-bursts": changed(EXTERNAL_BURST, "deadline", "420s"),
    "deadline-to-the-second-with-waves": changed(WAVE, "deadline", "725s"),
    "deadline-to-the-second-with-a-hold": changed(EXTERNAL_HOLD, "deadline", "305s"),
}
