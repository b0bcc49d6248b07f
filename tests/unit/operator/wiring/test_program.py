"""Programs that run beside the operator's event loop."""

import asyncio
import gc
import sys
from pathlib import Path

import pytest
from sshload_operator.world.program import program
from until import until

_NEVER_ENDS = "import time; time.sleep(600)"


def test_a_program_ends_with_who_waited_for_it_and_leaves_nothing_open() -> None:
    started: list[asyncio.subprocess.Process] = []

    async def wait() -> None:
        async with program(sys.executable, "-c", _NEVER_ENDS) as process:
            started.append(process)
            await process.communicate()

    async def play() -> None:
        waiting = asyncio.create_task(wait())
        await until(lambda: bool(started))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(play())
    assert started[0].returncode == -9
    assert not Path(f"/proc/{started[0].pid}").exists()
    started.clear()
    gc.collect()  # a transport that was left open would complain


def test_a_program_that_has_ended_keeps_its_exit_code() -> None:
    async def play() -> tuple[bytes, int | None]:
        async with program(sys.executable, "-c", "print('made'); raise SystemExit(3)") as process:
            made, _ = await process.communicate()
        return made, process.returncode

    assert asyncio.run(play()) == (b"made\n", 3)
