"""Figures of all objects of one kind, for Prometheus. They change only with their object, and disappear with it."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar
from zlib import compress, decompress

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

Key = tuple[str, str]
F = TypeVar("F")
_FAST: Final = 1
_LINES_OF_HEAD: Final = 2


class Published(Collector, Generic[F]):
    """The figures of each object of a kind, by namespace and name. A kind says what they are, and collects them.

    The watch may tell late that a former object of the same name is gone: that leaves the figures of the new one.
    """

    def __init__(self) -> None:
        self._uids: dict[Key, str] = {}
        self.published: dict[Key, F] = {}
        self._packed_text: Sequence[bytes] | None = None

    @abstractmethod
    def figures(self, body: Mapping[str, Any]) -> F:
        """Return what is published of an object."""

    def object_changed(self, event_type: str | None, body: Mapping[str, Any]) -> None:
        """Take in a watch event of an object of the kind."""
        metadata = body["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if event_type != "DELETED":
            self.published[key], self._uids[key] = self.figures(body), metadata["uid"]
            self._packed_text = None
        elif self._uids.get(key) == metadata["uid"]:
            self._drop(key)

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Take in that objects are gone."""
        for key in filter(is_gone, tuple(self.published)):
            self._drop(key)

    def _drop(self, key: Key) -> None:
        del self.published[key], self._uids[key]
        self._packed_text = None

    def render(self) -> Iterator[bytes]:
        """Return the text for Prometheus, piece by piece. It is made again only if an object has changed.

        A family may be collected in parts, one after the other.
        """
        if self._packed_text is None:
            self._packed_text = tuple(_packed_texts(self.collect()))
        return map(decompress, self._packed_text)


class _Family(Collector):
    """A family by itself, so that its samples are freed before those of the next one are made."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


def _packed_texts(families: Iterable[Metric]) -> Iterator[bytes]:
    begun = ""
    for family in families:
        registry = CollectorRegistry()
        registry.register(_Family(family))
        text = generate_latest(registry)
        if family.name == begun:
            text = text.split(b"\n", _LINES_OF_HEAD)[_LINES_OF_HEAD]
        begun = family.name
        yield compress(text, _FAST)
