import base64
import os
import time
from pathlib import Path

import pytest
from account_server import Place
from gateway_process import Caller, GatewayProcess
from running_target import wait_until
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")


def test_an_answer_has_the_exit_code_and_both_streams(caller: Caller) -> None:
    answer = caller.run("server", "echo out; echo err >&2; exit 7").json()

    assert (answer["outcome"], answer["exitCode"], answer["signal"]) == ("exited", 7, None)
    assert (answer["stdout"], answer["stderr"]) == ("out\n", "err\n")


def test_a_command_that_a_signal_ends_has_no_exit_code(caller: Caller) -> None:
    answer = caller.run("server", "kill -SEGV $$").json()

    assert (answer["outcome"], answer["exitCode"], answer["signal"]) == ("signalled", None, "SEGV")


def test_a_command_reads_stdin_to_its_end(caller: Caller) -> None:
    assert caller.run("server", "wc -c", stdin="x" * 100_000).json()["stdout"].strip() == "100000"


def test_bytes_go_both_ways_in_base64(caller: Caller) -> None:
    data = bytes(range(256))
    answer = caller.run("server", "cat", stdin=base64.b64encode(data).decode(), encoding="base64").json()

    assert base64.b64decode(answer["stdout"]) == data


def test_the_second_command_has_no_login(caller: Caller, sshd: SshServer) -> None:
    first = caller.run("server", "true").json()["timings"]
    accepted = sshd.accepted()
    second = caller.run("server", "true").json()["timings"]

    assert 0 < first["loginSeconds"] <= first["waitSeconds"]
    assert second["loginSeconds"] is None
    assert sshd.accepted() == accepted


def test_a_timeout_ends_the_remote_process(caller: Caller, place: Place) -> None:
    pid_file = _pid_file(place)
    answer = caller.run("server", f"echo before; echo $$ > {pid_file}; exec sleep 600", timeoutSeconds=5).json()

    assert (answer["outcome"], answer["exitCode"], answer["stdout"]) == ("timeout", None, "before\n")
    assert answer["hasEnded"]
    _await_gone(pid_file)
    assert caller.run("server", "true").json()["timings"]["loginSeconds"] is None


def test_a_process_that_ignores_sigterm_is_killed(caller: Caller, place: Place) -> None:
    pid_file = _pid_file(place)
    command = f"trap '' TERM; echo $$ > {pid_file}; while :; do sleep 600; done"
    answer = caller.run("server", command, timeoutSeconds=5).json()

    assert (answer["outcome"], answer["hasEnded"]) == ("timeout", True)
    _await_gone(pid_file)


def test_output_beyond_the_limit_ends_the_command(caller: Caller) -> None:
    answer = caller.run("server", "yes").json()

    assert (answer["outcome"], answer["hasEnded"], len(answer["stdout"])) == ("output-limit", True, 1024 * 1024)


def test_a_client_that_hangs_up_ends_its_command(caller: Caller, place: Place, gateway: GatewayProcess) -> None:
    pid_file = _pid_file(place)
    ended = gateway.metric("sshload_gateway_commands_total", outcome="client-gone")
    with caller.begun("server", f"echo $$ > {pid_file}; exec sleep 600"):
        wait_until(lambda: pid_file.exists() and bool(pid_file.read_text()), "the command begins")

    _await_gone(pid_file)
    wait_until(
        lambda: gateway.metric("sshload_gateway_commands_total", outcome="client-gone") > ended, "the gateway counts it"
    )
    assert caller.run("server", "true").json()["exitCode"] == 0


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_of_a_directory_have_each_entry_once(caller: Caller, place: Place, limit: int) -> None:
    folder = place.folder / f"listed-{limit}"
    folder.mkdir()
    for name in (b"a", b"b", b"\xff", "é".encode(), b"z"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"12345")
    (folder / "sub").mkdir()

    entries, after = [], ""
    while after is not None:
        page = caller.ask("GET", "/server/files", params={"path": str(folder), "limit": limit, "after": after}).json()
        entries += page["entries"]
        after = page["next"]
        assert len(page["entries"]) <= limit

    assert [entry["name"] for entry in entries] == ["a", "b", "sub", "z", "é", "\ufffd"]
    assert [entry["kind"] for entry in entries] == ["file", "file", "directory", "file", "file", "file"]
    assert entries[0]["sizeBytes"] == 5
    assert entries[2]["permissions"] == "0755"


def test_a_directory_that_is_not_there_is_a_conflict(caller: Caller) -> None:
    answer = caller.ask("GET", "/server/files", params={"path": "/nowhere"})

    assert (answer.status_code, answer.json()["kind"]) == (409, "listing")


def _pid_file(place: Place) -> Path:
    return place.folder / "home" / f"pid-{time.monotonic_ns()}"


def _await_gone(pid_file: Path) -> None:
    pid = pid_file.read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), f"process {pid} ends")
