"""SSHLoadTest specs that search the capacity, one of each load model: all valid."""

from specs.small import SMALL
from specs.spec import Spec

SEARCH_ARRIVALS: Spec = {
    **SMALL,
    "load": {
        "capacity": {
            "arrivals": {
                "min": 10,
                "max": 500.5,
                "duration": "30s",
                "process": "poisson",
                "maxInFlight": 900,
                "seed": 7,
            },
            "precision": "2.5%",
            "confirm": 1,
        }
    },
    "warmUp": "2s",
    "thresholds": [
        {"latency": {"step": "login", "percentile": 95, "below": "250ms"}},
        {"errorRate": {"below": "1%"}},
        {"capacity": {"above": 100}},
        {"capacity": {"within": "10%"}},
    ],
    "baseline": {"lastPassed": True},
}

SEARCH_USERS: Spec = {
    **SMALL,
    "scenario": {**SMALL["scenario"], "sessionReuse": "user"},
    "load": {
        "capacity": {
            "users": {
                "min": 1,
                "max": 1000,
                "duration": "20s",
                "spawnRate": 50,
                "thinkTime": {"min": "1s", "max": "2s"},
            }
        }
    },
    "thresholds": [{"latency": {"step": "total", "percentile": 50, "below": "1s"}}],
}

SEARCH_BURST: Spec = {
    **SMALL,
    "load": {"capacity": {"burst": {"min": 50, "max": 2000, "repeat": 3, "interval": "10s"}, "confirm": 0}},
    "thresholds": [{"errorRate": {"below": "0.1%"}}],
    "deadline": "5m",
}

SEARCH_HOLD: Spec = {
    **SMALL,
    "load": {
        "capacity": {
            "hold": {
                "min": 100,
                "max": 5000,
                "loginRate": 20,
                "duration": "1m",
                "keepAlive": "15s",
                "probeRate": 2.5,
            },
            "precision": "10%",
        }
    },
    "thresholds": [{"latency": {"step": "held.login", "percentile": 50, "below": "1s"}}],
    "deadline": "1h",
}

SEARCH_REPLAY: Spec = {
    **SMALL,
    "load": {
        "capacity": {
            "replay": {
                "trace": {"configMapRef": {"name": "monday"}},
                "min": 0.5,
                "max": 20,
                "duration": "1m",
                "speed": 2,
                "maxRate": 500,
                "maxInFlight": 900,
                "seed": 3,
            }
        }
    },
    "thresholds": [{"latency": {"step": "login", "percentile": 90, "below": "1s"}}],
    "deadline": "1h",
}

SEARCHES: dict[str, Spec] = {
    "search-arrivals": SEARCH_ARRIVALS,
    "search-users": SEARCH_USERS,
    "search-burst": SEARCH_BURST,
    "search-hold": SEARCH_HOLD,
    "search-replay": SEARCH_REPLAY,
}
