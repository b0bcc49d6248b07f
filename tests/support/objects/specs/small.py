"""The smallest useful SSHLoadTest spec, and the same with other steps or with thresholds."""

from specs.spec import Spec, changed

SMALL: Spec = {
    "target": {"managed": {}},
    "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
    "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}]}},
}


def with_steps(*steps: Spec) -> Spec:
    """Return the small spec with these steps in place of its own."""
    return changed(SMALL, "scenario.steps", list(steps))


def with_thresholds(*thresholds: Spec) -> Spec:
    """Return the small spec with these thresholds."""
    return changed(SMALL, "thresholds", list(thresholds))


REPLAY: Spec = {
    **SMALL,
    "load": {
        "replay": {
            "trace": {"configMapRef": {"name": "monday"}, "key": "nine.txt"},
            "duration": "10m",
            "speed": 1.5,
            "amplification": 2.5,
            "maxRate": 200,
            "maxInFlight": 500,
            "seed": 7,
        }
    },
}

WAVE: Spec = {
    **SMALL,
    "load": {
        "wave": {
            "rate": 2,
            "toRate": 20.5,
            "period": "2m",
            "repeat": 5,
            "process": "poisson",
            "maxInFlight": 500,
            "seed": 7,
        }
    },
}

LINKS_AND_LIMITS: Spec = {
    **SMALL,
    "scenario": {
        "steps": [
            {"sftpSymlink": {"name": "ln", "path": "l-{iteration}", "to": "c"}},
            {"sftpSetstat": {"name": "chmod", "path": "c", "mode": "0640"}},
        ]
    },
    "thresholds": [
        {"targetCpu": {"below": "80%"}},
        {"targetMemory": {"below": "512Mi"}},
        {"sessions": {"below": 100}},
    ],
}
"""The steps that make links and set permissions, and limits of a target's own figures."""

MIXED: Spec = {
    **SMALL,
    "scenario": {
        "steps": [
            {"exec": {"name": "uptime", "command": "uptime"}},
            {"sleep": "1s"},
            {"exec": {"name": "list", "command": "ls"}},
        ],
        "alternatives": [{"weight": 3, "steps": ["uptime"]}, {"steps": ["list"]}, {"weight": 5, "steps": []}],
    },
    "thresholds": [{"latency": {"step": "list.command", "percentile": 90, "below": "1s"}}],
}
