"""How a duration is written, wherever one stands."""

from specs.bad import Bad, bad
from specs.small import SMALL
from specs.spec import Spec, changed

BAD: dict[str, Bad] = {
    "unparsable-duration": bad("deadline", "soon"),
    "duration-as-a-number": bad("warmUp", 10),
    "duration-without-a-unit": bad("warmUp", "10"),
    "duration-in-days": bad("warmUp", "1d"),
    "duration-below-its-range": bad(
        "load.arrivals.stages.0.duration", "999ms", "spec.load.arrivals.stages[0].duration"
    ),
    "duration-above-its-range": bad("client.timeouts.auth", "1h1ms"),
    "duration-beyond-64-bits": bad("deadline", "9999999999999999h"),
    "negative-duration": bad("warmUp", "-1s"),
}

GOOD: dict[str, Spec] = {
    "null-for-a-default": changed(SMALL, "warmUp", None),
}
