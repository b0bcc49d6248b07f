"""What the master asks servers over HTTP: one answer of one server, in bounded time and size."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gevent
import pytest
from free_ports import free_port
from gevent import socket
from runs import target_stats
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.program import ProgramStats
from sshload_contract.wire.target import TargetStats
from sshload_worker.coordination import stats
from sshload_worker.coordination.stats import UnresponsiveError, ask_for_pause, check_ready, fetch_stats, stats_in_path

USED = ProgramStats(cpu_s=2.0, cpu_throttled_s=0.5, memory_peak_bytes=3)


@contextmanager
def serving(answer: Callable[[str], bytes]) -> Iterator[tuple[str, list[str], list[bytes]]]:
    """Answer each request by its first line; yield the URL, the requests, and what came after them until the end."""
    asked: list[str] = []
    rests: list[bytes] = []

    def serve() -> None:
        while True:
            with listening.accept()[0] as asking:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += asking.recv(1_000)
                asked.append(head.decode().splitlines()[0])
                asking.sendall(answer(asked[-1]))
                asking.shutdown(socket.SHUT_WR)
                rests.append(asking.recv(1_000))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        served = gevent.spawn(serve)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/stats", asked, rests
        served.kill()


def ok(text: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(UnresponsiveError) as raised:
        call()
    return str(raised.value)


def test_a_target_is_asked_to_pause_where_it_is_asked_for_its_counts() -> None:
    with serving(lambda _: ok("ok")) as (url, asked, _):
        ask_for_pause(url, 60)
    assert asked == ["GET /pause HTTP/1.1"]


def test_a_target_that_has_no_pause_says_so() -> None:
    with serving(lambda _: b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") as (url, _, _):
        assert refusal(lambda: ask_for_pause(url, 60)).endswith("/pause: HTTP status 404")


def test_a_server_is_ready_that_says_so_where_it_is_asked_for_its_counts() -> None:
    with serving(lambda _: ok("")) as (url, asked, _):
        check_ready(url, 60)
    assert asked == ["GET /readyz HTTP/1.1"]


@pytest.mark.parametrize("status", ["503 Not Ready", "204 No Content", "302 Found\r\nLocation: /stats"])
def test_any_other_status_is_told_and_nothing_is_followed(status: str) -> None:
    answer = f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
    with serving(lambda _: answer) as (url, asked, _):
        told = refusal(lambda: check_ready(url, 60))
        assert told == f"{url.removesuffix('stats')}readyz: HTTP status {status.split(maxsplit=1)[0]}"
    assert len(asked) == 1


def test_counts_are_those_of_the_answer_and_the_connection_is_closed() -> None:
    counts = target_stats(7, sessions=3)
    with serving(lambda _: ok(to_json(counts))) as (url, asked, rests):
        assert fetch_stats(TargetStats, url) == counts
        while not rests:
            gevent.sleep(0)
    assert (asked, rests) == (["GET /stats HTTP/1.1"], [b""])


def test_a_connection_is_closed_too_where_the_answer_is_refused() -> None:
    """Not by whoever frees it: the error may be kept for long."""
    with serving(lambda _: b"HTTP/1.1 503 Not Ready\r\nContent-Length: 0\r\n\r\n") as (url, _, rests):
        with pytest.raises(UnresponsiveError) as kept:
            check_ready(url, 60)
        with gevent.Timeout(60):
            while not rests:
                gevent.sleep(0)
    assert kept.traceback


@pytest.mark.parametrize("text", ["", "{}", "no JSON", "[1]"])
def test_an_answer_that_is_none_is_told(text: str) -> None:
    with serving(lambda _: ok(text)) as (url, _, __):
        assert refusal(lambda: fetch_stats(TargetStats, url)).startswith(f"{url}: ")


def test_of_a_long_answer_no_more_is_taken_than_any_server_tells() -> None:
    with serving(lambda _: ok(to_json(target_stats(7)) + " " * 65_536)) as (url, _, __):
        assert fetch_stats(TargetStats, url) == target_stats(7)
    with serving(lambda _: ok(" " * 65_536 + to_json(target_stats(7)))) as (url, _, __):
        assert refusal(lambda: fetch_stats(TargetStats, url)).startswith(f"{url}: ")


def test_an_answer_that_is_no_text_is_told() -> None:
    with serving(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff") as (url, _, __):
        assert refusal(lambda: fetch_stats(TargetStats, url)).startswith(f"{url}: ")


@pytest.mark.parametrize(
    ("answer", "said"), [(b"", "Remote end closed connection without response"), (b"no HTTP\r\n\r\n", "no HTTP")]
)
def test_what_does_not_speak_http_is_told(answer: bytes, said: str) -> None:
    with serving(lambda _: answer) as (url, _, __):
        assert said in refusal(lambda: fetch_stats(TargetStats, url))


def test_a_server_that_is_not_there_is_told_with_its_url() -> None:
    url = f"http://127.0.0.1:{free_port()}/stats"
    told = refusal(lambda: fetch_stats(TargetStats, url))
    assert told.startswith(f"{url}: ")
    assert "Connection refused" in told


def test_counts_that_come_too_late_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "_STATS_TIMEOUT_S", 0.05)

    def late(_: str) -> bytes:
        gevent.sleep(0.5)
        return ok("")

    with serving(late) as (url, _, __):
        assert refusal(lambda: fetch_stats(TargetStats, url)) == f"{url}: no whole answer within 0.05 s"


def test_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setitem(os.environ, name, f"http://127.0.0.1:{free_port()}")
    with serving(lambda _: ok("")) as (url, _, __):
        check_ready(url, 60)


def test_programs_in_the_path_that_tell_nothing_are_left_out_and_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving(lambda _: ok(to_json(USED))) as (url, _, __):
        silent = f"http://127.0.0.1:{free_port()}/stats"
        found = stats_in_path({InPath.PROXY: silent, InPath.GATEWAY: url})
    assert found == {InPath.GATEWAY: USED}
    assert f"no counts from the {InPath.PROXY}: {silent}: " in caplog.text
    assert stats_in_path({}) == {}
