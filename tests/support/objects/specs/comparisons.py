"""SSHLoadTestComparison specs, good and bad."""

from collections.abc import Mapping
from typing import Any

from plans import quickstart
from sim_comparison import comparison_spec
from specs.relative import RELATIVE
from specs.spec import Spec

BURST: Spec = {"burst": {"connections": 5, "repeat": 2, "interval": "2s"}}


def with_second(**variant: Any) -> Spec:
    """Return a spec whose second variant is this."""
    spec = comparison_spec()
    spec["variants"][1] = {"name": "b", **variant}
    return spec


def swept(field: str = "load.arrivals.stages.0.rate", values: str = "5,10,20", **changes: Any) -> Spec:
    """Return a spec whose variants are the values of a field."""
    spec = comparison_spec(sweep={"field": field, "values": values}, **changes)
    del spec["variants"]
    return spec


def nested(levels: int) -> Spec:
    """Return an object inside an object, and so on."""
    found: Spec = {}
    for _ in range(levels):
        found = {"deeper": found}
    return found


GOOD: Mapping[str, Spec] = {
    "two variants": comparison_spec(),
    "a reference of a later variant": {
        **comparison_spec("a", "b", "c"),
        "variants": [{"name": "a"}, {"name": "b", "reference": "c"}, {"name": "c", "reference": "a"}],
    },
    "sixteen variants": comparison_spec(*"abcdefghijklmnop", repeats=12),
    "no patch": with_second(),
    "another load": with_second(remove=["load.arrivals"], patch={"load": BURST}),
    "another load, by null": with_second(patch={"load": {**BURST, "arrivals": None}}),
    "words and maps, by null": with_second(
        patch={"client": {"library": None, "auth": None}, "workers": {"nodeSelector": {"a": None}, "affinity": None}}
    ),
    "in words": comparison_spec(order="interleaved", abort=True),
    "names": comparison_spec("1", "a-1", "z" * 20),
    "a sweep of a list": swept(),
    "a sweep of a range": swept(values="10..100:10", repeats=20),
    "a sweep of texts": swept("target.managed.sshd.maxStartups", "10:30:100,20:30:200"),
}
# What is refused, and how `parse` begins to say so. The CRD refuses it too, but for PATCHED.
BAD: Mapping[str, tuple[Spec, str]] = {
    "one variant": (comparison_spec("a"), "spec.variants: must have from 2 to 16 items, not 1"),
    "seventeen variants": (comparison_spec(*"abcdefghijklmnopq", repeats=1), "spec.variants: must have from 2 to 16"),
    "a reference that is no variant": (
        with_second(reference="other"),
        "spec.variants: a reference must name another variant, and the first variant has none: the reference of b",
    ),
    "a reference of its own": (with_second(reference="b"), "spec.variants: a reference must name another variant"),
    "a reference of the first": (
        {**comparison_spec(), "variants": [{"name": "a", "reference": "b"}, {"name": "b"}]},
        "spec.variants: a reference must name another variant, and the first variant has none: the reference of a",
    ),
    "two of one name": (comparison_spec("a", "b", "a"), 'spec.variants[2]: "a" is repeated'),
    "no round": (comparison_spec(repeats=0), "spec.repeats: is 0"),
    "too many rounds": (comparison_spec(repeats=51), "spec.repeats: is 51"),
    "too many tests": (
        comparison_spec("a", "b", "c", "d", "e", repeats=41),
        "spec.repeats: times the number of variants is 205",
    ),
    "another order": (comparison_spec(order="random"), "spec.order"),
    "unknown field": (comparison_spec(pause="1s"), "spec.pause: unknown field"),
    "a patch of no object": (with_second(patch=[]), "spec.variants[1].patch: must be an object"),
    "a patch that is misspelt": (
        with_second(patch={"client": {"libary": "paramiko"}}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.client.libary: unknown field",
    ),
    "a patch of the wrong type": (
        with_second(patch={"client": {"library": 5}}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.client.library: is a number",
    ),
    "a patch of an unknown word": (
        with_second(patch={"client": {"library": "libssh"}}),
        'spec.variants[1].patch: makes an invalid test of variant b: spec.client.library: is "libssh"',
    ),
    "a patch with half an item": (
        with_second(patch={"load": {"arrivals": {"stages": [{"rate": 5}]}}}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.load.arrivals.stages[0].duration",
    ),
    "a patch nested without end": (
        with_second(patch=nested(60)),
        "spec.variants[1].patch: is nested more than 50 levels deep",
    ),
    "a patch that contradicts the base": (
        with_second(patch={"load": BURST}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.load: exactly one of",
    ),
    "a patch with a threshold of no kind": (
        with_second(patch={"thresholds": [{"abortOnFail": True}]}),
        "spec.variants[1].patch: makes an invalid test of variant b: spec.thresholds[0]: exactly one of latency",
    ),
    "a patch that sets abort": (with_second(patch={"abort": True}), "spec.variants[1].patch.abort: must not be set"),
    "a patch with a time to live": (
        with_second(patch={"ttlAfterFinished": {"passed": "1h"}}),
        "spec.variants[1].patch.ttlAfterFinished: must not be set",
    ),
    "removing what is not there": (
        with_second(remove=["load.burst"]),
        "spec.variants[1].remove[0]: the base has no field load.burst",
    ),
    "removing twice": (with_second(remove=["load", "load"]), 'spec.variants[1].remove[1]: "load" is repeated'),
    "removing an index": (with_second(remove=["via[0]"]), "spec.variants[1].remove[0]"),
    "a base with a baseline": (comparison_spec(base=RELATIVE), "spec.base.baseline: must not be set"),
    "a base that aborts": (comparison_spec(base=quickstart(abort=True)), "spec.base.abort: must not be set"),
    "a base that deletes its tests": (
        comparison_spec(base=quickstart(ttlAfterFinished={"passed": "1h"})),
        "spec.base.ttlAfterFinished: must not be set",
    ),
    "a base that is no test": (comparison_spec(base={"target": {"managed": {}}}), "spec.base.scenario: is required"),
    "neither variants nor a sweep": ({"base": quickstart(), "repeats": 3}, "spec: give either variants or sweep"),
    "variants and a sweep": (
        comparison_spec(sweep={"field": "workers.replicas", "values": "1,2"}),
        "spec: give either variants or sweep",
    ),
    "a sweep of no path": (swept("load..rate"), "spec.sweep.field"),
    "a sweep of a field that no test has": (
        swept("load.arrivals.speed"),
        "spec.sweep: makes an invalid test of variant 5: spec.load.arrivals.speed: unknown field",
    ),
    "a sweep of a path that leads nowhere": (swept("load.arrivals.stages.7.rate"), "spec.sweep.field: the spec has no"),
    "a sweep of the end of its tests": (swept("abort", "true,false"), "spec.sweep.field: must not be abort"),
    "a sweep of one value": (swept(values="5"), "spec.sweep.values: are not valid: 1 values"),
    "a sweep of seventeen values": (swept(values="1..17:1"), "spec.sweep.values: are not valid: more than 16 values"),
    "a sweep of an object": (
        swept("target", '{"external":{"host":"secret"}},{}'),
        "spec.sweep.values: are not valid: {",
    ),
    "a sweep of half a letter": (
        swept("scenario.steps.0.exec.command", '"\\ud800",uptime'),
        "spec.sweep.values: are not valid: ",
    ),
    "a sweep of half a range": (swept(values="1..x:1"), "spec.sweep.values: are not valid: 1 values"),
    "a sweep of too many tests": (swept(values="1..10:1", repeats=21), "spec.repeats: times the number of values is"),
    "a sweep of a value that is refused": (
        swept(values="5,-1"),
        "spec.sweep: makes an invalid test of variant 1: spec.load.arrivals.stages[0].rate",
    ),
    "a name with capitals": (comparison_spec("A", "b"), "spec.variants[0].name"),
}


# What only the sum of base and patch or value shows, which the CRD never sees.
PATCHED = (
    "a patch that contradicts the base",
    "a patch with a threshold of no kind",
    "a patch that sets abort",
    "a patch with a time to live",
    "removing what is not there",
    "a sweep of a field that no test has",
    "a sweep of a path that leads nowhere",
    "a sweep of the end of its tests",
    "a sweep of one value",
    "a sweep of seventeen values",
    "a sweep of an object",
    "a sweep of half a letter",
    "a sweep of half a range",
    "a sweep of too many tests",
    "a sweep of a value that is refused",
)
