"""A program that runs beside the operator's event loop, and ends with whoever waits for it."""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def program(*command: str, stdout: int = PIPE, **options: Any) -> AsyncIterator[Process]:
    """Start a program for the block, which waits for its end; one that still runs after the block is killed.

    `options` are those of `asyncio.create_subprocess_exec`. Raises OSError if there is no such program.
    """
    process = await asyncio.create_subprocess_exec(*command, stdout=stdout, **options)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # its pipes are closed too
