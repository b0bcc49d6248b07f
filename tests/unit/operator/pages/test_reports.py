"""How many pages of reports one user may ask for at once."""

import asyncio
from http import HTTPStatus
from itertools import count
from typing import Any

import pytest
from sshload_operator.api.kinds import TEST
from sshload_operator.control.pages import reports
from sshload_operator.control.pages.index import Line
from sshload_operator.control.pages.reports import NoReportError, RenderedReports


class Held:
    """An API server that answers when it is told to: that there is no such object."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def read(self, *_: str) -> None:
        await self.may_answer.wait()


def line(number: int) -> Line:
    return Line(
        namespace="ns",
        name=f"t-{number}",
        uid=f"uid-{number}",
        version="1",
        is_live=False,
        is_over=True,
        state="Finished",
        passed=True,
        message="",
        time="",
    )


def test_a_user_who_waits_for_as_many_pages_as_may_be_is_told_so_and_another_waits() -> None:
    async def play() -> None:
        cluster: Any = Held()
        pages = RenderedReports(cluster)

        numbers = count()

        def ask(user: str) -> "asyncio.Task[Any]":
            return asyncio.create_task(pages.page(TEST, line(next(numbers)), user))

        waiting = [ask("anna") for _ in range(reports._MOST_WAITING_OF_A_USER)]
        await asyncio.sleep(0)  # each begins
        late = ask("anna")
        await asyncio.sleep(0)
        assert late.done()
        with pytest.raises(NoReportError, match="too many pages are being made for you") as refused:
            await late
        assert refused.value.status is HTTPStatus.SERVICE_UNAVAILABLE
        other = ask("ben")
        await asyncio.sleep(0)
        assert not other.done()
        cluster.may_answer.set()
        ends = await asyncio.gather(*waiting, other, return_exceptions=True)
        assert {str(end).partition(" t-")[0] for end in ends} == {"the test"}
        with pytest.raises(NoReportError, match="is gone"):
            await ask("anna")

    asyncio.run(play())
