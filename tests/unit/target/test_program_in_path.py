"""A program in the path to a target: what it is started with, what is told of it, and when that is refused."""

import resource
import signal
import socket
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.program import ProgramConfig, ProgramStats
from sshload_target.errors import ConfigRefusedError, InterruptedTargetError
from sshload_target.http_server import _pages
from sshload_target.in_path import observer as observer_module
from sshload_target.in_path import program
from sshload_target.in_path.observer import ProgramObserver
from sshload_target.in_path.program import allow_open_files, make_ready, read_config
from sshload_target.pid1 import exit_in_words
from sshload_target.usage.process_tree import ProgramUsage

CONFIG = ProgramConfig(
    command=("proxy", "-f"),
    config="listen @ADDRESS@ in @FOLDER@\n",
    server="target",
    port=1,
    stats_port=2,
    open_files=9,
)


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let this process have 100 open files, of 200 that it may have; return what it has."""
    has: dict[str, Any] = {"now": (100, 200)}
    played = SimpleNamespace(
        RLIMIT_NOFILE=resource.RLIMIT_NOFILE,
        RLIM_INFINITY=resource.RLIM_INFINITY,
        getrlimit=lambda _: has["now"],
        setrlimit=lambda which, limits: has.update({"now": limits, "which": which}),
    )
    monkeypatch.setattr(program, "resource", played)
    return has


@pytest.mark.parametrize(
    ("now", "wanted", "then"),
    [
        pytest.param((100, 200), 99, (100, 200), id="enough"),
        pytest.param((100, 200), 100, (100, 200), id="just enough"),
        pytest.param((100, 200), 101, (101, 200), id="more, which it may have"),
        pytest.param((100, 200), 200, (200, 200), id="all that it may have"),
        pytest.param((100, resource.RLIM_INFINITY), 5_000, (5_000, resource.RLIM_INFINITY), id="no limit at all"),
        pytest.param((resource.RLIM_INFINITY,) * 2, 5_000, (resource.RLIM_INFINITY,) * 2, id="none now"),
    ],
)
def test_a_program_gets_the_open_files_that_it_needs(
    files: dict[str, Any], now: tuple[int, int], wanted: int, then: tuple[int, int]
) -> None:
    files["now"] = now
    allow_open_files(wanted)
    assert files["now"] == then


def test_more_open_files_than_are_allowed_are_refused(files: dict[str, Any]) -> None:
    with pytest.raises(ConfigRefusedError, match=r"needs 201 open files, and may have 200"):
        allow_open_files(201)
    assert files["now"] == (100, 200)


@pytest.mark.parametrize(
    ("host", "address"), [("192.0.2.1", "192.0.2.1"), ("fd00::1", "[fd00::1]")], ids=["IPv4", "IPv6"]
)
def test_the_configuration_has_its_address_and_its_folder_and_is_the_last_word_of_the_command(
    tmp_path: Path, files: dict[str, Any], host: str, address: str
) -> None:
    command = make_ready(replace(CONFIG, open_files=150), host, tmp_path)
    assert command == ("proxy", "-f", str(tmp_path / "program.conf"))
    assert (tmp_path / "program.conf").read_text() == f"listen {address} in {tmp_path}\n"
    assert files["now"] == (150, 200)


@pytest.mark.parametrize(("known", "address"), [("fe80 01\n", "[::]"), ("", "0.0.0.0"), (None, "0.0.0.0")])  # noqa: S104
def test_without_an_address_a_program_listens_on_all_of_both_families_or_of_ipv4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str | None, address: str
) -> None:
    if known is not None:
        (tmp_path / "if_inet6").write_text(known)
    monkeypatch.setattr(program, "_IPV6_ADDRESSES", tmp_path / "if_inet6")
    make_ready(CONFIG, "", tmp_path)
    assert (tmp_path / "program.conf").read_text() == f"listen {address} in {tmp_path}\n"


class Names:
    """A resolver that knows a name only after some times."""

    def __init__(self, unknown: int, address: str) -> None:
        self.unknown, self.address = unknown, address
        self.asked: list[tuple[Any, ...]] = []
        self.slept_s: list[float] = []

    def getaddrinfo(self, name: str, port: None, *, type: socket.SocketKind) -> Any:  # noqa: A002 - as socket has it
        self.asked.append((name, port, type))
        if len(self.asked) <= self.unknown:
            raise socket.gaierror("not yet")
        return [(socket.AF_INET, type, 6, "", (self.address, 0)), (socket.AF_INET, type, 6, "", ("later", 0))]


@pytest.mark.parametrize(("address", "written"), [("192.0.2.9", "192.0.2.9"), ("fd00::9", "[fd00::9]")])
def test_a_server_that_is_asked_for_is_looked_up_until_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, written: str
) -> None:
    names = Names(3, address)
    monkeypatch.setattr(program.socket, "getaddrinfo", names.getaddrinfo)
    monkeypatch.setattr(program.time, "sleep", names.slept_s.append)
    make_ready(replace(CONFIG, config="to @SERVER@ or @SERVER@"), "192.0.2.1", tmp_path)
    assert (tmp_path / "program.conf").read_text() == f"to {written} or {written}"
    assert names.asked == [("target", None, socket.SOCK_STREAM)] * 4
    assert names.slept_s == [0.2] * 3


def test_a_server_that_is_not_asked_for_is_not_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_look_up", lambda _: pytest.fail("it was looked up"))
    make_ready(CONFIG, "192.0.2.1", tmp_path)


def test_a_stop_ends_the_wait_for_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "stop_is_pending", lambda: True)
    with pytest.raises(InterruptedTargetError, match="before the name target was known") as stopped:
        make_ready(replace(CONFIG, config="@SERVER@"), "192.0.2.1", tmp_path)
    assert stopped.value.exit_code == 0


def test_a_configuration_is_read_and_one_without_a_command_or_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(to_json(CONFIG))
    assert read_config(path) == CONFIG
    for text in (to_json(replace(CONFIG, command=())), "{}", "no JSON"):
        path.write_text(text)
        with pytest.raises(ConfigRefusedError, match=str(path)) as refused:
            read_config(path)
        assert refused.value.exit_code == 78


def usages(monkeypatch: pytest.MonkeyPatch, *told: ProgramUsage) -> ProgramObserver:
    left = list(told)
    container = SimpleNamespace(read=lambda: SimpleNamespace(cpu_throttled_s=0.5))
    monkeypatch.setattr(observer_module, "choose_reader", lambda: container)
    monkeypatch.setattr(observer_module, "read_program_usage", lambda: left.pop(0))
    return ProgramObserver(2201)


def test_no_total_of_a_program_falls_when_a_process_of_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    observed = usages(
        monkeypatch, ProgramUsage(1.0, None), ProgramUsage(3.0, 500), ProgramUsage(2.0, 400), ProgramUsage(4.0, None)
    )
    assert [observed.stats() for _ in range(4)] == [
        ProgramStats(1.0, 0.5, None),
        ProgramStats(3.0, 0.5, 500),
        ProgramStats(3.0, 0.5, 500),
        ProgramStats(4.0, 0.5, 500),
    ]


def test_a_program_that_has_listened_is_ready_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    listens, asked = [False, True, False], []

    def is_listening(port: int) -> bool:
        asked.append(port)
        return listens.pop(0)

    monkeypatch.setattr(observer_module, "is_listening", is_listening)
    observed = usages(monkeypatch)
    assert [observed.ready for _ in range(3)] == [False, True, True]
    assert asked == [2201, 2201]


def test_a_program_answers_whether_it_is_ready_and_what_it_has_used_and_has_no_metrics() -> None:
    stats = ProgramStats(1.0, 0.5, 500)
    observed: Any = SimpleNamespace(ready=False, stats=lambda: stats)
    pages = _pages(observed)
    assert pages.keys() == {"/healthz", "/readyz", "/stats"}
    assert pages["/healthz"]().status is HTTPStatus.OK
    assert pages["/readyz"]().status is HTTPStatus.SERVICE_UNAVAILABLE
    observed.ready = True
    assert pages["/readyz"]().status is HTTPStatus.OK
    answer = pages["/stats"]()
    assert (answer.status, answer.content_type) == (HTTPStatus.OK, "application/json")
    assert from_json(ProgramStats, answer.body.decode()) == stats


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exit code 0"), (3, "exit code 3"), (-signal.SIGKILL, "by SIGKILL"), (-1, "by SIGHUP")]
)
def test_how_a_process_ended_is_said_by_its_code_or_its_signal(code: int, words: str) -> None:
    assert exit_in_words(code) == words
