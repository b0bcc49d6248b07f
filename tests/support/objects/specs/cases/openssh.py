"""What the programs of OpenSSH cannot do as clients, and what they can."""

from specs.bad import Bad
from specs.external import EXTERNAL_HOLD, EXTERNAL_USERS
from specs.managed import LOCUSTFILE
from specs.relative import RELATIVE
from specs.search import SEARCH_HOLD
from specs.small import SMALL, with_steps, with_thresholds
from specs.spec import Spec, changed

_HOLD = EXTERNAL_HOLD["load"]["hold"]
_EXEC = {"exec": {"command": "uptime"}}
_NAMED = {"exec": {"command": "uptime", "name": "uptime"}}
_LATENCY = {"step": "total", "percentile": 99, "below": "2s"}

BAD: dict[str, Bad] = {
    "openssh-with-a-password": Bad(
        changed(changed(EXTERNAL_USERS, "client.library", "openssh"), "client.controlMaster", value=True),
        "spec.client.auth",
        "openssh",
    ),
    "openssh-with-a-jump-hosts-password": Bad(
        changed(changed(EXTERNAL_HOLD, "client", {"library": "openssh"}), "load.hold.keepAlive", "0s"),
        "spec.via",
        "openssh",
    ),
    "openssh-that-asks-for-a-sign-of-life": Bad(
        changed(changed(SMALL, "client.library", "openssh"), "load", {"hold": {**_HOLD, "keepAlive": "5s"}}),
        "spec.load",
        "keepAlive",
    ),
    "openssh-that-asks-for-a-sign-of-life-in-a-search": Bad(
        changed(SEARCH_HOLD, "client.library", "openssh"), "spec.load", "keepAlive"
    ),
    "threshold-on-a-part-of-openssh": Bad(
        changed(with_thresholds({"latency": {**_LATENCY, "step": "exec"}}), "client.library", "openssh"),
        "spec.thresholds",
        "the parts of a step cannot be measured",
    ),
    "threshold-on-a-part-of-openssh-by-a-locustfile": Bad(
        changed(LOCUSTFILE, "thresholds.0.latency.step", "browse.read"),
        "spec.thresholds",
        "the parts of a step cannot be measured",
    ),
    "relative-threshold-on-a-part-of-openssh": Bad(
        changed(changed(RELATIVE, "thresholds.0.latency.step", "exec"), "client.library", "openssh"),
        "spec.thresholds",
        "cannot be measured",
    ),
}

GOOD: dict[str, Spec] = {
    "openssh-with-two-steps": changed(
        with_steps(_NAMED, {"sftpRead": {"name": "b", "path": "a"}}), "client", {"library": "openssh", "auth": "agent"}
    ),
    "openssh-with-a-pool": {
        **changed(SMALL, "client.library", "openssh"),
        "scenario": {"steps": [_EXEC], "sessionReuse": "pool", "poolSize": 1},
        "workers": {"replicas": 1},
    },
    "openssh-that-holds": changed(
        changed(SMALL, "client.library", "openssh"), "load", {"hold": {**_HOLD, "keepAlive": "0s"}}
    ),
    "search-for-sessions-of-openssh": changed(
        changed(SEARCH_HOLD, "client.library", "openssh"), "load.capacity.hold.keepAlive", "0s"
    ),
    "threshold-on-a-sum-of-openssh": changed(
        with_thresholds({"latency": {**_LATENCY, "step": "command"}}), "client.library", "openssh"
    ),
}
