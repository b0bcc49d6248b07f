"""What each iteration does: steps or a locustfile, in a session of its own or in one that it finds."""

from specs.bad import Bad, bad
from specs.external import EXTERNAL_HOLD
from specs.managed import LOCUSTFILE
from specs.small import MIXED, SMALL
from specs.spec import Spec, changed, without

BAD: dict[str, Bad] = {
    "pool-size-with-a-point": bad("scenario.poolSize", 8.0, "spec", base=EXTERNAL_HOLD),
    "workers-of-a-pool-with-a-point": bad("workers.replicas", 4.0, "spec", base=EXTERNAL_HOLD),
    "no-scenario": Bad(without(SMALL, "scenario"), "spec.scenario"),
    "unknown-session-reuse": bad("scenario.sessionReuse", "worker"),
    "session-of-a-user-without-users": bad("scenario.sessionReuse", "user", says="load.users"),
    "pool-without-its-size": bad("scenario.sessionReuse", "pool", "spec.scenario.poolSize"),
    "pool-size-without-a-pool": bad("scenario.poolSize", 5),
    "pool-of-fewer-sessions-than-processes": bad("scenario.poolSize", 7, base=EXTERNAL_HOLD, says="worker process"),
    "steps-beside-a-locustfile": bad(
        "scenario.locustfile", {"configMapRef": {"name": "a"}}, "spec.scenario", "exactly one of steps and locustfile"
    ),
    "neither-steps-nor-a-locustfile": bad("scenario", {}, says="exactly one of steps and locustfile"),
    "alternative-of-a-step-that-is-not-there": bad(
        "scenario.alternatives.1.steps",
        ["put"],
        "spec.scenario.alternatives",
        "no step of spec.scenario.steps has",
        MIXED,
    ),
    "alternative-of-weight-0": bad(
        "scenario.alternatives.0.weight", 0, "spec.scenario.alternatives[0].weight", base=MIXED
    ),
    "alternative-with-a-step-twice": bad(
        "scenario.alternatives.0.steps", ["uptime", "uptime"], "spec.scenario.alternatives[0].steps", base=MIXED
    ),
    "one-alternative": bad("scenario.alternatives", [{"steps": ["uptime"]}], base=MIXED),
    "alternatives-of-a-locustfile": bad(
        "scenario.alternatives", MIXED["scenario"]["alternatives"], "spec.scenario.alternatives", base=LOCUSTFILE
    ),
    "latency-of-a-step-of-no-alternative": bad(
        "thresholds.0.latency.step", "put.command", "spec.thresholds", base=MIXED
    ),
    "locustfile-at-a-path": bad("scenario.locustfile.key", "../locustfile.py", base=LOCUSTFILE),
    "locustfile-of-no-config-map": bad("scenario.locustfile.configMapRef", None, base=LOCUSTFILE),
}

GOOD: dict[str, Spec] = {
    "locustfile-under-the-usual-key": changed(LOCUSTFILE, "scenario.locustfile", {"configMapRef": {"name": "a"}}),
    "steps-as-null-beside-a-locustfile": changed(LOCUSTFILE, "scenario.steps", None),
}
