"""`sshload watch` follows an object of a real API server; the test writes the status in the operator's place."""

import json
import shlex
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from canary import Canary, new_text
from connect_proxy import connect_proxy
from live_cluster import WITHIN_S, LiveCluster, load_test
from local_cli import Ended, Started, interrupt, sshload, start, wait_until

MEDIAN = {"percentile": 50, "ms": 43.2}
RESULTS: dict[str, Any] = {
    "durationSeconds": 6.0,
    "offeredRate": 5.0,
    "achievedRate": 5.0,
    "completedRate": 5.0,
    "iterations": 30,
    "failures": 0,
    "steps": [
        {
            "step": "total",
            "count": 30,
            "rate": 5.0,
            "maxMs": 61.0,
            "p50Ms": 43.2,
        }
    ],
}
PROGRESS: dict[str, Any] = {
    "stage": "measuring",
    "elapsedSeconds": 3.0,
    "remainingSeconds": 3.0,
    "workersConnected": 2,
    "users": 0,
    "inFlight": 1,
    "offeredRate": 5.0,
    "completedRate": 5.0,
    "iterations": 15,
    "failures": 0,
}


def finished(verdict: str, **more: Any) -> dict[str, Any]:
    return {
        "observedGeneration": 1,
        "phase": "Finished",
        "verdict": verdict,
        "reason": "Some",
        "message": "why",
        **more,
    }


def write_status(cluster: LiveCluster, status: dict[str, Any]) -> None:
    cluster.change("slt", "one", {"status": status}, "status")


def options(cluster: LiveCluster) -> list[str]:
    return ["--namespace", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig), "--timeout", str(WITHIN_S)]


def watch(cluster: LiveCluster, *more: str, within: Sequence[str] = ()) -> Started:
    return start("watch", "one", *options(cluster), *more, within=within)


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("Passed", 0), ("Failed", 1), ("Inconclusive", 2), ("Invalid", 3), ("Error", 4), ("Aborted", 5)],
)
def test_the_exit_code_is_the_verdicts(cluster: LiveCluster, verdict: str, code: int) -> None:
    cluster.apply(load_test("one"))
    write_status(cluster, finished(verdict))
    ended = watch(cluster).wait()
    assert ended.code == code, ended.err
    assert ended.out == f"{verdict} (Some): why\n"


def test_a_test_is_followed_from_pending_to_its_result(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    started = watch(cluster)
    wait_until(lambda: "Pending" in started.said(), "word of a test without status")
    write_status(cluster, {"observedGeneration": 1, "phase": "Running", "progress": PROGRESS})
    wait_until(lambda: "Running measuring 3/6 s  5.0/s offered" in started.said(), "word of the progress")
    write_status(cluster, finished("Passed", results=RESULTS))
    ended = started.wait()
    assert ended.code == 0, ended.err
    assert "0 of 30 iterations" in ended.out
    assert ended.out.startswith("Passed (Some)")


def test_json_is_the_whole_object(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    write_status(cluster, finished("Passed", results=RESULTS))
    ended = watch(cluster, "--output", "json").wait()
    assert json.loads(ended.out) == cluster.get("slt", "one")


def test_the_end_of_an_older_run_is_not_taken_for_the_end_of_this_one(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    write_status(cluster, finished("Passed"))
    cluster.apply(load_test("one", warmUp="1s"))
    started = watch(cluster)
    wait_until(lambda: "has not yet seen the change" in started.said(), "word of the old status")
    assert started.process.poll() is None
    write_status(cluster, {**finished("Failed"), "observedGeneration": 2})
    assert started.wait().code == 1


def test_ctrl_c_ends_the_watching_and_not_the_test(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    started = watch(cluster)
    wait_until(lambda: "Pending" in started.said(), "word of the test")
    interrupt(started, signal.SIGINT)
    ended = started.wait()
    assert ended.code == 130
    assert "the SSHLoadTest goes on in the cluster" in ended.err
    assert cluster.exists("slt", "one")


def complaint(ended: Ended) -> str:
    assert (ended.code, ended.out) == (4, "")
    return ended.err.splitlines()[-1]


def test_a_test_that_is_not_there_is_named(cluster: LiveCluster) -> None:
    ended = sshload("watch", "none", *options(cluster))
    assert complaint(ended).startswith(f"sshload: there is no SSHLoadTest none in the namespace {cluster.namespace}")


def test_the_timeout_ends_the_watching(cluster: LiveCluster) -> None:
    cluster.apply(load_test("one"))
    ended = watch(cluster, "--timeout", "0").wait()
    assert complaint(ended).startswith("sshload: one was not finished within 0 s")


def test_a_context_that_is_not_in_the_kubeconfig_is_named(cluster: LiveCluster) -> None:
    assert "nowhere" in complaint(watch(cluster, "--context", "nowhere").wait())


def test_a_kubeconfig_that_is_not_there_is_named(cluster: LiveCluster) -> None:
    assert "/nowhere/config" in complaint(watch(cluster, "--kubeconfig", "/nowhere/config").wait())


def plug_in(cluster: LiveCluster, folder: Path, prints: str) -> str:
    """Return a kubeconfig with the cluster of another one, where a program prints who the user is."""
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                  "status": {"token": config["users"][0]["user"]["token"]}}  # fmt: skip
    (folder / "credential.json").write_text(json.dumps(credential))
    program = ["-c", prints, "sh", str(folder / "credential.json")]
    login = {"apiVersion": credential["apiVersion"], "command": "sh", "args": program, "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": login}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_the_plug_in_of_a_kubeconfig_says_who_the_user_is(cluster: LiveCluster, tmp_path: Path) -> None:
    cluster.apply(load_test("one"))
    write_status(cluster, finished("Passed"))
    ended = watch(cluster, "--kubeconfig", plug_in(cluster, tmp_path, 'cat "$1"')).wait()
    assert ended.code == 0, ended.err


def test_a_plug_in_that_fails_is_quoted(cluster: LiveCluster, tmp_path: Path) -> None:
    prints = f"echo {shlex.quote('log in first')} >&2; exit 3"
    ended = watch(cluster, "--kubeconfig", plug_in(cluster, tmp_path, prints)).wait()
    assert complaint(ended).startswith("sshload: 403: ")
    assert "log in first" in ended.err


@pytest.mark.parametrize("login", ["", "somebody:password"])
def test_the_proxy_of_the_environment_is_used(cluster: LiveCluster, login: str) -> None:
    cluster.apply(load_test("one"))
    write_status(cluster, finished("Passed"))
    with connect_proxy(login) as proxy:
        ended = watch(cluster, within=through(proxy.url(login))).wait()
    assert ended.code == 0, ended.err
    assert proxy.asked_for == [yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]]


def test_the_password_of_a_proxy_is_in_no_message(cluster: LiveCluster) -> None:
    login = f"somebody:{new_text()}"
    with connect_proxy("somebody:other") as proxy:
        ended = watch(cluster, "--timeout", "0", within=through(proxy.url(login))).wait()
    assert "407" in ended.err
    assert not Canary({"login": login.encode()}).found_in("the output", ended.err)


def through(proxy: str) -> Sequence[str]:
    """Return what starts a command that finds this proxy in its environment."""
    return ["env", "NO_PROXY=", "no_proxy=", f"HTTPS_PROXY={proxy}"]


def test_an_api_server_that_does_not_answer_is_waited_for_aloud(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        kubeconfig = tmp_path / "kubeconfig"
        server = {"name": "one", "cluster": {"server": f"http://127.0.0.1:{taken.getsockname()[1]}"}}
        context = {"name": "one", "context": {"cluster": "one", "user": "one"}}
        user = {"name": "one", "user": {"token": "none"}}
        config = {"clusters": [server], "contexts": [context], "users": [user], "current-context": "one"}
        kubeconfig.write_text(json.dumps(config))
        ended = sshload("watch", "one", "--kubeconfig", kubeconfig, "--timeout", "0")
    assert complaint(ended).startswith("sshload: nothing is known of one after 0 s: no answer")
    assert ended.err.startswith("Waiting: for the API server: no answer")
