"""The examples with loads of a few seconds, as the end-to-end tests run them.

The server shares two cores with other tests, and how fast it is then is not what these tests are about. So thresholds
on latencies are on medians, which few samples tell. But for a search, their limits are ten times as high, those on
throughput are a tenth, and more than half of the iterations may fail. Each load makes the samples that this needs, a
closed one also where its iterations take several times as long as on a quiet machine. `kubectl create --dry-run=server`
and `sshload validate` see the examples as they are written.

The examples of the case study with loads of seconds: two of their variants, once each, with few clients.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from sshload_contract.load import ArrivalsLoad, BurstLoad, HoldLoad, ReplayLoad, TraceRef, UsersLoad
from sshload_contract.load.replay import Trace, read_trace
from sshload_contract.load.waves import WaveLoad
from sshload_contract.quantities import duration_s
from sshload_operator.api.comparison.spec import merged
from sshload_operator.api.spec import LoadTestSpec

EXAMPLES = Path(__file__).parents[3] / "examples"

SHORT_LOADS: Mapping[str, Mapping[str, Any]] = {
    "01-quickstart": {"arrivals": {"stages": [{"rate": 10, "duration": "6s"}]}},
    "02-users": {
        "users": {
            "stages": [{"users": 4, "duration": "2s"}, {"users": 8, "duration": "4s"}],
            "thinkTime": {"min": "250ms", "max": "750ms"},
        }
    },
    "03-burst": {"burst": {"repeat": 1}},
    "04-steps": {"arrivals": {"stages": [{"rate": 2, "duration": "2s"}, {"rate": 4, "duration": "4s"}]}},
    "06-sftp": {"arrivals": {"stages": [{"rate": 3, "duration": "5s"}]}},
    "07-sessions": {"arrivals": {"stages": [{"rate": 10, "duration": "5s"}]}},
    "08-git": {"arrivals": {"stages": [{"rate": 3, "duration": "5s"}]}},
    "10-libraries": {"arrivals": {"stages": [{"rate": 3, "duration": "5s"}]}},
    "11-window": {"users": {"stages": [{"users": 1, "duration": "15s"}]}},
    "12-locustfile": {
        "users": {"stages": [{"users": 8, "duration": "6s"}], "thinkTime": {"min": "250ms", "max": "500ms"}}
    },
    "13-hold": {"hold": {"sessions": 20, "rampUp": "4s", "duration": "5s", "keepAlive": "2s", "probeRate": 3}},
    "14-schedule": {"arrivals": {"stages": [{"rate": 4, "duration": "5s"}]}},
    "15-max-startups": {"arrivals": {"stages": [{"rate": 30, "duration": "3s"}]}},
    "16-two-libraries": {"arrivals": {"stages": [{"rate": 4, "duration": "4s"}]}},
    "17-post-quantum": {"arrivals": {"stages": [{"rate": 4, "duration": "4s"}]}},
    "18-in-the-path": {"users": {"stages": [{"users": 1, "duration": "12s"}]}},
    "19-capacity": {"capacity": {"arrivals": {"min": 1, "duration": "6s"}}},
    "20-baseline": {"arrivals": {"stages": [{"rate": 10, "duration": "6s"}]}},
    "21-api-sustained": {"arrivals": {"stages": [{"rate": 15, "duration": "4s"}]}},
    "22-api-burst": {"burst": {"connections": 36, "repeat": 1}},
    "23-replay": {"replay": {"duration": "8s"}},
    "24-rsync": {"arrivals": {"stages": [{"rate": 2, "duration": "5s"}]}},
    "25-rates": {"arrivals": {"duration": "4s"}},
    "31-kerberos": {"arrivals": {"rate": 4, "duration": "4s"}},
    "33-short-certificates": {"arrivals": {"stages": [{"rate": 3, "duration": "12s"}]}},
    "27-mix": {"arrivals": {"duration": "12s"}},
    "28-system-target": {"arrivals": {"rate": 8, "duration": "5s"}},
    "32-ldap": {"arrivals": {"rate": 4, "duration": "5s"}},
    "30-two-factors": {"arrivals": {"rate": 6, "duration": "6s"}},
    "29-population": {"arrivals": {"rate": 8, "duration": "5s"}},
    "26-wave": {"wave": {"rate": 2, "toRate": 6, "period": "10s", "repeat": 1}},
}
"""A merge patch for the load of each example, by the name of its file. The others run as they are written."""

SHORT_PAUSES: Mapping[str, Mapping[str, Any]] = {
    "32-ldap": {"managed": {"system": {"ldap": {"pause": {"after": "200ms", "for": "500ms"}}}}},
}
"""A merge patch for the target of an example, so that what happens in its load is over before a load of a second is."""

WARM_UP = "1s"
SLOWER = 10
MOST_FAIL = "60%"
_TEST_SPECS = {
    "SSHLoadTest": ("spec",),
    "SSHLoadTestComparison": ("spec", "base"),
    "SSHLoadTestSchedule": ("spec", "testTemplate", "spec"),
}


def short_example(name: str) -> list[dict[str, Any]]:
    """Return the objects of an example, its load shortened."""
    documents: list[dict[str, Any]] = list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")))
    if name in SHORT_LOADS:
        (found,) = (document for document in documents if document["kind"] in _TEST_SPECS)
        for key in _TEST_SPECS[found["kind"]]:
            found = found[key]
        found["load"] = merged(found["load"], SHORT_LOADS[name])
        found["warmUp"] = WARM_UP
        found["target"] = merged(found["target"], SHORT_PAUSES.get(name, {}))
        change = _on_a_median if "capacity" in found["load"] else _met_when_slow
        found["thresholds"] = [change(threshold) for threshold in found.get("thresholds", ())]
    return documents


def is_of_a_system(spec: Mapping[str, Any]) -> bool:
    """Tell whether a spec of a test has a target that is the sshd of a distribution."""
    return "system" in (spec["target"].get("managed") or {})


def on_a_busy_machine(thresholds: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return thresholds that the server meets however busy the machine is, on the same steps."""
    return [_met_when_slow(threshold) for threshold in thresholds]


def _met_when_slow(threshold: dict[str, Any]) -> dict[str, Any]:
    if "errorRate" in threshold:
        return {"errorRate": {"below": MOST_FAIL}}
    if "above" in threshold.get("throughput", {}):
        return {"throughput": {"above": threshold["throughput"]["above"] / SLOWER}}
    limit = threshold.get("latency", {}).get("below", "")
    if not limit or limit.endswith("%"):
        return threshold
    return _on_a_median({"latency": {**threshold["latency"], "below": f"{duration_s(limit) * SLOWER:g}s"}})


def _on_a_median(threshold: dict[str, Any]) -> dict[str, Any]:
    return {"latency": {**threshold["latency"], "percentile": 50}} if "latency" in threshold else threshold


def short_test(name: str) -> dict[str, Any]:
    """Return the one SSHLoadTest of an example, its load shortened."""
    (test,) = (document for document in short_example(name) if document["kind"] == "SSHLoadTest")
    return test


def least_iterations(spec: LoadTestSpec, slowest_s: float) -> float:
    """Return how many measured iterations the load makes at least, if no iteration of a user takes longer."""
    match spec.load.least:
        case ArrivalsLoad(stages=stages):
            return sum(stage.rate * stage.duration_s for stage in stages)
        case BurstLoad(connections=connections, repeat=repeat):
            return connections * repeat
        case HoldLoad(probe_rate=rate, duration_s=duration_s):
            return rate * duration_s
        case WaveLoad(iterations=iterations):
            return iterations
        case UsersLoad(stages=stages):
            return sum(stage.users * stage.duration_s for stage in stages) / slowest_s
        case ReplayLoad() as load:
            return sum(offset >= spec.warm_up_s for offset in load.replayed(_trace(load.trace), spec.warm_up_s))


def _trace(wanted: TraceRef) -> Trace:
    """Return the trace that the ConfigMap of an example holds."""
    documents = [one for path in EXAMPLES.glob("*.yaml") for one in yaml.safe_load_all(path.read_text())]
    (data,) = (
        one["data"] for one in documents if (one["kind"], one["metadata"]["name"]) == ("ConfigMap", wanted.config_map)
    )
    return read_trace(data[wanted.key].splitlines())


FOLDER = Path(__file__).parents[3] / "examples/case-study"
CASE_STUDY = sorted(FOLDER.glob("*.yaml"))
_USERS = 3
_CONNECTIONS = 6
"""Of a burst, enough for a median: without it nothing tells whether a generator that lagged has spread the burst."""

_DURATION = "2s"
_THINK_TIME = {"min": "100ms", "max": "200ms"}
"""Of users, who would else take all of the machine's CPU for as long as the load lasts."""

_INTERVAL = "5s"
"""The error rate of a burst can be judged while the generator stands still for at most a tenth of this."""

_VALUES = {
    "load.arrivals.rate": "2,4",
    "load.burst.connections": "5,6",
    "client.windowSize": "256Ki,38Mi",
}


def written(path: Path) -> dict[str, Any]:
    """Return the comparison of an example as it is written."""
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def short(path: Path) -> dict[str, Any]:
    """Return the comparison with a shorter load, smaller archives and fewer files: its first and its last variant."""
    text = path.read_text(encoding="utf-8").replace("11Mi", "1Mi").replace("files: 10000", "files: 100")
    document: dict[str, Any] = yaml.safe_load(text)
    spec = document["spec"]
    spec["repeats"] = 1
    spec["base"]["warmUp"] = "0s"
    spec["base"]["load"] = _fewer(spec["base"]["load"])
    if "sweep" in spec:
        spec["sweep"]["values"] = _VALUES[spec["sweep"]["field"]]
    else:
        spec["variants"] = [spec["variants"][0], spec["variants"][-1]]
        for variant in spec["variants"]:
            if "load" in variant.get("patch", {}):
                variant["patch"]["load"] = _fewer(variant["patch"]["load"])
    return document


def _fewer(value: Any, key: str = "") -> Any:
    """Return a load, or a part of it, with few clients and for seconds; a rate is one that a slow server takes."""
    if isinstance(value, dict):
        thinking = {"thinkTime": _THINK_TIME} if "stages" in value and key == "users" else {}
        return {name: _fewer(part, name) for name, part in value.items()} | thinking
    if isinstance(value, list):
        return [_fewer(part) for part in value]
    shorter = {"duration": _DURATION, "users": _USERS, "connections": _CONNECTIONS, "interval": _INTERVAL, "rate": 4}
    return shorter.get(key, value)
