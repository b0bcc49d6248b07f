"""What floods of connections cost each HTTP port. Writes docs/measurements/floods.*."""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import socket_floods
from flooded_ports import PORTS, TLS, flooded_port
from own_cgroups import own_cgroups
from record import add_folder, keep, machine, table

_FLOODERS = 2
_CONNECTIONS = 400  # of each process that floods, at any time
_MEMORY_BYTES = 256 * 1024 * 1024
_LOOK_EVERY_S = 0.1
_GIVE_UP_S = 30.0
_TITLE = "# What floods of connections cost each HTTP port"
_WHAT = f"""Each port is served by the product's own functions in a process of its own, in a cgroup with
{_MEMORY_BYTES // 2**20} MiB. {_FLOODERS} processes open connections to it from eight addresses of loopback, up to
{_CONNECTIONS} each at any time, of every bad kind in turn: silent ones, unfinished and too large heads, heads of very
many fields, pipelined requests, bodies without end, answers that nobody reads; with TLS where the port has it. *At
rest* and *most* are the process's memory (`VmHWM`) before and in the flood. *Answer* is the time of a request by a
client from another address in the flood, with its connection and TLS handshake: what a probe, Prometheus or a person
waits. Flooders, server and client share this machine's CPUs. `make bench-hostile` repeats the measurement; the figures
behind the table are in `floods.json`."""
_HEAD = ("port", "connections/s", "at rest, MB", "most, MB", "answer, median, s", "longest, s", "not answered")


def main() -> None:
    """Measure, print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each port is flooded")
    parser.add_argument("--ports", nargs="+", choices=PORTS, default=list(PORTS))
    add_folder(parser)
    options = parser.parse_args()
    where = machine("aiohttp", "uvicorn", "gevent")
    figures = [_measure(name, options.seconds) for name in options.ports]
    shown = table(_HEAD, map(_row, figures))
    keep(options.out / "floods", where, [_TITLE, _WHAT, shown], figures)
    print(shown)  # noqa: T201 - its output is what it is for


def _row(of: Mapping[str, Any]) -> Sequence[str]:
    return (
        of["port"],
        f"{of['connections'] / of['seconds']:.0f}",
        f"{of['rest_bytes'] / 1e6:.0f}",
        f"{of['most_bytes'] / 1e6:.0f}",
        f"{statistics.median(of['answers_s']):.3f}",
        f"{max(of['answers_s']):.3f}",
        f"{of['unanswered']} of {of['unanswered'] + len(of['answers_s'])}",
    )


def _measure(name: str, seconds: float) -> dict[str, Any]:
    with (
        own_cgroups(cpu_cores=2, memory_bytes=_MEMORY_BYTES, processes=200) as limits,
        flooded_port(name) as port,
    ):
        limits.put(port.pid)
        path = PORTS[name][1]
        port.get(path)
        rest_bytes = port.peak_bytes()
        kind = "tls" if name in TLS else "plain"
        command = [sys.executable, socket_floods.__file__, "127.0.0.1", str(port.port), kind, str(_CONNECTIONS)]
        flooders = [_flooder(command) for _ in range(_FLOODERS)]
        begun_s = time.monotonic()
        answers_s, unanswered = [], 0
        while time.monotonic() < begun_s + seconds:
            asked_s = time.monotonic()
            try:
                assert port.get(path)[0] == 200
            except OSError:
                unanswered += 1
            else:
                answers_s.append(time.monotonic() - asked_s)
            time.sleep(_LOOK_EVERY_S)
        took_s = time.monotonic() - begun_s
        connections = sum(int(flooder.communicate("end", _GIVE_UP_S)[0]) for flooder in flooders)
        return {
            "port": name,
            "seconds": took_s,
            "connections": connections,
            "rest_bytes": rest_bytes,
            "most_bytes": port.peak_bytes(),
            "answers_s": answers_s,
            "unanswered": unanswered,
        }


def _flooder(command: Sequence[str]) -> subprocess.Popen[str]:
    flooder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert flooder.stdout is not None
    flooder.stdout.readline()
    return flooder


if __name__ == "__main__":
    main()
