"""What is read of a master's log, and what is read again."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from plans import TOKEN
from runs import snapshot, summary
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.master_log import SUMMARY_LINES_LIMIT, MasterLog, snapshot_line, summary_lines
from sshload_contract.wire.report import EncodedHistogram
from sshload_operator.control.run.judging import Judging, LogReading, _still_printed

# Random enough that it takes more lines than a tail has.
RANDOM = EncodedHistogram("total", Window.MEASURED, Outcome.OK, 1, "".join(map(str, range(99_999))))
LONG = "\n".join(summary_lines(summary(histograms=(RANDOM,)), TOKEN))
SHORT = "\n".join(summary_lines(summary(), TOKEN))
SPOILT = SHORT.replace('"sha256":"', '"sha256":"0')


class Logs:
    """The API server, as far as it gives logs: each answer once, in this order."""

    def __init__(self, answers: Sequence[str | None]) -> None:
        self.answers = list(answers)

    async def read_log(self, _namespace: str, _pod: str, _container: str, _lines: int) -> str | None:
        return self.answers.pop(0)


def read(*answers: str | None, times: int = 1) -> tuple[LogReading | None, int]:
    """Read so many times; return the last reading, and how many answers were not asked for."""
    logs: Any = Logs(answers)

    async def reading() -> LogReading | None:
        judging, found = Judging(), None
        for _ in range(times):
            found = await judging.read(logs, "namespace", "pod", found)
            if found is not None and found.unread_lines:
                found = await judging.read_whole(logs, "namespace", "pod", found)
        judging.stop()
        return found

    return asyncio.run(reading()), len(logs.answers)


class Asked(Logs):
    """The same, which notes how many lines are asked for, and whose log."""

    def __init__(self, answers: Sequence[str | None]) -> None:
        super().__init__(answers)
        self.asked: list[tuple[str, str, str, int]] = []

    async def read_log(self, namespace: str, pod: str, container: str, lines: int) -> str | None:
        """Note it, and answer."""
        self.asked.append((namespace, pod, container, lines))
        return await super().read_log(namespace, pod, container, lines)


def test_as_many_lines_are_asked_for_as_the_summary_has_and_ten_around_it() -> None:
    logs: Any = Asked([tail(LONG), LONG])

    async def reading() -> LogReading:
        judging = Judging()
        end = await judging.read(logs, "ns", "pod", None)
        assert end is not None
        assert end.unread_lines == end.log.summary_lines == len(LONG.splitlines())
        whole = await judging.read_whole(logs, "ns", "pod", end)
        judging.stop()
        return whole

    whole = asyncio.run(reading())
    assert logs.asked == [("ns", "pod", "master", 10), ("ns", "pod", "master", len(LONG.splitlines()) + 10)]
    assert (whole.unread_lines, whole.tail) == (0, tail(LONG))


def test_a_read_of_the_whole_that_failed_is_repeated_with_as_many_lines_as_there_can_be() -> None:
    logs: Any = Asked([tail(LONG)])

    async def reading() -> tuple[LogReading, LogReading]:
        judging = Judging()
        end = await judging.read(logs, "ns", "pod", None)
        assert end is not None
        again = await judging.read(logs, "ns", "pod", end)
        judging.stop()
        assert again is not None
        return end, again

    end, again = asyncio.run(reading())
    assert len(logs.asked) == 1, "the tail is not asked for again"
    assert again == replace(end, unread_lines=SUMMARY_LINES_LIMIT)


def test_a_log_that_is_gone_leaves_what_was_read_of_it() -> None:
    found, left = read(SHORT, None, times=2)
    assert left == 0
    assert found is not None
    assert found.log.summary is not None
    assert read(None)[0] is None


def test_only_a_summary_that_was_spoilt_stays_so() -> None:
    early, later = snapshot_line(snapshot()), snapshot_line(snapshot(iterations=400))
    found, _ = read(early, later, times=2)
    assert found is not None
    assert found.log.snapshot == snapshot(iterations=400)
    found, _ = read(f"{early}\n{SPOILT}", f"{early}\n{SPOILT}", "nothing of ours", times=2)
    assert found is not None
    assert found.log.snapshot == snapshot()


def tail(text: str) -> str:
    return "\n".join(text.splitlines()[-10:])


def test_a_long_summary_is_read_whole() -> None:
    found, _ = read(tail(LONG), LONG)
    assert found is not None
    assert found.log.summary is not None


def test_a_long_summary_that_was_not_given_is_asked_for_again() -> None:
    found, left = read(tail(LONG), None, tail(LONG), "unable to retrieve container logs", tail(LONG), LONG, times=3)
    assert left == 0
    assert found is not None
    assert found.log.summary is not None


def test_a_log_that_says_nothing_new_is_not_read_whole_again() -> None:
    spoilt = tail(LONG).replace('"sha256":"', '"sha256":"0')
    whole = LONG.replace('"sha256":"', '"sha256":"0')
    found, left = read(spoilt, whole, spoilt, "never asked for", times=2)
    assert left == 1
    assert found is not None
    assert "SHA-256" in found.log.problem


def test_a_short_summary_takes_one_request() -> None:
    found, left = read(SHORT, "never asked for")
    assert (found is not None and found.log.summary is not None, left) == (True, 1)


def test_a_spoilt_summary_stays_spoilt_when_later_lines_push_it_out_of_the_tail() -> None:
    later = snapshot_line(snapshot())
    found, _ = read(SPOILT, SPOILT, later, times=2)
    assert found is not None
    assert "SHA-256" in found.log.problem
    assert found.log.snapshot == snapshot()


def test_a_whole_summary_after_a_spoilt_one_is_the_one() -> None:
    found, _ = read(SPOILT, SPOILT, SHORT, times=2)
    assert found is not None
    assert (found.log.summary is not None, found.log.problem) == (True, "")


def test_the_many_runs_of_a_namespace_do_not_hold_up_those_of_others() -> None:
    done: list[str] = []

    async def judge_all() -> None:
        judging = Judging()
        names = [*(f"many/{number}" for number in range(10)), "few/0", "few/1", "one/0"]
        await asyncio.gather(*(judging.run(name.partition("/")[0], partial(done.append, name)) for name in names))
        judging.stop()

    asyncio.run(judge_all())
    assert done.index("one/0") <= 3
    assert done.index("few/1") <= 5
    assert [name for name in done if name.startswith("many/")] == [f"many/{number}" for number in range(10)]


def test_a_run_that_no_longer_waits_keeps_no_turn() -> None:
    done: list[str] = []

    async def judge_all() -> None:
        judging, release = Judging(), threading.Event()
        first = asyncio.create_task(judging.run("a", release.wait))
        waiting = [asyncio.create_task(judging.run("b", partial(done.append, name))) for name in ("gone", "stays")]
        await asyncio.sleep(0)
        waiting[0].cancel()
        release.set()
        await asyncio.gather(first, waiting[1])
        judging.stop()

    asyncio.run(judge_all())
    assert done == ["stays"]


def test_while_one_namespaces_work_goes_on_nothing_else_is_handed_to_the_thread() -> None:
    """What is handed over cannot give way to another namespace any more."""
    done: list[str] = []

    async def judge_all() -> None:
        judging, release = Judging(), threading.Event()
        first = asyncio.create_task(judging.run("many", release.wait))
        names = ("many/1", "many/2", "one/0")
        others = [
            asyncio.create_task(judging.run(name.partition("/")[0], partial(done.append, name))) for name in names
        ]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(first, *others)
        judging.stop()

    asyncio.run(judge_all())
    assert done == ["one/0", "many/1", "many/2"]


def test_one_whole_summary_is_read_at_a_time_because_it_may_be_large() -> None:
    class Slow(Logs):
        """Answers once it is told to."""

        def __init__(self) -> None:
            super().__init__([])
            self.asked: list[str] = []
            self.go_on = asyncio.Event()

        async def read_log(self, namespace: str, _pod: str, _container: str, _lines: int) -> str | None:
            self.asked.append(namespace)
            await self.go_on.wait()
            return None

    async def play() -> None:
        judging, logs = Judging(), Slow()
        end = LogReading("", MasterLog(None, None, 5, ""), 5)
        cluster: Any = logs
        reads = [asyncio.create_task(judging.read_whole(cluster, name, "pod", end)) for name in ("a", "b")]
        for _ in range(10):
            await asyncio.sleep(0)
        assert logs.asked == ["a"]
        logs.go_on.set()
        await asyncio.gather(*reads)
        assert logs.asked == ["a", "b"]
        judging.stop()

    asyncio.run(play())


def test_a_whole_log_that_lacks_the_summary_is_kept_without_its_tail_so_that_it_is_looked_for_again() -> None:
    logs: Any = Logs([snapshot_line(snapshot())])

    async def reading() -> LogReading:
        judging = Judging()
        found = await judging.read_whole(logs, "ns", "pod", LogReading("a tail", MasterLog(None, None, 5, ""), 5))
        judging.stop()
        return found

    assert asyncio.run(reading()) == LogReading("", MasterLog(snapshot(), None, 0, ""))


def test_an_operator_that_stops_waits_for_no_work_and_takes_none() -> None:
    async def play() -> None:
        judging, release, began = Judging(), threading.Event(), threading.Event()

        def work() -> None:
            began.set()
            release.wait()

        going_on = asyncio.create_task(judging.run("a", work))
        await asyncio.to_thread(began.wait)
        judging.stop()
        release.set()
        await going_on
        with pytest.raises(RuntimeError, match="shutdown"):
            await judging.run("a", release.wait)

    asyncio.run(play())


@pytest.mark.parametrize(
    ("before", "stays"),
    [
        (MasterLog(None, None, 5, "its SHA-256 is wrong"), True),
        (MasterLog(None, summary(), 5, ""), False),
        (MasterLog(None, None, 0, "nothing of a summary"), False),
    ],
)
def test_only_a_summary_that_is_there_and_unusable_outlives_the_lines_after_it(
    before: MasterLog, *, stays: bool
) -> None:
    now = MasterLog(snapshot(), None, 0, "")
    assert _still_printed(before, now) == (replace(before, snapshot=snapshot()) if stays else now)
    newer = MasterLog(None, None, 7, "")
    assert _still_printed(before, newer) == newer
