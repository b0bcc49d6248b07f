"""What the master of a played run prints, given to the operator by the proxy."""

from base64 import b64decode
from dataclasses import replace

from api_proxy import ApiProxy
from played_pods import PlayedPods
from runs import snapshot, summary
from sshload_contract.master_log import snapshot_line, summary_lines
from sshload_contract.run_summary import RunSummary


def says_running(proxy: ApiProxy, pods: PlayedPods) -> None:
    """Let the master print a snapshot in the middle of the load."""
    (name,) = pods.names("master")
    line = snapshot_line(replace(snapshot(), run_id=_run_id(pods)))
    proxy.logs[name] = f"a warning of some library\n{line}\n"


def says_summary(proxy: ApiProxy, pods: PlayedPods, found: RunSummary | None = None) -> None:
    """Let the master print what it found, after all else; without that, the summary of a run that went well."""
    (name,) = pods.names("master")
    lines = summary_lines(replace(found or summary(), run_id=_run_id(pods)), run_token(pods))
    proxy.logs[name] = proxy.logs.get(name, "") + "".join(f"{line}\n" for line in lines)


def run_token(pods: PlayedPods) -> str:
    """Return the token of the run, which its pods find in the run's Secret."""
    data: dict[str, str] = pods.cluster.get("secret", f"{pods.test}-{_run_id(pods)}-keys")["data"]
    return b64decode(data["run_token"]).decode()


def _run_id(pods: PlayedPods) -> str:
    (name,) = pods.names("master")
    run_id: str = pods.cluster.get("pod", name)["metadata"]["labels"]["sshload.dev/run-id"]
    return run_id
