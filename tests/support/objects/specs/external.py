"""SSHLoadTest specs for servers that exist, with and without jump hosts: one of each load model but arrivals."""

from specs.spec import Spec

EXTERNAL_USERS: Spec = {
    "target": {
        "external": {
            "host": "bastion.example.com",
            "port": 2222,
            "user": "probe",
            "credentialsSecretRef": {"name": "bastion-credentials"},
            "knownHostsSecretRef": {"name": "bastion-known-hosts"},
            "insecureIgnoreHostKey": False,
        }
    },
    "client": {"auth": "password"},
    "scenario": {"steps": [{"exec": {"command": "true"}}]},
    "load": {
        "users": {
            "stages": [{"users": 50, "duration": "30s"}, {"users": 10, "duration": "10s"}],
            "spawnRate": 12.5,
            "thinkTime": {"min": "1s", "max": "2500ms"},
        }
    },
    "thresholds": [{"latency": {"step": "firstByte", "percentile": 95, "below": "1h"}}],
}

_NOBODY: Spec = {"host": "bastion.example.com", "knownHostsSecretRef": {"name": "bastion-known-hosts"}}

USERS_OF_A_SECRET: Spec = {
    "target": {"external": _NOBODY},
    "client": {
        "users": {"secretRef": {"name": "users"}, "key": "users.yaml.gz", "pick": "zipf", "seed": 7, "exponent": 1.25}
    },
    "scenario": {"steps": [{"exec": {"command": "ls /home/{user}"}}]},
    "load": {"arrivals": {"rate": 5, "duration": "10s"}},
}

USERS_WITH_NUMBERS: Spec = {
    "target": {"external": {**_NOBODY, "credentialsSecretRef": {"name": "password"}}},
    "client": {
        "auth": "password",
        "users": {"names": {"pattern": "user{n}", "from": 7, "to": 5000, "digits": 5}, "pick": "oncePerUser"},
    },
    "scenario": {"steps": []},
    "load": {"arrivals": {"rate": 5, "duration": "10s"}},
}

EXTERNAL_BURST: Spec = {
    "target": {
        "external": {
            "host": "2001:db8::1",
            "user": "DOM\\probe",
            "credentialsSecretRef": {"name": "c"},
            "insecureIgnoreHostKey": True,
        }
    },
    "scenario": {"steps": []},
    "load": {"burst": {"connections": 500, "repeat": 10, "interval": "30s"}},
    "warmUp": "0s",
    "deadline": "7m",
}

EXTERNAL_HOLD: Spec = {
    "target": {
        "external": {
            "host": "inside",
            "user": "probe",
            "credentialsSecretRef": {"name": "inside-credentials"},
            "encryptedKey": True,
            "knownHostsSecretRef": {"name": "hosts"},
        }
    },
    "via": [
        {
            "host": "bastion.example.com",
            "port": 2222,
            "user": "jump",
            "auth": "keyboard-interactive",
            "credentialsSecretRef": {"name": "bastion-credentials"},
            "knownHostsSecretRef": {"name": "hosts"},
        },
        {
            "host": "192.0.2.7",
            "user": "jump",
            "auth": "certificate",
            "credentialsSecretRef": {"name": "second"},
            "encryptedKey": True,
            "insecureIgnoreHostKey": True,
        },
    ],
    "client": {"auth": "agent", "library": "asyncssh"},
    "scenario": {"sessionReuse": "pool", "poolSize": 8, "steps": [{"sftpRead": {"path": "a"}}]},
    "load": {"hold": {"sessions": 1000, "rampUp": "1m", "duration": "2m", "keepAlive": "0s", "probeRate": 0.5}},
    "thresholds": [
        {"latency": {"step": "subsystem", "percentile": 50, "below": "1s"}},
        {"latency": {"step": "via2.login", "percentile": 50, "below": "1s"}},
        {"latency": {"step": "held.keepAlive", "percentile": 50, "below": "1s"}},
    ],
    "workers": {"replicas": 4, "processesPerPod": 2},
}

EXTERNAL_CERTIFICATES: Spec = {
    "target": {
        "external": {
            "host": "bastion.example.com",
            "user": "probe",
            "credentialsSecretRef": {"name": "bastion-credentials"},
            "knownHostsSecretRef": {"name": "bastion-known-hosts"},
        }
    },
    "client": {
        "auth": "certificate",
        "extraKeys": 3,
        "certificates": {
            "lifetime": "1m0s",
            "renew": True,
            "renewBefore": "20s",
            "backdate": "30s",
            "principals": ["{user}", "everybody"],
            "extensions": ["permit-pty"],
            "ca": {"secretRef": {"name": "user-ca"}, "encryptedKey": True},
        },
    },
    "scenario": {"steps": []},
    "load": {"burst": {"connections": 5, "repeat": 1}},
}

EXTERNAL_PROMPTS: Spec = {
    **EXTERNAL_BURST,
    "client": {
        "auth": "publickey",
        "prompts": [
            {"match": "(?i)code|one-time password", "answer": "totp"},
            {"match": "^Password: $", "answer": "password"},
            {"match": "choice", "answer": "text", "text": "1"},
        ],
        "totp": {"algorithm": "SHA256", "digits": 8, "period": "60s"},
    },
    "thresholds": [{"latency": {"step": "auth.keyboardInteractive", "percentile": 50, "below": "1s"}}],
}
"""A login by key and prompts."""
