"""Which cluster and namespace a command is about, as kubectl chooses them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sshload_operator.control.api_server.errors import AccessError

if TYPE_CHECKING:
    from sshload_operator.control.api_server.cluster import Cluster


class ClusterError(Exception):
    """A cluster cannot be reached, or refuses a request; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """The options of the command line for the cluster. An empty one means kubectl's choice."""

    namespace: str
    kubeconfig: str
    context: str

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> "Access":
        """Return what the options say, and take them away."""
        return cls(**{name: options.pop(name) or "" for name in ("namespace", "kubeconfig", "context")})


@asynccontextmanager
async def opened(access: Access) -> AsyncIterator["tuple[Cluster, str]"]:
    """Yield a cluster and the namespace to use; raises ClusterError if no configuration says how to reach one."""
    _check_kubeconfig(access.kubeconfig)
    # The client takes longer to import than the rest of a command together.
    from sshload_operator.control.api_server.client import api_client, context_namespace  # noqa: PLC0415
    from sshload_operator.control.api_server.cluster import Cluster  # noqa: PLC0415

    try:
        namespace = access.namespace or context_namespace(access.kubeconfig, access.context)
        cluster = Cluster(await api_client(access.kubeconfig, access.context), lambda _verb, _resource: None)
    except AccessError as error:
        raise ClusterError(f"{error}. --kubeconfig and --context choose another") from error
    try:
        yield cluster, namespace
    finally:
        await cluster.close()


def _check_kubeconfig(path: str) -> None:
    """Raise ClusterError if the kubeconfig that is named, or that would be used, does not exist."""
    if path and not Path(path).is_file():
        raise ClusterError(f"there is no kubeconfig {path}")
    named = [one for one in os.environ.get("KUBECONFIG", "").split(os.pathsep) if one]
    if not path and named and not any(Path(one).is_file() for one in named):
        raise ClusterError(f"there is no kubeconfig {', '.join(named)}, which KUBECONFIG names: change or unset it")
    usual = Path("~/.kube/config").expanduser()
    if not (path or {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"} & os.environ.keys()) and not usual.is_file():
        raise ClusterError(f"there is no kubeconfig {usual}: name yours with --kubeconfig or KUBECONFIG")
