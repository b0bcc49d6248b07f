"""SSHLoadTest specs: whole ones that use every field between them, and a table of small good and bad changes."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from search_specs import RELATIVE, SEARCH_ARRIVALS, SEARCH_BURST, SEARCH_HOLD, SEARCH_USERS, SEARCHES

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

_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

MANAGED_STEPS: Spec = {
    "target": {"managed": {}},
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
    "thresholds": [{"latency": {"step": "clone.advertise", "percentile": 50, "below": "1s"}}],
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

WHOLE = {
    "small": SMALL,
    "managed-steps": MANAGED_STEPS,
    "external-hold": EXTERNAL_HOLD,
    "locustfile": LOCUSTFILE,
    "managed-arrivals": MANAGED_ARRIVALS,
    "external-users": EXTERNAL_USERS,
    "external-burst": EXTERNAL_BURST,
    **SEARCHES,
    "relative": RELATIVE,
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

_HOLD = EXTERNAL_HOLD["load"]["hold"]


_SEARCH = SEARCH_ARRIVALS["load"]


def _search_upside_down(spec: Spec, kind: str) -> Bad:
    """Return the search with its least amount above its most."""
    most = spec["load"]["capacity"][kind]["max"]
    return bad(f"load.capacity.{kind}.min", int(most) + 1, f"spec.load.capacity.{kind}.max", "less than min", spec)


def _setting(library: str, name: str, value: Any, says: str = "") -> Bad:
    return Bad(changed(SMALL, "client", {"library": library, name: value}), f"spec.client.{name}", says)


def _step(kind: str, step: Spec, field: str) -> Bad:
    return Bad(_steps({kind: step}), f"spec.scenario.steps[0].{kind}.{field}")


def _repository(path: str) -> Spec:
    return {"path": path, "commits": 1, "size": 1}


def _fixtures(fixtures: Spec) -> Bad:
    place = "target.managed.fixtures"
    return bad(place, {"repositories": [_repository("r")], **fixtures}, f"spec.{place}.repositories")


BAD: dict[str, Bad] = {
    "no-target": Bad(without(SMALL, "target"), "spec.target"),
    "no-scenario": Bad(without(SMALL, "scenario"), "spec.scenario"),
    "no-load": Bad(without(SMALL, "load"), "spec.load"),
    "neither-target": bad("target", {}, says="exactly one of managed and external must be set"),
    "both-targets": bad("target", {"managed": {}, "external": _EXTERNAL}, says="exactly one of managed and external"),
    "no-load-model": bad("load", {}, says="exactly one of users, arrivals, burst, hold and capacity must be set"),
    "two-load-models": bad(
        "load", {**SMALL["load"], "burst": {"connections": 1}}, says="exactly one of users, arrivals, burst, hold and"
    ),
    "load-beside-a-search": bad(
        "load", {**SMALL["load"], **_SEARCH}, says="exactly one of users, arrivals, burst, hold"
    ),
    "search-of-nothing": bad(
        "load", {"capacity": {}}, "spec.load.capacity", "exactly one of users, arrivals, burst and hold must be set"
    ),
    "search-of-two-kinds": bad(
        "load.capacity.burst", {"min": 1, "max": 2}, "spec.load.capacity", "exactly one of", base=SEARCH_ARRIVALS
    ),
    "search-from-zero": bad("load.capacity.arrivals.min", 0, base=SEARCH_ARRIVALS),
    "search-without-an-end": bad("load.capacity.arrivals.max", None, base=SEARCH_ARRIVALS),
    "search-for-half-a-user": bad("load.capacity.users.min", 0.5, base=SEARCH_USERS),
    "search-with-min-above-max": _search_upside_down(SEARCH_ARRIVALS, "arrivals"),
    "search-for-users-with-min-above-max": _search_upside_down(SEARCH_USERS, "users"),
    "search-for-a-burst-with-min-above-max": _search_upside_down(SEARCH_BURST, "burst"),
    "search-for-sessions-with-min-above-max": _search_upside_down(SEARCH_HOLD, "hold"),
    "search-for-sessions-without-a-login-rate": bad("load.capacity.hold.loginRate", None, base=SEARCH_HOLD),
    "search-for-sessions-that-never-log-in": bad("load.capacity.hold.loginRate", 0, base=SEARCH_HOLD),
    "search-with-stages": bad("load.capacity.arrivals.stages", [], base=SEARCH_ARRIVALS),
    "precision-of-zero": bad("load.capacity.precision", "0%", base=SEARCH_ARRIVALS),
    "precision-that-is-too-fine": bad("load.capacity.precision", "0.09%", base=SEARCH_ARRIVALS),
    "precision-that-says-nothing": bad("load.capacity.precision", "50.1%", base=SEARCH_ARRIVALS),
    "precision-as-a-fraction": bad("load.capacity.precision", 0.05, base=SEARCH_ARRIVALS),
    "confirmed-less-than-never": bad("load.capacity.confirm", -1, base=SEARCH_ARRIVALS),
    "confirmed-without-end": bad("load.capacity.confirm", 6, base=SEARCH_ARRIVALS),
    "confirmed-with-a-point": bad("load.capacity.confirm", 2.0, "spec", base=SEARCH_ARRIVALS),
    "search-without-thresholds": bad("thresholds", [], base=SEARCH_USERS, says="load.capacity needs what each trial"),
    "search-with-null-for-thresholds": bad(
        "thresholds", None, base=SEARCH_USERS, says="load.capacity needs what each trial"
    ),
    "search-by-its-own-result-only": bad(
        "thresholds", [{"capacity": {"above": 1}}], base=SEARCH_USERS, says="load.capacity needs what each trial"
    ),
    "search-by-a-baseline-only": bad(
        "thresholds", [{"capacity": {"within": "5%"}}], base=SEARCH_ARRIVALS, says="load.capacity needs what each trial"
    ),
    "search-with-a-relative-latency": bad(
        "thresholds.0.latency",
        {"step": "total", "percentile": 50, "within": "5%"},
        "spec.thresholds",
        "use capacity.within",
        base=SEARCH_ARRIVALS,
    ),
    "search-with-a-relative-throughput": bad(
        "thresholds.0", {"throughput": {"within": "5%"}}, "spec.thresholds", "use capacity.within", base=SEARCH_ARRIVALS
    ),
    "capacity-of-an-ordinary-load": Bad(
        _thresholds({"capacity": {"above": 1}}), "spec.thresholds", "capacity is for load.capacity only"
    ),
    "relative-capacity-of-an-ordinary-load": bad(
        "thresholds.0",
        {"capacity": {"within": "5%"}},
        "spec.thresholds",
        "capacity is for load.capacity",
        base=RELATIVE,
    ),
    "threshold-within-nothing": bad("baseline", None, base=RELATIVE, says="thresholds with within"),
    "capacity-within-nothing": bad("baseline", None, base=SEARCH_ARRIVALS, says="thresholds with within"),
    "baseline-for-nothing": bad("baseline", {"lastPassed": True}, says="thresholds with within"),
    "baseline-of-nothing": bad("baseline", {}, base=RELATIVE, says="exactly one of testRef and lastPassed must be set"),
    "baseline-of-two": bad("baseline.lastPassed", value=True, field="spec.baseline", base=RELATIVE),
    "baseline-that-did-not-pass": bad("baseline", {"lastPassed": False}, "spec.baseline.lastPassed", base=RELATIVE),
    "baseline-without-a-name": bad("baseline", {"testRef": {}}, "spec.baseline.testRef.name", base=RELATIVE),
    "baseline-of-an-impossible-name": bad("baseline.testRef.name", "Week", base=RELATIVE),
    "latency-below-and-within": bad(
        "thresholds.0.latency.below", "1s", "spec.thresholds[0].latency", "exactly one of below and within", RELATIVE
    ),
    "throughput-above-and-within": bad(
        "thresholds.1.throughput.above", 1, "spec.thresholds[1].throughput", "exactly one of above and", RELATIVE
    ),
    "throughput-of-nothing": Bad(_thresholds({"throughput": {}}), "spec.thresholds[0].throughput", "above and within"),
    "capacity-of-nothing": bad("thresholds.2.capacity", {}, "spec.thresholds[2].capacity", base=SEARCH_ARRIVALS),
    "error-rate-within": Bad(_thresholds({"errorRate": {"within": "5%"}}), "spec.thresholds[0].errorRate"),
    "throughput-within-all-of-it": bad(
        "thresholds.1.throughput.within", "100%", "spec.thresholds[1].throughput.within", base=RELATIVE
    ),
    "latency-within-zero": bad("thresholds.0.latency.within", "0%", "spec.thresholds[0].latency.within", base=RELATIVE),
    "relative-threshold-on-what-is-not-measured": bad(
        "thresholds.0.latency.step", "uptime.exec", "spec.thresholds", "latency.step", RELATIVE
    ),
    "relative-threshold-on-a-part-of-openssh": Bad(
        changed(changed(RELATIVE, "thresholds.0.latency.step", "exec"), "client.library", "openssh"),
        "spec.thresholds",
        "cannot be told apart",
    ),
    "search-for-arrivals-with-sessions-of-users": bad(
        "scenario.sessionReuse", "user", base=SEARCH_ARRIVALS, says="load.users only"
    ),
    "openssh-that-asks-for-a-sign-of-life-in-a-search": Bad(
        changed(SEARCH_HOLD, "client.library", "openssh"), "spec.load", "keepAlive"
    ),
    # 120 s for the start, 90 s for the end, and the trials
    "deadline-before-both-bounds-are-confirmed": bad(
        "deadline", "337999ms", base=SEARCH_ARRIVALS, says="90 s for the end"
    ),
    "deadline-before-both-bounds-of-users": bad("deadline", "359s", base=SEARCH_USERS, says="90 s for the end"),
    "deadline-before-both-bounds-of-bursts": bad("deadline", "279s", base=SEARCH_BURST, says="90 s for the end"),
    "deadline-before-both-bounds-of-sessions": bad("deadline", "629s", base=SEARCH_HOLD, says="90 s for the end"),
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
    "extra-directive-that-trusts-another-authority": _sshd(
        "extraConfig", {"TrustedUserCAKeys": "/x"}, "TrustedUserCAKeys is not for extraConfig"
    ),
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
    "password-for-a-managed-target-by-questions": bad("client.auth", "keyboard-interactive", says="publickey"),
    "unknown-library": bad("client.library", "libssh"),
    "unknown-auth": bad("client.auth", "gssapi-with-mic"),
    "encrypted-key-of-a-password": bad("target.external.encryptedKey", value=True, base=EXTERNAL_USERS),
    "encrypted-key-of-a-jump-hosts-password": bad(
        "via.0.encryptedKey", value=True, field="spec.via[0].encryptedKey", base=EXTERNAL_HOLD
    ),
    "jump-host-without-a-user": bad("via", [{"host": "a"}], "spec.via[0].user", base=EXTERNAL_HOLD),
    "jump-host-without-host-keys": bad(
        "via.0.knownHostsSecretRef", None, "spec.via[0].knownHostsSecretRef", base=EXTERNAL_HOLD
    ),
    "jump-host-of-an-empty-label": bad("via.0.host", "a..b", "spec.via[0].host", base=EXTERNAL_HOLD),
    "too-many-jump-hosts": bad("via", EXTERNAL_HOLD["via"] * 3, base=EXTERNAL_HOLD),
    "control-master-of-another-library": bad("client.controlMaster", value=True),
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
    "window-of-zero": bad("client.windowSize", 0),
    "window-of-4-gibibytes": bad("client.windowSize", "4Gi", says="from 32Ki to 1Gi"),
    "window-in-words": bad("client.windowSize", "large"),
    "window-of-openssh": _setting("openssh", "windowSize", "1Mi"),
    "packet-of-openssh": _setting("openssh", "packetSize", "32Ki"),
    "read-buffer-of-openssh": _setting("openssh", "readBufferSize", "32Ki"),
    "read-buffer-of-asyncssh": _setting("asyncssh", "readBufferSize", "32Ki"),
    "window-for-sftp-of-ssh2-python": bad("client.windowSize", "1Mi", base=_steps({"sftpStat": {"path": "a"}})),
    "packet-for-sftp-of-ssh2-python": bad("client.packetSize", "32Ki", base=_steps({"sftpRead": {"path": "a"}})),
    "packet-that-libssh2-would-not-take": _setting("ssh2-python", "packetSize", 32769, "32Ki"),
    "read-buffer-beyond-libssh2": _setting("ssh2-python", "readBufferSize", "17Mi", "16Mi"),
    "sftp-read-beyond-libssh2": _setting("ssh2-python", "sftpReadSize", "17Mi", "16Mi"),
    "sftp-write-beyond-libssh2": _setting("ssh2-python", "sftpWriteSize", "17Mi", "16Mi"),
    "sftp-read-beyond-paramiko": _setting("paramiko", "sftpReadSize", "256Ki", "255Ki"),
    "rekey-limit-of-ssh2-python": _setting("ssh2-python", "rekeyLimit", "1Gi"),
    "packet-that-paramiko-would-enlarge": _setting("paramiko", "packetSize", 4095, "4Ki"),
    "packet-above-a-mebibyte": _setting("asyncssh", "packetSize", "2Mi"),
    "rekey-limit-of-zero": _setting("paramiko", "rekeyLimit", 0),
    "sftp-read-of-zero": bad("client.sftpReadSize", 0),
    "sftp-write-above-64-mebibytes": bad("client.sftpWriteSize", "65Mi"),
    "read-buffer-below-a-kibibyte": bad("client.readBufferSize", 1023),
    "unknown-session-reuse": bad("scenario.sessionReuse", "worker"),
    "session-of-a-user-without-users": bad("scenario.sessionReuse", "user", says="load.users"),
    "pool-without-its-size": bad("scenario.sessionReuse", "pool", "spec.scenario.poolSize"),
    "pool-size-without-a-pool": bad("scenario.poolSize", 5),
    "pool-of-fewer-sessions-than-processes": bad("scenario.poolSize", 7, base=EXTERNAL_HOLD, says="worker process"),
    "pool-size-with-a-point": bad("scenario.poolSize", 8.0, "spec", base=EXTERNAL_HOLD),
    "workers-of-a-pool-with-a-point": bad("workers.replicas", 4.0, "spec", base=EXTERNAL_HOLD),
    "steps-beside-a-locustfile": bad(
        "scenario.locustfile", {"configMapRef": {"name": "a"}}, "spec.scenario", "exactly one of steps and locustfile"
    ),
    "neither-steps-nor-a-locustfile": bad("scenario", {}, says="exactly one of steps and locustfile"),
    "locustfile-at-a-path": bad("scenario.locustfile.key", "../locustfile.py", base=LOCUSTFILE),
    "locustfile-of-no-config-map": bad("scenario.locustfile.configMapRef", None, base=LOCUSTFILE),
    "threshold-on-a-third-jump-host-of-two": Bad(
        changed(EXTERNAL_HOLD, "thresholds.0.latency.step", "via3.login"), "spec.thresholds", "latency.step"
    ),
    "threshold-on-held-sessions-where-none-are": Bad(
        _thresholds({"latency": {**_LATENCY, "step": "held.login"}}), "spec.thresholds", "latency.step"
    ),
    "threshold-on-another-steps-timing": Bad(
        changed(MANAGED_STEPS, "thresholds.0.latency.step", "clone.subsystem"), "spec.thresholds", "latency.step"
    ),
    "threshold-on-a-part-of-openssh": Bad(
        changed(_thresholds({"latency": {**_LATENCY, "step": "exec"}}), "client.library", "openssh"),
        "spec.thresholds",
        "the library openssh",
    ),
    "threshold-on-a-part-of-openssh-by-a-locustfile": Bad(
        changed(LOCUSTFILE, "thresholds.0.latency.step", "browse.read"), "spec.thresholds", "the library openssh"
    ),
    "threshold-on-no-name-of-a-locustfile": Bad(
        changed(LOCUSTFILE, "thresholds.0.latency.step", "browse sftpList"), "spec.thresholds", "latency.step"
    ),
    "no-processes": bad("workers.processesPerPod", 0),
    "too-many-processes": bad("workers.processesPerPod", 65),
    "hold-of-nothing": bad("load.hold.sessions", 0, base=EXTERNAL_HOLD),
    "hold-without-a-ramp": bad("load.hold.rampUp", None, base=EXTERNAL_HOLD),
    "hold-without-probes": bad("load.hold.probeRate", 0, base=EXTERNAL_HOLD),
    "keep-alive-once-a-day": bad("load.hold.keepAlive", "24h", base=EXTERNAL_HOLD),
    "deadline-before-the-end-of-a-hold": bad("deadline", "304s", base=EXTERNAL_HOLD, says="startTimeout, warmUp"),
    "step-of-nothing": Bad(_steps({}), "spec.scenario.steps[0]", "exactly one of exec, sftpRead"),
    "step-of-both": Bad(_steps({**_EXEC, "sleep": "1s"}), "spec.scenario.steps[0]", "gitUploadPack and sleep must be"),
    "step-of-two-kinds": Bad(
        _steps({"sftpStat": {"path": "a"}, "sftpRemove": {"path": "a"}}), "spec.scenario.steps[0]", "exactly one of"
    ),
    "exec-steps-without-names": Bad(_steps(_EXEC, _NAMED), "spec.scenario.steps", "must have a name"),
    "exec-steps-of-one-name": Bad(_steps(_NAMED, _NAMED), "spec.scenario.steps", "must differ"),
    "steps-of-two-kinds-without-names": Bad(
        _steps(_NAMED, {"sftpStat": {"path": "a"}}), "spec.scenario.steps", "must have a name"
    ),
    "steps-of-two-kinds-with-one-name": Bad(
        _steps(_NAMED, {"gitUploadPack": {"name": "uptime", "repository": "a"}}), "spec.scenario.steps", "must differ"
    ),
    "path-of-nothing": _step("sftpRead", {"path": ""}, "path"),
    "path-with-a-line-break": _step("scpWrite", {"path": "a\nb", "size": 1}, "path"),
    "path-that-is-missing": _step("sftpRemove", {}, "path"),
    "rename-to-nowhere": _step("sftpRename", {"path": "a"}, "to"),
    "digest-in-capitals": _step("sftpRead", {"path": "a", "expectSha256": _SHA256.upper()}, "expectSha256"),
    "digest-that-is-cut": _step("scpRead", {"path": "a", "expectSha256": _SHA256[1:]}, "expectSha256"),
    "size-of-no-unit": _step("sftpRead", {"path": "a", "expectSize": "1KB"}, "expectSize"),
    "size-below-zero": _step("sftpWrite", {"path": "a", "size": -1}, "size"),
    "size-that-is-too-large": _step("scpWrite", {"path": "a", "size": "101Gi"}, "size"),
    "unknown-verification": _step("sftpWrite", {"path": "a", "size": 1, "verify": "crc"}, "verify"),
    "entries-below-zero": _step("sftpList", {"path": "a", "expectEntries": -1}, "expectEntries"),
    "shell-that-says-nothing": _step("shell", {"send": "", "expect": "a"}, "send"),
    "shell-that-waits-for-nothing": _step("shell", {"send": "a"}, "expect"),
    "shell-without-a-turn": _step("shell", {"send": "a", "expect": "a", "repeat": 0}, "repeat"),
    "forward-to-port-zero": _step("forward", {"host": "a", "port": 0}, "port"),
    "forward-to-an-empty-label": _step("forward", {"host": "a..b", "port": 1}, "host"),
    "repository-without-commits": bad(
        "target.managed.fixtures.repositories",
        [{"path": "a", "commits": 0, "size": 1}],
        "spec.target.managed.fixtures.repositories[0].commits",
    ),
    "repository-of-no-size": bad(
        "target.managed.fixtures.repositories",
        [{"path": "a", "commits": 1, "size": 0}],
        "spec.target.managed.fixtures.repositories[0].size",
    ),
    "repository-in-a-directorys-place": _fixtures({"directories": [{"path": "r", "files": 1}]}),
    "file-inside-a-repository": _fixtures({"files": [{"path": "r/HEAD", "size": 1}]}),
    "repository-inside-a-file": _fixtures({"repositories": [_repository("a/r")], "files": [{"path": "a", "size": 1}]}),
    "repository-inside-a-repository": _fixtures({"repositories": [_repository("r"), _repository("r/s")]}),
    "spare-room-without-end": bad("target.managed.fixtures.spare", "101Gi"),
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
    "threshold-of-nothing": Bad(
        _thresholds({}), "spec.thresholds[0]", "exactly one of latency, errorRate, throughput and"
    ),
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
    "trigger-without-a-name": bad("triggers", "10.2p1"),
    "trigger-as-number": bad("triggers.server", 10.2),
    "trigger-of-254-characters": bad("triggers.server", "x" * 254),
    "twenty-one-triggers": bad("triggers", {f"trigger-{number}": "" for number in range(21)}),
    "amount-that-is-negative": bad("workers.resources.requests.cpu", -1, "spec.workers.resources.requests"),
    "amount-of-no-unit": bad("workers.resources.limits.memory", "1GB"),
    "claims-of-resources": bad("workers.resources.claims", []),
    "toleration-of-an-unknown-effect": bad(
        "workers.tolerations", [{"effect": "Never"}], "spec.workers.tolerations[0].effect"
    ),
    "image-with-a-space": bad("workers.image", "a b"),
    "what-is-not-there-yet-rootful": bad("target.managed.rootful", value=True),
    "what-is-not-there-yet-replicas": bad("target.managed.replicas", 2),
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
    "no-jump-host": changed(SMALL, "via", []),
    "triggers-of-any-kind": changed(SMALL, "triggers", {"server": "10.2p1, é", "a b/c": "", "": "x" * 253}),
    "deadline-to-the-second-with-a-hold": changed(EXTERNAL_HOLD, "deadline", "305s"),
    "deadline-to-the-millisecond-with-a-search": changed(SEARCH_ARRIVALS, "deadline", "338s"),
    "deadline-to-the-second-with-a-search-for-users": changed(SEARCH_USERS, "deadline", "360s"),
    "deadline-to-the-second-with-a-search-for-a-burst": changed(SEARCH_BURST, "deadline", "280s"),
    "deadline-to-the-second-with-a-search-for-sessions": changed(SEARCH_HOLD, "deadline", "630s"),
    "search-with-thirds-of-a-second": changed(
        changed(SEARCH_HOLD, "load.capacity.hold.loginRate", 30), "deadline", "619998ms"
    ),
    "search-at-one-amount": changed(SEARCH_ARRIVALS, "load.capacity.arrivals.max", 10),
    "search-as-fine-as-it-goes": changed(SEARCH_ARRIVALS, "load.capacity.precision", "0.1%"),
    "search-as-coarse-as-it-goes": changed(SEARCH_ARRIVALS, "load.capacity.precision", "50%"),
    "search-by-throughput": changed(SEARCH_USERS, "thresholds", [{"throughput": {"above": 0}}]),
    "search-with-a-locustfile": {
        **SEARCH_USERS,
        "scenario": {**LOCUSTFILE["scenario"], "sessionReuse": "user"},
        "client": {"library": "paramiko"},
    },
    "search-for-sessions-of-openssh": changed(
        changed(SEARCH_HOLD, "client.library", "openssh"), "load.capacity.hold.keepAlive", "0s"
    ),
    "latency-within-ten-times": changed(RELATIVE, "thresholds.0.latency.within", "900%"),
    "last-that-passed": changed(RELATIVE, "baseline", {"lastPassed": True, "testRef": None}),
    "certificate-for-a-managed-target": changed(SMALL, "client.auth", "certificate"),
    "agent-for-a-managed-target": changed(SMALL, "client.auth", "agent"),
    "window-of-a-gibibyte": changed(SMALL, "client.windowSize", "1Gi"),
    "window-of-32-kibibytes": changed(SMALL, "client.windowSize", 32768),
    "window-for-scp-of-ssh2-python": changed(_steps({"scpRead": {"path": "a"}}), "client.windowSize", "1Mi"),
    "window-for-sftp-of-paramiko": changed(
        _steps({"sftpRead": {"path": "a"}}), "client", {"library": "paramiko", "windowSize": "1Mi"}
    ),
    "the-largest-packet-of-ssh2-python": changed(SMALL, "client.packetSize", "32Ki"),
    "the-smallest-packet-of-paramiko": changed(SMALL, "client", {"library": "paramiko", "packetSize": "4Ki"}),
    "the-largest-sizes-of-asyncssh": changed(
        SMALL, "client", {"library": "asyncssh", "packetSize": "1Mi", "sftpReadSize": "64Mi", "sftpWriteSize": "64Mi"}
    ),
    "slow-acknowledgements-of-openssh": changed(SMALL, "client", {"library": "openssh", "quickAck": False}),
    "threshold-on-a-sum-of-openssh": changed(
        _thresholds({"latency": {**_LATENCY, "step": "command"}}), "client.library", "openssh"
    ),
    "openssh-with-two-steps": changed(
        _steps(_NAMED, {"sftpRead": {"name": "b", "path": "a"}}), "client", {"library": "openssh", "auth": "agent"}
    ),
    "openssh-with-a-pool": {
        **changed(SMALL, "client.library", "openssh"),
        "scenario": {"steps": [_EXEC], "sessionReuse": "pool", "poolSize": 1},
        "workers": {"replicas": 1},
    },
    "openssh-that-holds": changed(
        changed(SMALL, "client.library", "openssh"), "load", {"hold": {**_HOLD, "keepAlive": "0s"}}
    ),
    "locustfile-under-the-usual-key": changed(LOCUSTFILE, "scenario.locustfile", {"configMapRef": {"name": "a"}}),
    "steps-as-null-beside-a-locustfile": changed(LOCUSTFILE, "scenario.steps", None),
    "repository-in-a-directory": changed(
        SMALL,
        "target.managed.fixtures",
        {"directories": [{"path": "a", "files": 1}], "repositories": [_repository("a/r")]},
    ),
    "no-spare-room": changed(SMALL, "target.managed.fixtures.spare", 0),
    "shell-with-control-characters": _steps({"shell": {"send": "\x03", "expect": "\x1b[0m"}}),
    "forward-of-nothing": _steps({"forward": {"host": "2001:db8::1", "port": 22}}),
    "forever-after": changed(SMALL, "ttlAfterFinished", {}),
    "the-loosest-toleration": changed(SMALL, "workers.tolerations", [{"operator": "Exists"}]),
}
