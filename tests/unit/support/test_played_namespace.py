"""What the played garbage collector says of itself."""

import asyncio
from typing import Any

from played_namespace import Happening, PlayedNamespace, _Api


class Deletions(_Api):
    """An API server of which objects are deleted; the second time they are gone."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def ask(self, _method: str, path: str, _body: Any) -> tuple[int, Any]:
        known = path in self.deleted
        self.deleted.append(path)
        return (404 if known else 200), {}


def test_what_it_deleted_it_has_collected_however_late_the_watch_tells_of_it() -> None:
    orphan = {"metadata": {"name": "a", "uid": "u", "ownerReferences": [{"uid": "gone"}]}}
    namespace, api = PlayedNamespace("ns", {}), Deletions()
    namespace.take_in(Happening("ADDED", "ConfigMap", orphan))
    for _ in range(2):
        asyncio.run(namespace.play(api))
    assert namespace.collected == {"u"}
    assert api.deleted == ["/api/v1/namespaces/ns/configmaps/a"]
