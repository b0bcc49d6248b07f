"""What the master of a played run prints, given to the operator by the proxy."""

import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256

from api_proxy import ApiProxy
from played_pods import PlayedPods
from runs import snapshot, summary
from sshload_contract.wire.master_log import snapshot_line, summary_lines
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.manifests.labels import Part, run_child_name


def says_running(proxy: ApiProxy, pods: PlayedPods) -> None:
    """Let the master print a snapshot in the middle of the load."""
    (name,) = pods.names("master")
    proxy.logs[name] = running_words(_run_id(pods))


def says_summary(proxy: ApiProxy, pods: PlayedPods, found: RunSummary | None = None) -> None:
    """Let the master print what it found, after all else; without that, the summary of a run that went well."""
    (name,) = pods.names("master")
    words = summary_words(found or summary(), _run_id(pods), run_token(pods))
    proxy.logs[name] = proxy.logs.get(name, "") + words


def running_words(run_id: str) -> str:
    """Return what a master prints in the middle of its load."""
    return f"a warning of some library\n{snapshot_line(replace(snapshot(), run_id=run_id))}\n"


def summary_words(found: RunSummary, run_id: str, token: str) -> str:
    """Return what a master prints last."""
    return "".join(f"{line}\n" for line in summary_lines(replace(found, run_id=run_id), token))


def packed_words(text: bytes, token: str) -> str:
    """Return the log of a master whose summary unpacks to `text`."""
    data = b64encode(zlib.compress(text)).decode()
    chunks = [data[start : start + 12_000] for start in range(0, len(data), 12_000)]
    parts = [f'{{"sshload":"part","number":{number},"data":"{chunk}"}}' for number, chunk in enumerate(chunks)]
    proof = sha256(f"sshload results {token}".encode()).hexdigest()
    digest = sha256(data.encode()).hexdigest()
    end = f'{{"sshload":"end","parts":{len(chunks)},"sha256":"{digest}","proof":"{proof}"}}'
    return "\n".join([*parts, end, ""])


def run_token(pods: PlayedPods) -> str:
    """Return the token of the run, which its pods find in the run's Secret."""
    data: dict[str, str] = pods.cluster.get("secret", run_child_name(pods.test, _run_id(pods), Part.KEYS))["data"]
    return b64decode(data["run_token"]).decode()


def _run_id(pods: PlayedPods) -> str:
    (name,) = pods.names("master")
    run_id: str = pods.cluster.get("pod", name)["metadata"]["labels"]["sshload.dev/run-id"]
    return run_id
