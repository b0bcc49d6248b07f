"""A port of a service in the cluster, reached from this machine."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from live_cluster import LiveCluster

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
