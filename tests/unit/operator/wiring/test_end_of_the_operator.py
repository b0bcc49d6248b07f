"""What the event loop logs while the operator stops."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import pytest
from sshload_operator.control.handlers import ignore_unclosed_watches


async def watch() -> AsyncIterator[int]:
    """Yield once, and fail when the generator is closed."""
    try:
        yield 1
    finally:
        raise RuntimeError("generator didn't stop after athrow()")


def test_a_watch_that_fails_while_the_loop_closes_it_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    open_watch = watch()

    async def stop() -> None:
        asyncio.get_running_loop().set_exception_handler(ignore_unclosed_watches)
        await anext(open_watch)

    with caplog.at_level(logging.DEBUG, logger="asyncio"):
        asyncio.run(stop())
    assert "asynchronous generator" not in caplog.text


def test_an_exception_that_nobody_awaited_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("of a task")

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(ignore_unclosed_watches)
        task = asyncio.create_task(fail())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        assert task.done()
        del task

    asyncio.run(run())
    assert "ValueError: of a task" in caplog.text
