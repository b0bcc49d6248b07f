"""A daemon of node or control plane stops, or is killed and started again, while tests begin, run and end."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial

from chaos_case import Case, Found
from chaos_stage import Stage
from cluster_daemons import killed, paused
from cluster_oracles import PASSED, end_of, is_loading, steady, went_back

AWAY_S = 30.0
_KEPT_OR_LOST = (*PASSED, ("Error", "MasterLost"))
"""containerd copies the output of containers: a master that ends without it takes its results along."""

DAEMONS = ("kubelet", "containerd", "etcd", "kube-apiserver")
_ENDS_SOON, _GOES_ON = "12s", "60s"


def cases() -> Iterator[Case]:
    """Yield a case for each daemon and each way to be away."""
    for daemon in DAEMONS:
        yield Case(f"{daemon} stopped for {AWAY_S:g} s", partial(_without, fault=partial(paused, daemon)))
        ends_meanwhile = _KEPT_OR_LOST if daemon == "containerd" else PASSED
        yield Case(
            f"{daemon} killed, back after {AWAY_S:g} s",
            partial(_without, fault=partial(killed, daemon), ends_meanwhile=ends_meanwhile),
        )


def _without(
    stage: Stage,
    fault: Callable[[], AbstractContextManager[None]],
    ends_meanwhile: Sequence[tuple[str, str]] = PASSED,
) -> Found:
    """Let a test run on, another one end and a third one begin while the daemon is away."""
    cluster = stage.namespace()
    goes_on, ends, begins = steady("goes-on", _GOES_ON), steady("ends", _ENDS_SOON), steady("begins", _ENDS_SOON)
    cluster.apply(goes_on, ends)
    for test in (goes_on, ends):
        stage.followed.wait(cluster, test["metadata"]["name"], is_loading, "load", 120)
    cluster.apply(begins)
    with fault():
        time.sleep(AWAY_S)
    found = Found.of(
        end_of(stage, cluster, goes_on), end_of(stage, cluster, ends, ends_meanwhile), end_of(stage, cluster, begins)
    )
    return found.with_problems(*went_back(stage, cluster))
