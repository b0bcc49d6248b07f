"""Searches for the capacity: their bounds and precision, and what a test that searches must and must not have."""

from specs.bad import Bad, bad
from specs.managed import LOCUSTFILE
from specs.relative import RELATIVE
from specs.search import SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS
from specs.small import with_thresholds
from specs.spec import Spec, changed


def _upside_down(spec: Spec, kind: str) -> Bad:
    """Return the search with its least amount above its most."""
    most = spec["load"]["capacity"][kind]["max"]
    return bad(f"load.capacity.{kind}.min", int(most) + 1, f"spec.load.capacity.{kind}.max", "less than min", spec)


BAD: dict[str, Bad] = {
    "confirmed-with-a-point": bad("load.capacity.confirm", 2.0, "spec", base=SEARCH_ARRIVALS),
    "search-of-nothing": bad(
        "load",
        {"capacity": {}},
        "spec.load.capacity",
        "exactly one of users, arrivals, burst, hold and replay must",
    ),
    "search-of-two-kinds": bad(
        "load.capacity.burst", {"min": 1, "max": 2}, "spec.load.capacity", "exactly one of", base=SEARCH_ARRIVALS
    ),
    "search-from-zero": bad("load.capacity.arrivals.min", 0, base=SEARCH_ARRIVALS),
    "search-from-less-than-one-iteration": bad(
        "load.capacity.arrivals.min", 0.033, says="one iteration in a trial's duration", base=SEARCH_ARRIVALS
    ),
    "search-from-next-to-nothing": bad(
        "load.capacity.arrivals.min", 1e-9, says="one iteration in a trial's duration", base=SEARCH_ARRIVALS
    ),
    "search-without-an-end": bad("load.capacity.arrivals.max", None, base=SEARCH_ARRIVALS),
    "search-for-half-a-user": bad("load.capacity.users.min", 0.5, base=SEARCH_USERS),
    "search-with-min-above-max": _upside_down(SEARCH_ARRIVALS, "arrivals"),
    "search-for-users-with-min-above-max": _upside_down(SEARCH_USERS, "users"),
    "search-for-a-burst-with-min-above-max": _upside_down(SEARCH_BURST, "burst"),
    "search-for-sessions-with-min-above-max": _upside_down(SEARCH_HOLD, "hold"),
    "search-for-sessions-without-a-login-rate": bad("load.capacity.hold.loginRate", None, base=SEARCH_HOLD),
    "search-for-sessions-that-never-log-in": bad("load.capacity.hold.loginRate", 0, base=SEARCH_HOLD),
    "search-with-stages": bad("load.capacity.arrivals.stages", [], base=SEARCH_ARRIVALS),
    "precision-of-zero": bad("load.capacity.precision", "0%", base=SEARCH_ARRIVALS),
    "precision-that-is-too-fine": bad("load.capacity.precision", "0.09%", base=SEARCH_ARRIVALS),
    "precision-that-says-nothing": bad("load.capacity.precision", "50.1%", base=SEARCH_ARRIVALS),
    "precision-as-a-fraction": bad("load.capacity.precision", 0.05, base=SEARCH_ARRIVALS),
    "confirmed-less-than-never": bad("load.capacity.confirm", -1, base=SEARCH_ARRIVALS),
    "confirmed-without-end": bad("load.capacity.confirm", 6, base=SEARCH_ARRIVALS),
    "search-without-thresholds": bad(
        "thresholds", [], base=SEARCH_USERS, says="load.capacity needs a threshold that each trial"
    ),
    "search-with-null-for-thresholds": bad(
        "thresholds", None, base=SEARCH_USERS, says="load.capacity needs a threshold that each trial"
    ),
    "search-by-its-own-result-only": bad(
        "thresholds",
        [{"capacity": {"above": 1}}],
        base=SEARCH_USERS,
        says="load.capacity needs a threshold that each trial",
    ),
    "search-by-a-baseline-only": bad(
        "thresholds",
        [{"capacity": {"within": "5%"}}],
        base=SEARCH_ARRIVALS,
        says="load.capacity needs a threshold that each trial",
    ),
    "search-with-a-relative-latency": bad(
        "thresholds.0.latency",
        {"step": "total", "percentile": 50, "within": "5%"},
        "spec.thresholds",
        "use capacity.within",
        base=SEARCH_ARRIVALS,
    ),
    "search-with-a-relative-throughput": bad(
        "thresholds.0", {"throughput": {"within": "5%"}}, "spec.thresholds", "use capacity.within", base=SEARCH_ARRIVALS
    ),
    "capacity-of-an-ordinary-load": Bad(
        with_thresholds({"capacity": {"above": 1}}), "spec.thresholds", "capacity is for load.capacity only"
    ),
    "relative-capacity-of-an-ordinary-load": bad(
        "thresholds.0",
        {"capacity": {"within": "5%"}},
        "spec.thresholds",
        "capacity is for load.capacity",
        base=RELATIVE,
    ),
    "search-for-arrivals-with-sessions-of-users": bad(
        "scenario.sessionReuse", "user", base=SEARCH_ARRIVALS, says="load.users only"
    ),
    # 120 s for the start, 90 s for the end, and the trials
    "deadline-before-both-bounds-are-confirmed": bad(
        "deadline", "337999ms", base=SEARCH_ARRIVALS, says="90 s for the end"
    ),
    "deadline-before-both-bounds-of-users": bad("deadline", "359s", base=SEARCH_USERS, says="90 s for the end"),
    "deadline-before-both-bounds-of-bursts": bad("deadline", "279s", base=SEARCH_BURST, says="90 s for the end"),
    "deadline-before-both-bounds-of-sessions": bad("deadline", "629s", base=SEARCH_HOLD, says="90 s for the end"),
}

GOOD: dict[str, Spec] = {
    "deadline-to-the-millisecond-with-a-search": changed(SEARCH_ARRIVALS, "deadline", "338s"),
    "deadline-to-the-second-with-a-search-for-users": changed(SEARCH_USERS, "deadline", "360s"),
    "deadline-to-the-second-with-a-search-for-a-burst": changed(SEARCH_BURST, "deadline", "280s"),
    "deadline-to-the-second-with-a-search-for-sessions": changed(SEARCH_HOLD, "deadline", "630s"),
    "search-with-thirds-of-a-second": changed(
        changed(SEARCH_HOLD, "load.capacity.hold.loginRate", 30), "deadline", "619998ms"
    ),
    "search-from-one-iteration": changed(
        changed(SEARCH_ARRIVALS, "load.capacity.arrivals.duration", "40s"), "load.capacity.arrivals.min", 0.025
    ),
    "search-at-one-amount": changed(SEARCH_ARRIVALS, "load.capacity.arrivals.max", 10),
    "search-as-fine-as-it-goes": changed(SEARCH_ARRIVALS, "load.capacity.precision", "0.1%"),
    "search-as-coarse-as-it-goes": changed(SEARCH_ARRIVALS, "load.capacity.precision", "50%"),
    "search-by-throughput": changed(SEARCH_USERS, "thresholds", [{"throughput": {"above": 0}}]),
    "search-with-a-locustfile": {
        **SEARCH_USERS,
        "scenario": {**LOCUSTFILE["scenario"], "sessionReuse": "user"},
        "client": {"library": "paramiko"},
    },
}
