"""Specs for gateways that use every field such a target can have: one that exists, and one of the run's own."""

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

MANAGED_GATEWAY: Spec = {
    **GATEWAY,
    "target": {
        "managed": {
            "gateway": {
                "policy": "connection-per-user",
                "connectionsPerCredential": 8,
                "sessionsPerConnection": 20,
                "loginsPerHost": 8,
            }
        }
    },
    "thresholds": [{"latency": {"step": "uptime.gatewayLogin", "percentile": 90, "below": "1s"}}],
}
