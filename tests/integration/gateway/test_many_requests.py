import asyncio
import resource
from collections import Counter

import aiohttp
import pytest
from account_server import Place
from gateway_process import gateway_process
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")

_REQUESTS = 1_000
_POOL = {"connections": 4, "connectionsPerCredential": 4, "sessionsPerConnection": 5, "waiting": 100, "waitS": 300}


def test_a_thousand_requests_at_once_get_a_result_or_are_told_to_come_back(place: Place, sshd: SshServer) -> None:
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    folder = place.folder / "gateway-of-many"
    folder.mkdir()
    logins = sshd.accepted()
    with gateway_process(folder, [sshd.port], pool=_POOL) as gateway:
        caller = gateway.caller()
        caller.store("server", sshd).raise_for_status()
        answers = asyncio.run(_ask(f"{caller.url}/sshapi/v2/server", caller.token))

        statuses = Counter(status for status, *_ in answers)
        assert statuses.keys() <= {200, 503}
        assert statuses[200] >= _POOL["waiting"]
        for status, retry_after, answer in answers:
            if status == 200:
                assert answer["stdout"] == "done\n"
            else:
                assert answer["kind"] == "busy"
                assert int(retry_after) >= 1
        assert gateway.metric("sshload_gateway_sessions") == 0
        assert gateway.metric("sshload_gateway_connections") <= _POOL["connections"]
    assert sshd.accepted() - logins <= _POOL["connections"]


async def _ask(url: str, token: str) -> list[tuple[int, str, dict[str, str]]]:
    begin = asyncio.Event()

    async def one(session: aiohttp.ClientSession) -> tuple[int, str, dict[str, str]]:
        await begin.wait()
        async with session.post(url, json={"command": "sleep 0.3; echo done"}) as answer:
            return answer.status, answer.headers.get("Retry-After", ""), await answer.json(content_type=None)

    headers = {"Authorization": f"Bearer {token}"}
    patience = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers=headers, timeout=patience
    ) as session:
        asked = [asyncio.ensure_future(one(session)) for _ in range(_REQUESTS)]
        begin.set()
        return await asyncio.gather(*asked)
