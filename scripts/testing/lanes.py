"""A plugin of pytest: `--lanes N` runs tests side by side, in processes that are forked when all tests are collected.

Tests are imported and collected once. A lane gets the tests of one file after the other, and runs them as pytest does:
a fixture of the session is made once in each lane that asks for it. Tests of the same `xdist_group` run in one lane,
and so do tests of a file that use a fixture which the file makes once for several of them. A lane that dies fails the
test that it was at; another one goes on. SIGTERM fails the tests that are under way, and ends the run with its report.
"""

import atexit
import json
import os
import signal
import struct
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import _exit, close, fork, read, waitpid, write  # those of the system, whatever patches this process later
from select import poll
from typing import Any, NoReturn

import pytest
from _pytest import junitxml

from testing.streams import Streams

_LENGTH = struct.Struct("!I")
_GROUP = "xdist_group"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the number of lanes."""
    parser.addoption("--lanes", type=int, default=0, help="run tests in so many processes of their own")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in lanes where there are to be any; pytest itself does what is left."""
    options = session.config.option
    is_broken = session.testsfailed and not options.continue_on_collection_errors
    if options.lanes < 1 or options.collectonly or is_broken or not session.items:
        return None
    with suppress(_LaneEnded):
        _Lanes(session).run()
    return True


class _LaneEnded(Exception):  # noqa: N818 - no error
    """The process is a lane that has run all its tests: it ends as a run of pytest does, but waits for no thread."""


@dataclass(frozen=True, slots=True)
class _Pipe:
    """Messages in one direction, each a list whose first word says what it is."""

    reading: int
    writing: int

    def send(self, *message: Any) -> None:
        data = json.dumps(message).encode()
        left = memoryview(_LENGTH.pack(len(data)) + data)
        while left:
            left = left[write(self.writing, left) :]

    def receive(self) -> list[Any] | None:
        """Return the next message, None when the sender has ended."""
        head = self._exactly(_LENGTH.size)
        data = self._exactly(*_LENGTH.unpack(head)) if len(head) == _LENGTH.size else b""
        return json.loads(data) if data else None

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length and (piece := read(self.reading, length - len(data))):
            data += piece
        return data


@dataclass(slots=True)
class _Lane:
    """A lane as the process has it that hands out tests."""

    number: int
    pid: int
    said: _Pipe
    told: _Pipe
    under_way: list[int]
    """The tests that it has got and that have not ended; it is at the first one."""
    last: int = 0
    """The test that it ran last."""
    ended: bool = False
    """Whether it has nothing more to say."""


class _Lanes:
    """The process that hands out the tests, and reports what came of them."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._config = session, session.config
        self._count = min(self._config.option.lanes, len(session.items))
        self._streams = Streams((_stream_of(item) for item in session.items), self._count)
        self._lanes: dict[int, _Lane] = {}
        self._poll = poll()
        self._is_terminated = False

    def run(self) -> None:
        """Run all tests. Raises _LaneEnded in each lane."""
        before = signal.signal(signal.SIGTERM, self._terminate)
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._config.pluginmanager.getplugin("capturemanager").stop_global_capturing()  # lanes would share its files
        for number in range(self._count):
            self._start(number)
        while self._lanes:
            for descriptor, _ in self._poll.poll():
                self._listen(self._lanes[descriptor])
        signal.signal(signal.SIGTERM, before)
        if self._is_terminated:
            raise self._session.Interrupted("terminated")
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)

    def _terminate(self, *_: object) -> None:
        self._is_terminated = True
        for lane in self._lanes.values():
            os.kill(lane.pid, signal.SIGTERM)

    def _start(self, number: int) -> None:
        said, told = _Pipe(*os.pipe()), _Pipe(*os.pipe())
        pid = fork()
        if pid == 0:
            for lane in self._lanes.values():  # else they would not learn that this one's parent has ended
                close(lane.told.writing)
            close(told.writing)
            _run_lane(self._session, number, said, told)
        close(said.writing)
        close(told.reading)
        self._lanes[said.reading] = _Lane(number, pid, said, told, [])
        self._poll.register(said.reading)

    def _listen(self, lane: _Lane) -> None:
        match lane.said.receive():
            case ["report", data]:
                if isinstance(data["longrepr"], list):  # where and why it was skipped
                    data["longrepr"] = tuple(data["longrepr"])
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
                self._config.hook.pytest_runtest_logreport(report=report)
            case ["warning", text, file, line, when, test]:
                self._config.hook.pytest_warning_recorded.call_historic(
                    kwargs={
                        "warning_message": warnings.WarningMessage(text, Warning, file, line),
                        "when": when,
                        "nodeid": test,
                        "location": None,
                    }
                )
            case ["done"]:
                lane.last = lane.under_way.pop(0)
            case ["next"]:
                is_over = self._is_terminated or self._session.shouldfail or self._session.shouldstop
                lane.under_way = [] if is_over else self._streams.take(lane.number)
                lane.told.send(*lane.under_way)
            case ["end"]:
                lane.ended = True
            case None:
                self._reap(lane)

    def _reap(self, lane: _Lane) -> None:
        """Report how a lane ended that did not run all its tests, and start another one in its place."""
        self._poll.unregister(lane.said.reading)
        del self._lanes[lane.said.reading]
        close(lane.said.reading)
        close(lane.told.writing)
        code = os.waitstatus_to_exitcode(waitpid(lane.pid, 0)[1])
        if lane.ended:
            return
        at, *left = lane.under_way or [lane.last]
        how = "the run was terminated" if self._is_terminated else f"its process ended with exit code {code}"
        when = "during" if lane.under_way else "after"
        self._fail(self._session.items[at], f"{how} {when} this test")
        if not self._is_terminated:
            self._streams.give_back(lane.number, left)
            self._start(lane.number)

    def _fail(self, item: pytest.Item, why: str) -> None:
        name = [("nodeid", item.nodeid)]
        failed = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
        ended = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "teardown", user_properties=name)
        for report in failed, ended:
            self._config.hook.pytest_runtest_logreport(report=report)


def _run_lane(session: pytest.Session, number: int, said: _Pipe, told: _Pipe) -> NoReturn:
    """Run tests as long as there are any, in a process that was forked for it. What it says is all that it reports."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    config = session.config
    config.pluginmanager.unregister(name="terminalreporter")
    junitxml.pytest_unconfigure(config)
    config.pluginmanager.register(_Said(config, said))
    config.pluginmanager.getplugin("capturemanager").start_global_capturing()
    folders = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"lane-{number}-{os.getpid()}"
    folders._basetemp.mkdir(mode=0o700)
    last: pytest.Item | None = None
    said.send("next")
    while tests := told.receive():
        items = [session.items[test] for test in tests]
        if last is not None:
            _leave(last, items[0])
        for item, following in zip(items, [*items[1:], items[-1].parent], strict=True):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            said.send("done")
        last = items[-1]
        said.send("next")
    if last is not None:
        _leave(last, None)
    said.send("end")
    raise _LaneEnded


def _leave(last: pytest.Item, following: pytest.Item | None) -> None:
    """Tear down what the test that comes now does not share with the last one, which an error of it is reported for."""
    if following is not None and following.parent is last.parent:
        return
    state = last.session._setupstate
    call = pytest.CallInfo.from_call(lambda: state.teardown_exact(following), "teardown")
    if call.excinfo is not None:
        last.ihook.pytest_runtest_logreport(report=last.ihook.pytest_runtest_makereport(item=last, call=call))


@dataclass(frozen=True, slots=True)
class _Said:
    """What a lane reports, as hooks of pytest."""

    config: pytest.Config
    pipe: _Pipe

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """End the lane. Python would wait for threads first: with gevent, for one that was not forked with the lane."""
        atexit._run_exitfuncs()
        _exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report."""
        self.pipe.send("report", self.config.hook.pytest_report_to_serializable(config=self.config, report=report))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: str, nodeid: str) -> None:
        """Send a warning."""
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        self.pipe.send("warning", text, warning_message.filename, warning_message.lineno, when, nodeid)


def _stream_of(item: pytest.Item) -> tuple[str, bool]:
    """Return the name of what a test belongs to, and whether one lane runs all of it."""
    group = item.get_closest_marker(_GROUP)
    if group is not None:
        return str(group.args[0]), True
    file = item.nodeid.split("::")[0]
    return file, any(scope != "function" for scope in _scopes(item, file))


def _scopes(item: pytest.Item, file: str) -> Iterator[str]:
    """Yield the scopes of the fixtures of its own file that a test uses."""
    information = getattr(item, "_fixtureinfo", None)
    definitions = information.name2fixturedefs.values() if information else ()
    return (one.scope for several in definitions for one in several if one.baseid == file)
