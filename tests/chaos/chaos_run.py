"""One run of one object under one fault, with an operator, a proxy and a namespace of its own."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from api_proxy import Write, api_proxy
from api_server import ApiServer
from chaos_faults import Fault
from chaos_kinds import Kind
from operator_process import OperatorProcess
from played_namespace import Happening, PlayedNamespace, played_namespace

_AFTER_THE_DEADLINE_S = 30.0
_LIVES = 20


@dataclass(frozen=True, slots=True)
class Run:
    """What a run left. `is_over` says that it came to its end before its deadline, `kills` how often it was killed.

    `ends` are the exit codes of operators that ended of themselves.
    """

    is_over: bool
    reached: bool
    kills: int
    ends: Sequence[int]
    writes: Sequence[Write]
    history: Sequence[Happening]
    collected: frozenset[str]
    log: str


def run(server: ApiServer, kind: Kind, fault: Fault, folder: Path) -> Run:
    """Run an object of a kind from its creation to its end."""
    cluster = server.namespace()
    with api_proxy(server.kubeconfig, folder) as proxy:
        namespace = PlayedNamespace(cluster.namespace, proxy.logs, lambda _: kind.found())
        operator = OperatorProcess(proxy.kubeconfig, folder, (cluster.namespace,), proxy.wait_until_unused)
        with played_namespace(server.kubeconfig, namespace), contextlib.ExitStack() as ending:
            ending.callback(operator.kill)
            fault.befall(proxy, operator)
            namespace.apply(kind.manifest)
            if kind.status is not None:
                name = kind.manifest["metadata"]["name"]
                namespace.change(kind.manifest["kind"], name, {"status": kind.status()}, "/status")
            operator.begin()
            kills, ends = _follow(kind, namespace, operator)
            return Run(
                is_over=kind.is_over(namespace),
                reached=fault.reached,
                kills=kills,
                ends=ends,
                writes=list(proxy.writes),
                history=list(namespace.history),
                collected=frozenset(namespace.collected),
                log=operator.logs(),
            )


def _follow(kind: Kind, namespace: PlayedNamespace, operator: OperatorProcess) -> tuple[int, list[int]]:
    """Start the operator again whenever it has ended, until the run is over; return kills and other exit codes."""
    kills, ends = 0, list[int]()
    give_up = time.monotonic() + kind.within_s + _AFTER_THE_DEADLINE_S
    while not kind.is_over(namespace) and time.monotonic() < give_up and kills + len(ends) < _LIVES:
        namespace.wait(lambda: kind.is_over(namespace) or not operator.is_running(), 5.0)
        if not operator.is_running():
            code = operator.wait()
            kills, ends = (kills + 1, ends) if operator.was_killed else (kills, [*ends, code])
            operator.begin()
    return kills, ends
