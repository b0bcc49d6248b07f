"""Where the passes over a comparison do their work."""

import asyncio
import json
import threading
from typing import Any

from aiohttp import web
from plans import INSTALLATION
from played_api import played_api
from specs.small import SMALL
from sshload_operator.control.cluster import Cluster
from sshload_operator.control.live_comparisons import ComparisonKind
from sshload_operator.control.owned_tests import OwnedTests


class Watched(dict[str, Any]):
    """A spec that notes which threads read it."""

    readers: set[threading.Thread]

    def get(self, key: str, default: Any = None) -> Any:
        self.readers.add(threading.current_thread())
        return super().get(key, default)


def test_a_spec_is_read_beside_the_event_loop_for_a_large_one_would_hold_up_all_tests() -> None:
    base = Watched(SMALL)
    base.readers = set()
    metadata = {"namespace": "ns", "name": "c", "uid": "u", "generation": 1, "resourceVersion": "1"}
    body = {"metadata": metadata, "spec": {"base": base, "variants": [{"name": "a"}, {"name": "a"}]}}

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({**body, **json.loads(await request.text() or "{}")})

    async def play() -> None:
        async with played_api(answer) as access:
            cluster = Cluster(access, lambda *_: None)
            try:
                await ComparisonKind(INSTALLATION).reconcile(cluster, body, OwnedTests())
            finally:
                await cluster.close()

    asyncio.run(play())
    assert base.readers
    assert threading.main_thread() not in base.readers
