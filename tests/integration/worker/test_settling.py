import socket
from collections.abc import Callable
from contextlib import suppress

import gevent
import pytest
from free_ports import free_port
from played_target import played_target
from runs import target_stats
from sshload_contract.wire.target import TargetStats
from sshload_worker.coordination.settling import Settling
from sshload_worker.coordination.stats import UnresponsiveError, check_ready

Stats = Callable[[int], TargetStats]


def nobody(problem: str) -> None:
    """Take that the target is not ready, which a machine that stands still for a second may say of any."""


@pytest.mark.parametrize(
    "stats",
    [
        pytest.param(lambda fetch: target_stats(1, sessions=5 if fetch in (2, 3) else 0), id="sessions"),
        pytest.param(lambda fetch: target_stats(1, processes=9 if fetch in (2, 3) else 4), id="processes"),
    ],
)
def test_what_a_trial_leaves_on_the_target_is_waited_for(stats: Stats) -> None:
    fetches = []

    def told(fetch: int) -> TargetStats:
        fetches.append(fetch)
        return stats(fetch)

    with played_target(told) as url:
        settling = Settling(url, nobody)
        assert settling.settle() == ""
        assert fetches == [1]
        assert settling.settle() == ""
        assert fetches == [1, 2, 3, 4]


def test_logins_before_the_load_are_waited_for_until_the_target_has_told_of_them() -> None:
    with played_target(lambda fetch: target_stats(7 if fetch < 4 else 9)) as url:
        settling = Settling(url, nobody)
        assert settling.settle() == ""
        settling.expect(2)
        assert settling.settle() == ""
        assert settling.stats() == target_stats(9)


def test_logins_of_a_worker_that_takes_anothers_place_add_to_those_that_were_waited_for_before() -> None:
    with played_target(lambda fetch: target_stats((7, 9, 10)[min(fetch, 3) - 1])) as url:
        settling = Settling(url, nobody, idle_timeout_s=0.0)
        settling.settle()
        settling.expect(2)
        assert settling.settle() == ""
        settling.expect(3)
        assert settling.settle() == ""


def test_logins_before_the_load_that_the_target_never_tells_of_are_named_in_the_end() -> None:
    with played_target(lambda _: target_stats(7)) as url:
        settling = Settling(url, nobody, idle_timeout_s=0.0)
        settling.settle()
        settling.expect(2)
        assert settling.settle() == "when the trial began, the target had not yet reported 2 earlier logins"


def test_processes_that_were_there_before_the_first_trial_are_the_targets_own() -> None:
    with played_target(lambda _: target_stats(1, processes=7)) as url:
        settling = Settling(url, nobody)
        assert [settling.settle(), settling.settle()] == ["", ""]


def test_what_stays_on_the_target_is_told_in_the_end() -> None:
    with played_target(lambda fetch: target_stats(1, sessions=fetch - 1, processes=3 + fetch)) as url:
        settling = Settling(url, nobody, idle_timeout_s=0.0)
        assert settling.settle() == ""
        assert settling.settle() == (
            "when the trial began, the target still had 1 sessions open and 1 processes more than before the first "
            "trial"
        )


def test_a_target_that_answers_a_byte_at_a_time_is_given_up_after_the_limit_of_the_whole_answer() -> None:
    def answer_for_ever(server: socket.socket) -> None:
        asking, _ = server.accept()
        with asking, suppress(OSError):
            asking.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
            while True:
                asking.sendall(b" ")
                gevent.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as server, gevent.Timeout(300):
        answering = gevent.spawn(answer_for_ever, server)
        host, port = server.getsockname()
        with pytest.raises(UnresponsiveError, match=r"no whole answer within 0\.5 s"):
            check_ready(f"http://{host}:{port}/stats", timeout_s=0.5)
        answering.get()


def test_an_external_target_cannot_be_asked() -> None:
    settling = Settling("", nobody)
    assert (settling.settle(), settling.stats()) == ("", None)


def test_a_target_that_tells_no_counts_is_not_waited_for() -> None:
    with played_target(lambda _: target_stats(1, sessions="many")) as url:
        settling = Settling(url, nobody)
        assert (settling.settle(), settling.stats()) == ("", None)


def test_a_target_that_is_not_ready_is_told_of_until_it_is() -> None:
    told = []

    class GivenUpError(Exception):
        pass

    def tell(problem: str) -> None:
        told.append(problem)
        if len(told) == 2:
            raise GivenUpError

    with pytest.raises(GivenUpError):
        Settling(f"http://127.0.0.1:{free_port()}/stats", tell).settle()
    assert any("Connection refused" in problem for problem in told)


def test_a_target_that_is_slow_to_say_that_it_is_ready_is_given_more_time_each_time_it_is_asked() -> None:
    told: list[str] = []

    def slowly(_: int) -> bool:
        gevent.sleep(0.5)
        return True

    with played_target(is_ready=slowly) as url:
        assert Settling(url, told.append).settle() == ""
    assert "no whole answer within" in told[0]
    assert told[-1] == ""
