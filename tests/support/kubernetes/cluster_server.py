"""A server in the cluster that sshload did not make: sshd of the target's image behind a Service of its own.

A port of a service in the cluster, reached from this machine.
"""

import base64
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from live_cluster import LiveCluster

OWN_SERVER = "own-server"


def key_pair(folder: Path, name: str, passphrase: str = "") -> tuple[str, str]:
    """Return a new private key for ssh, and its public half; its files stay in the folder."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(folder / name)]
    subprocess.run(command, check=True)
    return (folder / name).read_text(), (folder / f"{name}.pub").read_text()


def secret(name: str, **data: str) -> dict[str, Any]:
    """Return a Secret with these texts."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": encoded}


def server(image: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the Service and the Pod of a server, whose keys are in the Secret server-keys."""
    start = (
        "mkdir -m 700 /home/load /home/load/.ssh; cp /keys/authorized_keys /home/load/.ssh/;"
        "cp /keys/host /tmp/host; chmod 600 /tmp/host;"
        "exec /usr/sbin/sshd -D -e -p 2222 -o HostKey=/tmp/host -o PidFile=none -o UsePAM=no"
        " -o PerSourcePenalties=no -o MaxStartups=100 -f /dev/null"
    )
    return (
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": OWN_SERVER},
            "spec": {"selector": {"app": OWN_SERVER}, "ports": [{"port": 2222}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": OWN_SERVER, "labels": {"app": OWN_SERVER}},
            "spec": {
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 10001,
                    "runAsGroup": 10001,
                    "fsGroup": 10001,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {
                        "name": "sshd",
                        "image": image,
                        "command": ["sh", "-c", start],
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        "volumeMounts": [
                            {"name": "keys", "mountPath": "/keys"},
                            {"name": "home", "mountPath": "/home"},
                            {"name": "tmp", "mountPath": "/tmp"},
                        ],
                    }
                ],
                "volumes": [
                    {"name": "keys", "secret": {"secretName": "server-keys"}},
                    {"name": "home", "emptyDir": {}},
                    {"name": "tmp", "emptyDir": {}},
                ],
            },
        },
    )


_FORWARDED: Final = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) ->")


@contextmanager
def forwarded_port(cluster: LiveCluster, service: str, port: int) -> Iterator[int]:
    """Forward a port of this machine to one of a service until the block ends, and return it."""
    command = cluster.command("port-forward", f"service/{service}", f":{port}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = _FORWARDED.match(line)
            assert found, line + process.stdout.read()
            yield int(found[1])
        finally:
            process.terminate()
