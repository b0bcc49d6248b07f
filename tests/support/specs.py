"""SSHLoadTest specs: whole ones that use every field between them, and a table of small good and bad changes."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]

SMALL: Spec = {
    "target": {"managed": {}},
    "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
    "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}]}},
}

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
        "quickAck": False,
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
    "workers": {"replicas": 3, **_PLACEMENT},
    "deadline": "10m",
    "startTimeout": "1m",
    "ttlAfterFinished": {"passed": "1h", "failed": "24h"},
    "abort": False,
}

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

WHOLE = {
    "small": SMALL,
    "managed-arrivals": MANAGED_ARRIVALS,
    "external-users": EXTERNAL_USERS,
    "external-burst": EXTERNAL_BURST,
}


@dataclass(frozen=True, slots=True)
class Bad:
    """A change that must be refused, and the field that the refusal must name."""

    spec: Mapping[str, Any]
    field: str
    says: str = ""


def changed(spec: Mapping[str, Any], path: str, value: Any) -> Spec:
    """Return a copy of `spec` with the field at `path` (`load.arrivals.stages.0.rate`) set to `value`."""
    copy = deepcopy(dict(spec))
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place: Any = copy
    for part in parents:
        place = place[part] if isinstance(part, int) else place.setdefault(part, {})
    place[last] = value
    return copy


def bad(path: str, value: Any, field: str = "", says: str = "", base: Mapping[str, Any] = SMALL) -> Bad:
    """Return the change of one field of `base`; the refusal must name it, or `field`."""
    return Bad(changed(base, path, value), field or f"spec.{path}", says)


def without(spec: Mapping[str, Any], name: str) -> Spec:
    """Return a copy of `spec` without a top-level field."""
    return {key: deepcopy(value) for key, value in spec.items() if key != name}


def _sshd(name: str, value: Any, says: str = "") -> Bad:
    return bad(f"target.managed.sshd.{name}", value, says=says)


def _steps(*steps: Spec) -> Spec:
    return changed(SMALL, "scenario.steps", list(steps))


def _thresholds(*thresholds: Spec) -> Spec:
    return changed(SMALL, "thresholds", list(thresholds))


_EXEC = {"exec": {"command": "uptime"}}
_NAMED = {"exec": {"command": "uptime", "name": "uptime"}}
_LATENCY = {"step": "total", "percentile": 99, "below": "2s"}
_EXTERNAL = EXTERNAL_USERS["target"]["external"]

BAD: dict[str, Bad] = {
    "no-target": Bad(without(SMALL, "target"), "spec.target"),
    "no-scenario": Bad(without(SMALL, "scenario"), "spec.scenario"),
    "no-load": Bad(without(SMALL, "load"), "spec.load"),
    "neither-target": bad("target", {}, says="exactly one of managed and external must be set"),
    "both-targets": bad("target", {"managed": {}, "external": _EXTERNAL}, says="exactly one of managed and external"),
    "no-load-model": bad("load", {}, says="exactly one of users, arrivals and burst must be set"),
    "two-load-models": bad(
        "load", {**SMALL["load"], "burst": {"connections": 1}}, says="exactly one of users, arrivals and burst"
    ),
    "target-of-the-wrong-type": bad("target.managed", "yes"),
    "unparsable-duration": bad("deadline", "soon"),
    "duration-as-a-number": bad("warmUp", 10),
    "duration-without-a-unit": bad("warmUp", "10"),
    "duration-in-days": bad("warmUp", "1d"),
    "duration-below-its-range": bad(
        "load.arrivals.stages.0.duration", "999ms", "spec.load.arrivals.stages[0].duration"
    ),
    "duration-above-its-range": bad("client.timeouts.auth", "1h1ms"),
    "duration-beyond-64-bits": bad("deadline", "9999999999999999h"),
    "negative-duration": bad("warmUp", "-1s"),
    "no-workers": bad("workers.replicas", 0),
    "too-many-workers": bad("workers.replicas", 201),
    "half-a-worker": bad("workers.replicas", 1.5),
    "workers-as-text": bad("workers.replicas", "2"),
    "rate-of-zero": bad("load.arrivals.stages.0.rate", 0, "spec.load.arrivals.stages[0].rate"),
    "negative-rate": bad("load.arrivals.stages.0.rate", -5, "spec.load.arrivals.stages[0].rate"),
    "rate-as-text": bad("load.arrivals.stages.0.rate", "20", "spec.load.arrivals.stages[0].rate"),
    "no-stages": bad("load.arrivals.stages", []),
    "too-many-stages": bad("load.arrivals.stages", [{"rate": 1, "duration": "1s"}] * 51),
    "stage-without-a-duration": bad("load.arrivals.stages", [{"rate": 1}], "spec.load.arrivals.stages[0].duration"),
    "unknown-process": bad("load.arrivals.process", "uniform"),
    "think-time-the-wrong-way-round": bad(
        "load.users.thinkTime", {"min": "2s", "max": "1s"}, "spec.load.users.thinkTime.max", base=EXTERNAL_USERS
    ),
    "users-of-zero": bad("load.users.stages.0.users", 0, "spec.load.users.stages[0].users", base=EXTERNAL_USERS),
    "burst-of-zero": bad("load.burst.connections", 0, base=EXTERNAL_BURST),
    "burst-repeated-with-a-point": bad("load.burst.repeat", 2.0, "spec", base=EXTERNAL_BURST),
    "burst-interval-in-milliseconds": bad("load.burst.interval", "1500ms", base=EXTERNAL_BURST),
    "deadline-before-the-end-of-arrivals": bad("deadline", "154s", says="startTimeout, warmUp and the load"),
    "deadline-before-the-end-of-users": bad("deadline", "160s", base=EXTERNAL_USERS, says="startTimeout, warmUp"),
    "deadline-before-the-end-of-bursts": bad("deadline", "419s", base=EXTERNAL_BURST, says="startTimeout, warmUp"),
    "max-startups-of-one-number": _sshd("maxStartups", "100"),
    "max-startups-as-a-number": _sshd("maxStartups", 100),
    "max-startups-in-words": _sshd("maxStartups", "many"),
    "max-startups-with-a-rate-above-100": _sshd("maxStartups", "10:101:100", "rate"),
    "max-startups-with-start-above-full": _sshd("maxStartups", "101:30:100", "start"),
    "max-sessions-of-zero": _sshd("maxSessions", 0),
    "per-source-max-startups-of-zero": _sshd("perSourceMaxStartups", 0),
    "per-source-max-startups-in-words": _sshd("perSourceMaxStartups", "few"),
    "unquoted-penalties": _sshd("perSourcePenalties", value=False),
    "penalties-in-words": _sshd("perSourcePenalties", "some of them"),
    "grace-time-in-milliseconds": _sshd("loginGraceTime", "1500ms"),
    "unquoted-compression": _sshd("compression", value=True),
    "log-level-that-hides-logins": _sshd("logLevel", "QUIET"),
    "algorithm-that-stands-twice": bad(
        "target.managed.sshd.ciphers", ["aes128-ctr", "aes128-ctr"], "spec.target.managed.sshd.ciphers[1]"
    ),
    "algorithm-with-a-comma": bad("client.ciphers", ["a,b"], "spec.client.ciphers[0]"),
    "extra-directive-with-a-line-break": bad(
        "target.managed.sshd.extraConfig", {"Banner": "none\nPort 22"}, "spec.target.managed.sshd.extraConfig.Banner"
    ),
    "extra-directive-with-no-name": _sshd("extraConfig", {"no such": "x"}, "sshd_config(5)"),
    "extra-directive-that-has-a-field": _sshd("extraConfig", {"MaxSessions": "9"}, "MaxSessions is not for"),
    "extra-directive-that-moves-the-port": _sshd("extraConfig", {"pOrT": "22"}, "pOrT is not for extraConfig"),
    "fixture-that-climbs": bad(
        "target.managed.fixtures.files", [{"path": "../x", "size": 1}], "spec.target.managed.fixtures.files[0].path"
    ),
    "fixture-of-the-wrong-unit": bad(
        "target.managed.fixtures.files", [{"path": "x", "size": "26KB"}], "spec.target.managed.fixtures.files[0].size"
    ),
    "fixture-that-is-too-large": bad(
        "target.managed.fixtures.files", [{"path": "x", "size": "101Gi"}], "spec.target.managed.fixtures.files[0].size"
    ),
    "fixture-that-stands-twice": bad(
        "target.managed.fixtures.directories",
        [{"path": "x", "files": 1}, {"path": "x", "files": 2}],
        "spec.target.managed.fixtures.directories[1]",
    ),
    "fixture-inside-a-file": bad(
        "target.managed.fixtures",
        {"files": [{"path": "x", "size": 1}], "directories": [{"path": "x/y", "files": 1}]},
        "spec.target.managed.fixtures.directories",
    ),
    "host-with-a-space": bad("target.external.host", "a b", base=EXTERNAL_USERS),
    "host-with-an-empty-label": bad("target.external.host", "a..b", base=EXTERNAL_USERS),
    "port-zero": bad("target.external.port", 0, base=EXTERNAL_USERS),
    "port-above-the-last": bad("target.external.port", 65536, base=EXTERNAL_USERS),
    "user-who-is-an-option": bad("target.external.user", "-oProxyCommand=x", base=EXTERNAL_USERS),
    "host-keys-neither-known-nor-ignored": bad(
        "target.external.knownHostsSecretRef", None, base=EXTERNAL_USERS, says="insecureIgnoreHostKey"
    ),
    "host-keys-both-known-and-ignored": bad(
        "target.external.insecureIgnoreHostKey",
        value=True,
        field="spec.target.external.knownHostsSecretRef",
        base=EXTERNAL_USERS,
    ),
    "secret-in-place-of-its-name": bad("target.external.credentialsSecretRef", "bastion", base=EXTERNAL_USERS),
    "password-for-a-managed-target": bad("client.auth", "password", says="publickey"),
    "unknown-library": bad("client.library", "paramiko"),
    "unknown-auth": bad("client.auth", "agent"),
    "step-of-nothing": Bad(_steps({}), "spec.scenario.steps[0]", "exactly one of exec and sleep must be set"),
    "step-of-both": Bad(_steps({**_EXEC, "sleep": "1s"}), "spec.scenario.steps[0]", "exactly one of exec and sleep"),
    "exec-steps-without-names": Bad(_steps(_EXEC, _NAMED), "spec.scenario.steps", "must have a name"),
    "exec-steps-of-one-name": Bad(_steps(_NAMED, _NAMED), "spec.scenario.steps", "must differ"),
    "command-of-nothing": Bad(_steps({"exec": {"command": ""}}), "spec.scenario.steps[0].exec.command"),
    "exit-code-above-255": Bad(
        _steps({"exec": {"command": "x", "expectExitCode": 256}}), "spec.scenario.steps[0].exec.expectExitCode"
    ),
    "expression-that-does-not-compile": Bad(
        _steps({"exec": {"command": "x", "expectStdout": "(a"}}), "spec.scenario.steps[0].exec.expectStdout"
    ),
    "expression-of-python-only": Bad(
        _steps({"exec": {"command": "x", "expectStdout": "a(?=b)"}}), "spec.scenario.steps[0].exec.expectStdout"
    ),
    "expression-of-go-only": Bad(
        _steps({"exec": {"command": "x", "expectStdout": r"\pL"}}), "spec.scenario.steps[0].exec.expectStdout"
    ),
    "expression-that-never-gives-back": Bad(
        _steps({"exec": {"command": "x", "expectStdout": "a*+"}}), "spec.scenario.steps[0].exec.expectStdout"
    ),
    "expression-that-repeats-without-end": Bad(
        _steps({"exec": {"command": "x", "expectStdout": "a{1,1001}"}}), "spec.scenario.steps[0].exec.expectStdout"
    ),
    "expression-with-a-set-in-a-set": Bad(
        _steps({"exec": {"command": "x", "expectStdout": "[[:alpha:]]"}}), "spec.scenario.steps[0].exec.expectStdout"
    ),
    "threshold-of-nothing": Bad(_thresholds({}), "spec.thresholds[0]", "exactly one of latency, errorRate and"),
    "threshold-of-two": Bad(
        _thresholds({"latency": _LATENCY, "errorRate": {"below": "1%"}}), "spec.thresholds[0]", "exactly one of"
    ),
    "threshold-on-what-is-not-measured": Bad(
        _thresholds({"latency": {**_LATENCY, "step": "uptime.exec"}}), "spec.thresholds", "latency.step"
    ),
    "threshold-on-the-hundredth-percentile": Bad(
        _thresholds({"latency": {**_LATENCY, "percentile": 100}}), "spec.thresholds[0].latency.percentile"
    ),
    "threshold-without-its-step": Bad(
        _thresholds({"latency": {"percentile": 99, "below": "2s"}}), "spec.thresholds[0].latency.step"
    ),
    "error-rate-as-a-fraction": Bad(_thresholds({"errorRate": {"below": 0.01}}), "spec.thresholds[0].errorRate.below"),
    "error-rate-without-percent": Bad(_thresholds({"errorRate": {"below": "1"}}), "spec.thresholds[0].errorRate.below"),
    "error-rate-below-zero": Bad(_thresholds({"errorRate": {"below": "0%"}}), "spec.thresholds[0].errorRate.below"),
    "error-rate-above-all": Bad(_thresholds({"errorRate": {"below": "100.1%"}}), "spec.thresholds[0].errorRate.below"),
    "ttl-for-a-verdict-without-one": bad("ttlAfterFinished.aborted", "1h"),
    "abort-as-text": bad("abort", "true"),
    "amount-that-is-negative": bad("workers.resources.requests.cpu", -1, "spec.workers.resources.requests"),
    "amount-of-no-unit": bad("workers.resources.limits.memory", "1GB"),
    "claims-of-resources": bad("workers.resources.claims", []),
    "toleration-of-an-unknown-effect": bad(
        "workers.tolerations", [{"effect": "Never"}], "spec.workers.tolerations[0].effect"
    ),
    "image-with-a-space": bad("workers.image", "a b"),
    "what-is-not-there-yet-via": bad("via", []),
    "what-is-not-there-yet-hold": Bad(changed(SMALL, "load", {"hold": {}}), "spec.load"),
    "what-is-not-there-yet-rootful": bad("target.managed.rootful", value=True),
    "what-is-not-there-yet-replicas": bad("target.managed.replicas", 2),
    "what-is-not-there-yet-session-reuse": bad("scenario.sessionReuse", "user"),
    "what-is-not-there-yet-baseline": bad("baseline", {"lastPassed": True}),
}

GOOD: dict[str, Spec] = {
    **WHOLE,
    "whole-number-with-a-point": changed(SMALL, "workers.replicas", 2.0),
    "null-for-absent": changed(SMALL, "thresholds", None),
    "null-for-a-default": changed(SMALL, "warmUp", None),
    "null-in-a-map": changed(SMALL, "workers.nodeSelector", {"a": None}),
    "deadline-to-the-second": changed(SMALL, "deadline", "155s"),
    "deadline-to-the-second-with-bursts": changed(EXTERNAL_BURST, "deadline", "420s"),
    "no-penalty": changed(SMALL, "target.managed.sshd.perSourcePenalties", "yes"),
    "no-limit-per-source": changed(SMALL, "target.managed.sshd.perSourceMaxStartups", "none"),
    "no-grace-limit": changed(SMALL, "target.managed.sshd.loginGraceTime", "0s"),
    "address-for-a-host": changed(EXTERNAL_USERS, "target.external.host", "192.0.2.7"),
    "sleep-alone": _steps({"sleep": "1s"}),
    "sleeps-beside-one-nameless-exec": _steps({"sleep": "1s"}, _EXEC, {"sleep": "1s"}),
    "threshold-on-a-nameless-exec": _thresholds({"latency": {**_LATENCY, "step": "exec"}}),
    "error-rate-of-everything": _thresholds({"errorRate": {"below": "100%"}}),
    "throughput-of-zero": _thresholds({"throughput": {"above": 0}}),
    "groups-and-escapes": _steps({"exec": {"command": "x", "expectStdout": r"^(a|(?:b\.c))+\d{2,3} [x-z]\($"}}),
    "operators-in-sets-and-escapes": _steps({"exec": {"command": "x", "expectStdout": r"[*+]+\*+[]+{1001]\]+a{1000}"}}),
    "braces-and-commas-of-the-output": _steps({"exec": {"command": "x", "expectStdout": r"a}+ 1,5000 {x,2000}"}}),
    "the-longest-command": _steps({"exec": {"command": "x" * 4096}}),
    "the-largest-file": changed(SMALL, "target.managed.fixtures.files", [{"path": "x", "size": "100Gi"}]),
    "forever-after": changed(SMALL, "ttlAfterFinished", {}),
    "the-loosest-toleration": changed(SMALL, "workers.tolerations", [{"operator": "Exists"}]),
}
