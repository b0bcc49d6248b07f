"""The rows of the speed table: what is asked of the worker, how it is measured, and what came out."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from cost import MS_PER_S, Clients, Cost, Work
from programs import Server
from run_configs import EXEC_TRUE
from ssh_server import SshServer
from sshload_contract.load import HoldLoad, ThinkTime, UsersLoad, UsersStage
from sshload_contract.wire.run_config import SessionReuse
from wire import Wire

_CLOCK_TICKS = 100
_END_TIMEOUT_S = 60.0
_POLL_S = 0.05
_KB = 1_000
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a figure with its range over the repeats, and what it should be."""

    what: str
    goal: str
    figure: str


Measure = Callable[[Work], Cost]


def interleaved(clients: Sequence[Measure], work: Work, repeats: int) -> list[list[Cost]]:
    """Let each client work in turn, and all of them again, so that what else the machine does meets them alike."""
    costs: list[list[Cost]] = [[] for _ in clients]
    for _ in range(repeats):
        for of_one, client in zip(costs, clients, strict=True):
            of_one.append(client(work))
    return costs


def cpu(costs: Sequence[Cost]) -> str:
    """Return the CPU per operation with its range."""
    return spread([cost.cpu_ms for cost in costs], "ms")


def rate(costs: Sequence[Cost]) -> str:
    """Return the operations per second with their range."""
    return spread([cost.rate for cost in costs], "/s")


def ratio(costs: Sequence[Cost], others: Sequence[Cost]) -> str:
    """Return how the CPU of one client stands to another's, of runs that lay side by side."""
    pairs = zip(costs, others, strict=True)
    return spread([cost.cpu_ms / other.cpu_ms for cost, other in pairs], "x")


def spread(figures: Sequence[float], unit: str) -> str:
    """Return median, least and most, in three digits."""
    middle, least, most = (f"{figure:,.3g}" if figure < _KB else f"{figure:,.0f}" for figure in
                           (median(figures), min(figures), max(figures)))  # fmt: skip
    return f"{middle} {unit} ({least} to {most})"


def held_memory(clients: Clients, sessions: int) -> list[Row]:
    """Measure what a session costs that is held idle, in a worker and in the least client."""
    load = HoldLoad(sessions=sessions, ramp_up_s=sessions / 400, duration_s=2.0, keep_alive_s=0.0, probe_rate=0.0)
    config = replace(clients.config(load, (EXEC_TRUE,), SessionReuse.NONE), warm_up_s=0.0)
    with clients.worker_run(config) as run:
        summary = run.summary()
        figures = run.figures()
    held = summary.trial.load.held_least
    per_session = (figures["rss_end_bytes"] - figures["rss_begin_bytes"]) / sessions / _KB
    return [Row("idle session, memory in the worker", "80 kB", f"{per_session:.1f} kB, {held:,} of {sessions:,} held")]


def against_sshd(clients: Clients, server: SshServer, users: int, seconds: float) -> Row:
    """Measure the worker's CPU as a share of sshd's, all of whose processes have ended before it is asked."""
    before_s = _children_cpu_s(server.process.pid)
    work = Work("connect-exec", at_once=users, operations=0, seconds=seconds)
    cost = clients.product(work)
    _await_no_children(server.process.pid)
    total_s = _children_cpu_s(server.process.pid) - before_s
    per_login_s = total_s / (
        cost.operations * (seconds + clients.warm_up_s) / seconds
    )  # the warm-up's logins count too
    share = cost.cpu_ms / MS_PER_S / per_login_s
    what = f"{users} users against sshd: worker's CPU / sshd's"
    return Row(what, "4 %", f"{share:.1%} ({cost.cpu_ms:.2f} ms / {per_login_s * MS_PER_S:.1f} ms)")


def against_wire(clients: Clients, users: int, seconds: float, *, guaranteed: bool) -> Row:
    """Measure the recorded total less the time from SYN to the server's last data, of each connection."""
    load = UsersLoad(
        stages=(UsersStage(users=users, duration_s=seconds),),
        spawn_rate=0.0,
        think_time=ThinkTime(0.0, 0.0),
    )
    config = clients.config(load, (EXEC_TRUE,), SessionReuse.NONE)
    first = ("chrt", "-f", "10") if guaranteed else ()
    with Wire(clients.server.port) as wire, clients.worker_run(config, *first, ports=True) as run:
        run.summary()
        iterations = run.figures()["iterations"]
    beyond_ms = []
    for port, due_ns, latency_us in iterations:
        latency_ns = latency_us * 1_000
        seen = wire.conversation(port, due_ns)
        beyond_ms.append((latency_ns - seen.until(due_ns + latency_ns)) / _NS_PER_MS)
    beyond_ms.sort()
    p50, p95, p99 = (beyond_ms[int(len(beyond_ms) * share)] for share in (0.5, 0.95, 0.99))
    what = f"recorded less wire, p99, {users} users, CPU {'guaranteed' if guaranteed else 'shared'}"
    told = f"{p99:.2f} ms (p50 {p50:.2f}, p95 {p95:.2f}, n {len(beyond_ms):,})"
    return Row(what, "0.7 ms" if guaranteed else "", told)


def server_of(server: SshServer) -> Server:
    """Return the real sshd as a server of the benchmarks."""
    return Server(port=server.port, host_key=server.keys.host.with_suffix(".pub").read_text())


def make_key(folder: Path) -> Path:
    """Make a key pair of a user, and return the private key's path."""
    key = folder / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    return key


def _await_no_children(pid: int) -> None:
    """Wait until the processes below this one have ended: their CPU counts from then on."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    give_up_s = time.monotonic() + _END_TIMEOUT_S
    while children.read_text(encoding="ascii"):
        assert time.monotonic() < give_up_s, f"processes of sshd do not end: {children.read_text(encoding='ascii')}"
        time.sleep(_POLL_S)


def _children_cpu_s(pid: int) -> float:
    """Return the CPU of all processes that have ended below this one."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / _CLOCK_TICKS
