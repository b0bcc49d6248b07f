"""SSHLoadTest specs for a managed target that, between them, use every field such a test can have."""

from specs.permitted import EVERYTHING
from specs.scheduling import AFFINITY, SPREAD
from specs.spec import Spec

_PLACEMENT: Spec = {
    "image": "registry.example.com:5000/team/sshload@sha256:0123",
    "imagePullSecrets": [{"name": "pull"}, {"name": "pull.too"}],
    "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": 2, "memory": "1.5Gi"}},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [
        {"key": "dedicated", "operator": "Equal", "value": "load", "effect": "NoExecute", "tolerationSeconds": 60}
    ],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ],
    "priorityClassName": "high",
}

MANAGED_ARRIVALS: Spec = {
    "target": {
        "managed": {
            **_PLACEMENT,
            "sshd": {
                "maxStartups": "10:30:100",
                "maxSessions": 10,
                "perSourceMaxStartups": 100,
                "perSourceNetBlockSize": "24:64",
                "maxAuthTries": 3,
                "unusedConnectionTimeout": "90s",
                "perSourcePenalties": "authfail:5s noauth:1s",
                "loginGraceTime": "2m",
                "useDNS": True,
                "kexAlgorithms": ["curve25519-sha256"],
                "ciphers": ["aes128-gcm@openssh.com"],
                "macs": ["hmac-sha2-256-etm@openssh.com"],
                "hostKeyAlgorithms": ["ssh-ed25519", "ecdsa-sha2-nistp256"],
                "compression": "delayed",
                "rekeyLimit": "1G 1h",
                "logLevel": "VERBOSE",
                "sftpSubsystem": "/usr/lib/openssh/sftp-server -l INFO",
                "extraConfig": {"ClientAliveInterval": "30", "IPQoS": "lowdelay throughput"},
            },
            "fixtures": {
                "files": [{"path": "file-26k", "size": "26Ki"}, {"path": "sub/empty", "size": 0}],
                "directories": [{"path": "dir-10k", "files": 10000}],
                "repositories": [{"path": "sub/project.git", "commits": 100, "size": "1Mi"}],
                "spare": "1Gi",
            },
        }
    },
    "client": {
        "library": "ssh2-python",
        "auth": "publickey",
        "kexAlgorithms": ["curve25519-sha256"],
        "ciphers": ["aes128-gcm@openssh.com"],
        "macs": [],
        "hostKeyAlgorithms": ["ssh-ed25519"],
        "compression": True,
        "windowSize": "8Mi",
        "readBufferSize": 1024,
        "sftpReadSize": "256Ki",
        "sftpWriteSize": "32k",
        "quickAck": False,
        "networkDelay": "1.5ms",
        "timeouts": {
            "connect": "1s",
            "banner": "1500ms",
            "kex": "2s",
            "auth": "1m",
            "channel": "0.5s",
            "step": "1h",
        },
    },
    "scenario": {
        "steps": [
            {
                "exec": {
                    "name": "uptime",
                    "command": "uptime",
                    "expectExitCode": 0,
                    "expectStdout": r"load (average)?:\s",
                }
            },
            {"sleep": "250ms"},
            {"exec": {"name": "fail", "command": "exit 3", "expectExitCode": 3}},
        ]
    },
    "load": {
        "arrivals": {
            "stages": [{"rate": 0.5, "duration": "30s"}, {"rate": 90, "duration": "1m30s"}],
            "process": "poisson",
            "maxInFlight": 500,
            "seed": 42,
        }
    },
    "warmUp": "10s",
    "thresholds": [
        {"latency": {"step": "total", "percentile": 99.9, "below": "2s"}},
        {"latency": {"step": "uptime.firstByte", "percentile": 50, "below": "150ms"}},
        {"errorRate": {"below": "0.5%"}},
        {"throughput": {"above": 85.5}},
    ],
    "workers": {"replicas": 3, "processesPerPod": 2, **_PLACEMENT},
    "deadline": "10m",
    "startTimeout": "1m",
    "ttlAfterFinished": {"passed": "1h", "failed": "24h"},
    "abort": False,
    "suspend": True,
}

_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

MANAGED_STEPS: Spec = {
    "target": {"managed": {"affinity": AFFINITY, "topologySpreadConstraints": SPREAD}},
    "client": {
        "library": "paramiko",
        "auth": "certificate",
        "rekeyLimit": "1Gi",
        "windowSize": 2097152,
        "packetSize": "32Ki",
    },
    "scenario": {
        "sessionReuse": "user",
        "steps": [
            {"exec": {"name": "run", "command": "true"}},
            {"sftpRead": {"name": "get", "path": "a", "expectSize": 0, "expectSha256": _SHA256}},
            {"sftpWrite": {"name": "put", "path": "b-{iteration}", "size": "11Mi", "verify": "content"}},
            {"sftpList": {"name": "ls", "path": ".", "expectEntries": 3}},
            {"sftpStat": {"name": "stat", "path": "b-{iteration}"}},
            {"sftpMkdir": {"name": "mkdir", "path": "d"}},
            {"sftpRmdir": {"name": "rmdir", "path": "d"}},
            {"sftpRename": {"name": "mv", "path": "b-{iteration}", "to": "c-{iteration}"}},
            {"sftpRemove": {"name": "rm", "path": "c-{iteration}"}},
            {"scpRead": {"name": "scp-get", "path": "a", "expectSize": "1k", "expectSha256": _SHA256}},
            {"scpWrite": {"name": "scp-put", "path": "e", "size": 1, "verify": "size"}},
            {
                "shell": {
                    "name": "type",
                    "command": "cat",
                    "ready": "$ ",
                    "send": "é\n",
                    "expect": "é",
                    "repeat": 10,
                }
            },
            {"forward": {"name": "tunnel", "host": "localhost", "port": 7, "send": "x", "expect": "x"}},
            {"gitUploadPack": {"name": "clone", "repository": "sub/project.git"}},
            {"sleep": "1s"},
        ],
    },
    "load": {"users": {"stages": [{"users": 5, "duration": "10s"}]}},
    "workers": {"affinity": AFFINITY, "topologySpreadConstraints": SPREAD},
    "thresholds": [{"latency": {"step": "clone.advertise", "percentile": 50, "below": "1s"}}],
}

LOCUSTFILE: Spec = {
    "target": {"managed": {}},
    "client": {"library": "openssh", "controlMaster": True, "sftpReadSize": "32Ki", "rekeyLimit": "64Ki"},
    "scenario": {"locustfile": {"configMapRef": {"name": "mixed"}, "key": "mixed.py"}},
    "load": {"users": {"stages": [{"users": 5, "duration": "10s"}]}},
    "thresholds": [
        {"latency": {"step": "browse.sftpList", "percentile": 50, "below": "1s"}},
        {"latency": {"step": "command", "percentile": 50, "below": "1s"}},
    ],
}

MANAGED_PERMITTED: Spec = {
    **MANAGED_ARRIVALS,
    "target": {
        "managed": {
            **MANAGED_ARRIVALS["target"]["managed"],
            **EVERYTHING,
            "sshd": {
                **MANAGED_ARRIVALS["target"]["managed"]["sshd"],
                "revokedKeys": {"users": "12.5%", "others": 3},
            },
            "proxy": {"kind": "haproxy", "maxConnections": 100},
        }
    },
    "workers": {**MANAGED_ARRIVALS.get("workers", {}), **EVERYTHING},
}
"""With all that an installer can permit, and a proxy in the path."""

MANAGED_RSYNC: Spec = {
    **MANAGED_STEPS,
    "scenario": {
        "steps": [
            {
                "rsync": {
                    "name": "push",
                    "upload": {"path": "a-{iteration}", "files": 100, "size": "26Ki", "delete": True},
                }
            },
            {
                "rsync": {
                    "name": "pull",
                    "download": {"path": "b", "expectFiles": 3, "expectSize": "1Mi"},
                    "compress": True,
                }
            },
            {"rsync": {"name": "again", "download": {"path": "b"}}},
        ]
    },
    "thresholds": [{"latency": {"step": "push.transfer", "percentile": 50, "below": "1s"}}],
}
