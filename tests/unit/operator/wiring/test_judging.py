"""What is read of a master's log, and what is read again."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from plans import TOKEN
from runs import snapshot, summary
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.master_log import SUMMARY_LINES_LIMIT, snapshot_line, summary_lines
from sshload_contract.wire.report import EncodedHistogram
from sshload_operator.control.run.judging import Judging, LogReading

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
