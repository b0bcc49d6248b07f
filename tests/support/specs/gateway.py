"""An SSHLoadTest spec for a gateway that uses every field such a target can have."""

from specs.small import SMALL
from specs.spec import Spec

GATEWAY: Spec = {
    **SMALL,
    "target": {
        "gateway": {
            "host": "api.example.com",
            "port": 8443,
            "tls": True,
            "path": "/ssh/v1",
            "credential": "login-node",
            "tokenSecretRef": {"name": "token"},
            "caSecretRef": {"name": "authorities"},
        }
    },
    "scenario": {
        "steps": [
            {"exec": {"name": "uptime", "command": "uptime"}},
            {"sleep": "10ms"},
            {"sftpList": {"name": "home", "path": "."}},
        ]
    },
    "thresholds": [
        {"latency": {"step": step, "percentile": 90, "below": "1s"}}
        for step in ("connect", "tls", "total", "uptime.command", "uptime.gatewayWait", "home.sftpList")
    ],
}
