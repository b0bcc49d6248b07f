"""What floods of connections from pods cost each port of an installation. Writes docs/measurements/floods.*.

It installs the chart in a namespace of its own on the cluster in KUBECONFIG, and takes it away again.
"""

import argparse
import base64
import json
import os
import secrets
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import http_asker
import socket_floods
import yaml
from chart_release import Release, create_namespaces, delete_namespaces, image, required
from cluster_server import secret
from gateway_process import AUDIENCE, ISSUER, TokenIssuer
from live_cluster import LiveCluster, lone_worker_test
from record import add_folder, keep, machine, table
from running_target import wait_until
from sshload_contract.quantities import size_bytes

_FLOODERS = 3
_GIVE_UP_S = 60.0
_LOOK_EVERY_S = 0.5
_RUN = "flooded"
_PROGRAMS = "programs"
_EVERY_KIND = "every kind"
_HALF_HEADS = "half a head"


@dataclass(frozen=True, slots=True)
class _Port:
    """A port of a pod: the labels of the pod, and a path at which the port answers, if it speaks HTTP."""

    pod: str
    number: int
    path: str = ""
    tls: bool = False
    connections: int = 400
    """Of each pod that floods, at any time."""

    def floods(self) -> Mapping[str, Sequence[str]]:
        """Return the floods, each as kinds of connections."""
        if self.path:
            return {_EVERY_KIND: list(socket_floods.PLAIN), _HALF_HEADS: [_HALF_HEADS]}
        return {_EVERY_KIND: list(socket_floods.ZEROMQ), "most of a frame": ["most of a frame"]}


def _of_release(component: str) -> str:
    return f"app.kubernetes.io/component={component}"


def _of_run(role: str) -> str:
    return f"sshload.dev/role={role}"


PORTS: Mapping[str, _Port] = {
    "operator, metrics": _Port(_of_release("operator"), 9100, "/metrics"),
    "operator, probes": _Port(_of_release("operator"), 8080, "/healthz"),
    "operator, pages": _Port(_of_release("operator"), 8443, "/ui", tls=True),
    "gateway": _Port(_of_release("gateway"), 8080, "/openapi.json", connections=1_200),
    "gateway, management": _Port(_of_release("gateway"), 9100, "/healthz"),
    "master, metrics": _Port(_of_run("master"), 9201, "/healthz"),
    "master, workers": _Port(_of_run("master"), 5557, connections=1_200),
    "target, counts": _Port(_of_run("target"), 9200, "/healthz"),
    "proxy, counts": _Port(_of_run("proxy"), 9202, "/healthz"),
}
_NONE = "none"
_TITLE = "# What floods of connections from pods cost each port"
_WHAT = f"""An installation by the chart, with its memory limits, on a real cluster whose network does not enforce
NetworkPolicies: elsewhere only those pods reach a port that a policy names. A test runs at a managed target behind a
proxy. {_FLOODERS} pods, with half a CPU each, open connections to one port: of *every kind* in turn (silent ones,
unfinished and too large heads, heads of very many fields, pipelined requests, bodies without end, answers that nobody
reads; at the master's port for workers silent ones, greetings, unfinished and too large frames), or of one kind alone
that the port waits for, as many as it takes. *Held* is the most connections that the container's kernel had at the
port: those that it holds, and those that wait to be accepted or closed. *At rest* and *most* are the container's
anonymous memory by its cgroup, read every {_LOOK_EVERY_S} s, without the kernel's buffers of sockets. *Answer* is the
time of a request by another pod in the flood, with its connection and TLS handshake. *First status* is the time from
the creation of a suspended test in another namespace until it has a status. Pods, control plane and whatever else this
machine does share its CPUs. `make bench WHAT=floods` repeats the measurement; the figures behind the table are in
`floods.json`."""
_HEAD = (
    "port", "flood", "connections/s", "held", "at rest, MB", "most, MB", "limit, MB", "answer, median, s", "longest, s",
    "not answered", "first status, median, s", "longest, s",
)  # fmt: skip


def main() -> None:
    """Measure, print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each flood lasts")
    parser.add_argument("--ports", nargs="+", choices=PORTS, default=list(PORTS))
    add_folder(parser)
    options = parser.parse_args()
    where = {what: value for what, value in machine().items() if what != "Python"}  # which is that of the images
    with _installation() as bench:
        where |= {"Kubernetes": bench.kubernetes(), "images": required("SSHLOAD_IMAGE_TAG")}
        figures = [bench.measure(_NONE, _NONE, options.seconds)]
        figures += [
            bench.measure(name, flood, options.seconds) for name in options.ports for flood in PORTS[name].floods()
        ]
        end = bench.end()
    shown = table(_HEAD, map(_row, figures))
    keep(options.out / "floods", where, [_TITLE, _WHAT, shown, end], figures)
    print(shown, end, sep="\n\n")  # noqa: T201 - its output is what it is for


def _row(of: Mapping[str, Any]) -> Sequence[str]:
    statuses = [f"{statistics.median(of['first_status_s']):.2f}", f"{max(of['first_status_s']):.2f}"]
    if of["port"] == _NONE:
        return (_NONE, *["-"] * 9, *statuses)
    answers_s = of["answers_s"]
    asked = len(answers_s) + of["unanswered"]
    return (
        of["port"],
        of["flood"],
        f"{of['connections'] / of['seconds']:.0f}",
        str(of["held"]),
        f"{of['rest_bytes'] / 1e6:.0f}",
        f"{of['most_bytes'] / 1e6:.0f}",
        f"{of['limit_bytes'] / 1e6:.0f}" if of["limit_bytes"] else "none",
        f"{statistics.median(answers_s):.3f}" if answers_s else "-",
        f"{max(answers_s):.3f}" if answers_s else "-",
        f"{of['unanswered']} of {asked}" if asked else "-",
        *statuses,
    )


class _Bench:
    """An installation, a test that runs, pods that flood, and another namespace in which tests are created."""

    def __init__(self, own: LiveCluster, other: LiveCluster) -> None:
        self._own = own
        self._other = other
        self._restarts = self._count_restarts()

    def measure(self, name: str, flood: str, seconds: float) -> dict[str, Any]:
        """Flood a port, or none, and create tests meanwhile."""
        figures: dict[str, Any] = {"port": name, "flood": flood}
        if name == _NONE:
            return {**figures, "seconds": seconds, "first_status_s": list(self._first_statuses(seconds))}
        port = PORTS[name]
        pod = self._pod(port.pod)
        with ExitStack() as held:
            looks = held.enter_context(self._looks(pod, port, seconds))
            address = [pod["status"]["podIP"], str(port.number), "tls" if port.tls else "plain"]
            asker = self._in_pod("asker", http_asker, *address, port.path) if port.path else None
            wait_until(lambda: len(_connections(looks)) > 1, "looks at the container")
            rest_bytes = _memory(looks)[-1]
            words = [*address, str(port.connections), *port.floods()[flood]]
            flooders = [self._in_pod(f"flooder-{number}", socket_floods, *words) for number in range(_FLOODERS)]
            for flooder in flooders:
                assert flooder.stdout is not None
                assert flooder.stdout.readline() == "begins\n"
            begun_s = time.monotonic()
            first_status_s = list(self._first_statuses(seconds))
            took_s = time.monotonic() - begun_s
            most_bytes, most_held = max(_memory(looks)), max(_connections(looks))
            opened = sum(int(_end(flooder)) for flooder in flooders)
            answers = _end(asker).split() if asker is not None else []
        return {
            **figures,
            "seconds": took_s,
            "connections": opened,
            "held": most_held,
            "rest_bytes": rest_bytes,
            "most_bytes": most_bytes,
            "limit_bytes": _limit_bytes(pod),
            "answers_s": [float(answer) for answer in answers if answer != "none"],
            "unanswered": answers.count("none"),
            "first_status_s": first_status_s,
        }

    def kubernetes(self) -> str:
        """Return the version of Kubernetes."""
        version: str = json.loads(self._own.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
        return version

    def end(self) -> str:
        """Return what became of the pods and of the run; raises AssertionError where a flood ended one of them."""
        restarts = self._count_restarts() - self._restarts
        status = self._status()
        assert (restarts, status["phase"]) == (0, "Running"), f"{restarts} restarts: {json.dumps(status)[:2_000]}"
        progress = status["progress"]
        return (
            f"No container was restarted. The run went on through all floods: {progress['iterations']} iterations, of"
            f" which {progress['failures']} failed."
        )

    def _first_statuses(self, seconds: float) -> Iterator[float]:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            name = f"other-{secrets.token_hex(4)}"
            self._other.create(lone_worker_test(name, suspend=True))
            created_s = time.monotonic()
            self._other.wait(name, bool, "first status")
            yield time.monotonic() - created_s
            self._other.delete("sshloadtest", name)
            time.sleep(_LOOK_EVERY_S)

    @contextmanager
    def _looks(self, pod: Mapping[str, Any], port: _Port, seconds: float) -> Iterator[Path]:
        """Look at a container's memory and connections meanwhile; yield the file of what was seen."""
        rounds = int((seconds + _GIVE_UP_S) / _LOOK_EVERY_S)  # so that nothing remains if nobody ends it
        look = (
            f"for i in $(seq {rounds}); do"
            " cat /sys/fs/cgroup/memory.stat /sys/fs/cgroup/memory/memory.stat 2>/dev/null"
            " | grep -E '^(anon|total_rss) ' | head -n 1;"
            f" echo held $(cat /proc/net/tcp /proc/net/tcp6 | grep -cE ':{port.number:04X} [0-9A-F]+:[0-9A-F]+ 01 ');"
            f" sleep {_LOOK_EVERY_S}; done"
        )
        with tempfile.NamedTemporaryFile() as seen:
            looking = self._exec(pod["metadata"]["name"], "sh", "-c", look, stdout=seen)
            try:
                yield Path(seen.name)
            finally:
                looking.kill()
                looking.wait()

    def _in_pod(self, pod: str, program: Any, *words: str) -> subprocess.Popen[str]:
        return self._exec(pod, "python", f"/{_PROGRAMS}/{Path(program.__file__).name}", *words)

    def _exec(self, pod: str, *command: str, stdout: IO[bytes] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        words = self._own.command("exec", "-i", pod, "--", *command)
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=stdout, text=True)

    def _pod(self, labels: str) -> dict[str, Any]:
        (pod,) = self._own.labelled("pods", labels)
        return pod

    def _status(self) -> dict[str, Any]:
        return self._own.status(_RUN)

    def _count_restarts(self) -> int:
        pods = [self._pod(labels) for labels in {port.pod for port in PORTS.values()}]
        return sum(found["restartCount"] for pod in pods for found in pod["status"]["containerStatuses"])


def _end(process: subprocess.Popen[str]) -> str:
    return process.communicate("end\n", _GIVE_UP_S)[0]


def _memory(looks: Path) -> list[int]:
    lines = looks.read_text(encoding="ascii").splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith(("anon ", "total_rss "))]


def _connections(looks: Path) -> list[int]:
    return [int(line.split()[1]) for line in looks.read_text(encoding="ascii").splitlines() if line.startswith("held ")]


def _limit_bytes(pod: Mapping[str, Any]) -> int:
    """Return the memory limit of a pod's container, 0 if it has none."""
    limits = pod["spec"]["containers"][0].get("resources", {}).get("limits", {})
    return size_bytes(limits.get("memory", "0"))


@contextmanager
def _installation() -> Iterator[_Bench]:
    names = [f"floods-{secrets.token_hex(2)}", f"floods-{secrets.token_hex(2)}"]
    create_namespaces(*names)
    release = Release.in_namespace(names[0])
    own, other = release.cluster, Release.in_namespace(names[1]).cluster
    try:
        with tempfile.NamedTemporaryFile("w") as values:
            yaml.safe_dump(_values(own, names), values)
            values.flush()
            release.install("--values", values.name)
        own.apply(*_attackers(), lone_worker_test(_RUN, **_LONG))
        own.kubectl("wait", "pod", "-l", "app=attacker", "--for=condition=Ready", "--timeout=280s")
        own.running(_RUN)
        yield _Bench(own, other)
    finally:
        own.kubectl("delete", "sshloadtests", "--all", "--timeout=120s", check=False)
        release.uninstall()
        delete_namespaces(*names)


_LONG: Mapping[str, Any] = {
    "target": {"managed": {"proxy": {"kind": "haproxy"}}},
    "load": {"arrivals": {"stages": [{"rate": 2, "duration": "60m"}]}},
    "deadline": "80m",
}


def _values(cluster: LiveCluster, watched: Sequence[str]) -> dict[str, Any]:
    """Return the chart's values, after making the Secrets that they name."""
    issuer = TokenIssuer()
    cluster.apply(
        secret("sealing-keys", first=base64.b64encode(os.urandom(32)).decode()),
        secret("jwks", **{"jwks.json": issuer.jwks()}),
    )
    return {
        "namespaced": True,
        "watchNamespaces": list(watched),
        "ui": {"enabled": True},
        "gateway": {
            "enabled": True,
            "sealingKeys": {"secret": "sealing-keys", "active": "first"},
            "jwksSecret": "jwks",
            "persistence": {"enabled": False},
            "config": {
                "tokens": {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ["ES256"]},
                "destinations": {"allowed": [{"host": "bastion.example.com", "ports": [22]}]},
            },
        },
    }


def _attackers() -> Iterator[dict[str, Any]]:
    """Yield the pods that flood and ask, and the programs that they run."""
    files = {Path(str(one.__file__)).name: Path(str(one.__file__)).read_text() for one in (socket_floods, http_asker)}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _PROGRAMS}, "data": files}
    for name in ["asker", *(f"flooder-{number}" for number in range(_FLOODERS))]:
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "attacker"}},
            "spec": {
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 0,
                "securityContext": {
                    "runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}
                },
                "containers": [
                    {
                        "name": "main",
                        "image": image("worker"),
                        "command": ["sleep", "infinity"],
                        "resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": "500m", "memory": "512Mi"}},
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                        "volumeMounts": [{"name": _PROGRAMS, "mountPath": f"/{_PROGRAMS}"}],
                    }
                ],
                "volumes": [{"name": _PROGRAMS, "configMap": {"name": _PROGRAMS}}],
            },
        }  # fmt: skip


if __name__ == "__main__":
    main()
