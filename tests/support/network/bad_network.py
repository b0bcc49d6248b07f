"""A worker's side and a server's side, each a network namespace of its own, with a bad network between them.

Needs root: where namespaces cannot be made, it fails and says so.

What a network does to a run, and how the run has to end: the whole of `sshload run` at a real sshd far away.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from local_cli import Ended, start, wait_until, write_test
from lossy_link import FAR_ADDRESS, Passed, Weather
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Library
from sshload_contract.vocabulary import Outcome
from statuses import steps_of

_LINK = Path(__file__).with_name("lossy_link.py")


class BadNetwork:
    """The line and its two ends. `near` and `far` are the words before a command that make it run there."""

    def __init__(self, link: subprocess.Popen[str], near_pid: str, far_pid: str) -> None:
        self._link = link
        self.near = _inside(near_pid)
        self.far = _inside(far_pid)

    def change(self, weather: Weather) -> Passed:
        """Change what happens to packets from now on; return what has happened so far."""
        assert self._link.stdin is not None
        assert self._link.stdout is not None
        self._link.stdin.write(json.dumps(asdict(weather)) + "\n")
        self._link.stdin.flush()
        return Passed(**json.loads(self._link.stdout.readline()))


@contextmanager
def bad_network() -> Iterator[BadNetwork]:
    """Make both sides, with a good line for now; they and all that runs in them end with the block."""
    command: list[str | Path] = ["unshare", "--net", sys.executable, _LINK]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as link:
        assert link.stdin is not None
        assert link.stdout is not None
        assert link.stderr is not None
        pids = link.stdout.readline().split()
        if not pids:
            problem = "this machine makes no network namespaces with TUN devices, which needs root and /dev/net/tun: "
            raise AssertionError(problem + link.stderr.read())
        try:
            yield BadNetwork(link, *pids)
        finally:
            link.stdin.close()


@contextmanager
def far_server(network: BadNetwork, folder: Path, keys: Keys, directives: str = "") -> Iterator[SshServer]:
    """Run a real sshd on the far side."""
    with ssh_server(folder, keys, directives, address=FAR_ADDRESS, within=network.far) as server:
        yield server


def _inside(pid: str) -> Sequence[str]:
    return ("nsenter", f"--net=/proc/{pid}/ns/net", "--")


BRIEF, PATIENT = "2s", "60s"
"""The time limits of the parts that may end by theirs, and of all others: a server may wait for a CPU for seconds."""

_ROUND_TRIP_MS = 100.0
_OUTPUT_BYTES = 20_000
_LOAD = {"users": {"stages": [{"users": 4, "duration": "6s"}], "thinkTime": {"min": "100ms", "max": "200ms"}}}
_LIMITS = {
    Outcome.CONNECT_TIMEOUT: ("connect",),
    Outcome.BANNER_TIMEOUT: ("banner",),
    Outcome.KEX_TIMEOUT: ("kex",),
    Outcome.AUTH_TIMEOUT: ("auth",),
    Outcome.STEP_TIMEOUT: ("channel", "step"),
}
"""The time limits that end in each of these outcomes."""

_TIMEOUTS = frozenset(_LIMITS)


@dataclass(frozen=True)
class NetworkFault:
    """A weather that sets in once the load has begun, or `from_start`, and how iterations then end.

    Each of the outcomes `must` is seen, and none but those, `ok` and what `may` be. No step ends in less than
    `at_least_ms`.
    """

    weather: Weather
    must: frozenset[Outcome] = frozenset()
    may: frozenset[Outcome] = frozenset()
    from_start: bool = False
    at_least_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def limits(self) -> dict[str, str]:
        """The run's time limits by their names in a spec."""
        brief = self.must | self.may
        return {name: BRIEF if outcome in brief else PATIENT for outcome, names in _LIMITS.items() for name in names}


def _outcomes(*outcomes: Outcome) -> frozenset[Outcome]:
    return frozenset(outcomes)


NETWORK_FAULTS = {
    "nothing": NetworkFault(Weather()),
    "50 ms each way": NetworkFault(
        Weather(delay_s=_ROUND_TRIP_MS / 2_000),
        from_start=True,
        at_least_ms={"connect": _ROUND_TRIP_MS, "banner": _ROUND_TRIP_MS, "login": 4 * _ROUND_TRIP_MS},
    ),
    "20 ms each way and up to 20 ms more": NetworkFault(
        Weather(delay_s=0.02, jitter_s=0.02), from_start=True, at_least_ms={"connect": 40.0}
    ),
    "a packet of 100 is lost": NetworkFault(Weather(lost=0.01), may=_TIMEOUTS),
    "a packet of 10 is lost": NetworkFault(Weather(lost=0.1), may=_TIMEOUTS),
    "a packet of 10 overtakes others": NetworkFault(Weather(delay_s=0.01, reordered=0.1)),
    "a packet of 10 comes twice": NetworkFault(Weather(doubled=0.1)),
    "packets of more than 600 bytes vanish": NetworkFault(
        Weather(longest_bytes=600), must=_outcomes(Outcome.KEX_TIMEOUT), may=_outcomes(Outcome.STEP_TIMEOUT)
    ),
    "nothing comes through any more": NetworkFault(
        Weather(is_dead=True), must=_outcomes(Outcome.CONNECT_TIMEOUT), may=_TIMEOUTS
    ),
    "silence from the first byte": NetworkFault(
        Weather(stops_after_bytes=0), must=_outcomes(Outcome.BANNER_TIMEOUT), may=_TIMEOUTS
    ),
    "silence after the banner": NetworkFault(
        Weather(stops_after_bytes=100), must=_outcomes(Outcome.KEX_TIMEOUT), may=_TIMEOUTS
    ),
    "silence in the middle of the output": NetworkFault(
        Weather(stops_after_bytes=10_000), must=_outcomes(Outcome.STEP_TIMEOUT)
    ),
    "reset at the first byte": NetworkFault(
        Weather(resets_after_bytes=0),
        must=_outcomes(Outcome.RESET_BEFORE_BANNER),
        may=_outcomes(Outcome.DISCONNECTED),
    ),
    "reset after the banner": NetworkFault(Weather(resets_after_bytes=100), must=_outcomes(Outcome.DISCONNECTED)),
    "reset in the middle of the output": NetworkFault(
        Weather(resets_after_bytes=10_000), must=_outcomes(Outcome.DISCONNECTED)
    ),
}


def run_through(
    network: BadNetwork, server: SshServer, folder: Path, fault: NetworkFault, library: Library
) -> tuple[Ended, Passed]:
    """Run a test from the near side at the far side's server; return how it ended, and what the network did."""
    target = {
        "host": FAR_ADDRESS,
        "port": server.port,
        "user": server.user,
        "credentialsSecretRef": {"name": "login"},
        "knownHostsSecretRef": {"name": "hosts"},
    }
    output = {"exec": {"command": f"head -c {_OUTPUT_BYTES} /dev/zero"}}
    test = write_test(
        folder,
        target={"external": target},
        client={"library": str(library), "timeouts": fault.limits},
        scenario={"steps": [output]},
        load=_LOAD,
        thresholds=[{"errorRate": {"below": "100%"}}, *map(_stated_in_full, fault.at_least_ms)],
    )
    network.change(fault.weather if fault.from_start else Weather())
    known: list[str | Path] = ["--identity", server.keys.user, "--known-hosts", server.known_hosts]
    allowed = ["--allow-target", f"{FAR_ADDRESS}:{server.port}"]
    started = start("run", test, "--output", "json", *allowed, *known, within=network.near)
    wait_until(lambda: "Running" in started.said() or started.process.poll() is not None, "the load")
    before = network.change(fault.weather)
    ended = started.wait()
    return ended, network.change(Weather()).since(before)


def _stated_in_full(step: str) -> dict[str, Any]:
    """Return a threshold for whose sake a status states the shortest time of a step, which it does not of any part."""
    return {"latency": {"step": step, "percentile": 50, "below": "1h"}}


def problems(fault: NetworkFault, ended: Ended) -> Iterator[str]:
    """Yield what is wrong with how a run ended."""
    if not ended.out.startswith("{") or "results" not in ended.status:
        yield f"no results: {ended.err}"
        return
    results: dict[str, Any] = ended.status["results"]
    counted = {error["outcome"]: 0 for error in results.get("errors", [])}
    for error in results.get("errors", []):
        counted[error["outcome"]] += error["count"]
    if results["failures"] != sum(counted.values()):
        yield f"{results['failures']} failures, of which the outcomes are {counted}"
    steps = steps_of(ended.status)
    total = steps["total"]
    if results["iterations"] != total.count + total.failures:
        yield f"{results['iterations']} iterations, of which {total.count} succeeded, {total.failures} did not"
    if not fault.must <= counted.keys() <= fault.must | fault.may:
        yield f"outcomes {counted} in place of {sorted(fault.must)}"
    if not fault.must and not fault.may and not total.count:
        yield "nothing succeeded"
    least_ms = {name: step.min_ms or 0.0 for name, step in steps.items()}
    for step, at_least_ms in fault.at_least_ms.items():
        if least_ms[step] < at_least_ms:
            yield f"{step} took {least_ms[step]} ms, where the way alone takes {at_least_ms} ms"
