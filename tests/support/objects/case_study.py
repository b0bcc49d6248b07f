"""The examples of the case study with loads of seconds: two of their variants, once each, with few clients."""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[3] / "examples/case-study"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
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
