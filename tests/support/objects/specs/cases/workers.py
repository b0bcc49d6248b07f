"""How many workers there are, and where their pods run with what."""

from specs.bad import Bad, bad
from specs.small import SMALL
from specs.spec import Spec, changed

BAD: dict[str, Bad] = {
    "workers-with-a-point": bad("workers.replicas", 2.0, "spec"),
    "processes-with-a-point": bad("workers.processesPerPod", 2.0, "spec"),
    "no-workers": bad("workers.replicas", 0),
    "too-many-workers": bad("workers.replicas", 201),
    "half-a-worker": bad("workers.replicas", 1.5),
    "workers-as-text": bad("workers.replicas", "2"),
    "no-processes": bad("workers.processesPerPod", 0),
    "too-many-processes": bad("workers.processesPerPod", 65),
    "amount-that-is-negative": bad("workers.resources.requests.cpu", -1, "spec.workers.resources.requests"),
    "amount-of-no-unit": bad("workers.resources.limits.memory", "1GB"),
    "claims-of-resources": bad("workers.resources.claims", []),
    "toleration-of-an-unknown-effect": bad(
        "workers.tolerations", [{"effect": "Never"}], "spec.workers.tolerations[0].effect"
    ),
    "image-with-a-space": bad("workers.image", "a b"),
}

GOOD: dict[str, Spec] = {
    "whole-number-with-a-point": changed(SMALL, "load.arrivals.maxInFlight", 500.0),
    "null-in-a-map": changed(SMALL, "workers.nodeSelector", {"a": None}),
    "the-loosest-toleration": changed(SMALL, "workers.tolerations", [{"operator": "Exists"}]),
}
