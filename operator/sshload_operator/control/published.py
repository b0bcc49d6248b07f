"""Figures of all objects of one kind, for Prometheus: they vanish with their object, and change with it only."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

Key = tuple[str, str]
F = TypeVar("F")


class Published(Collector, Generic[F]):
    """The figures of each object of a kind, by namespace and name. A kind says what they are, and collects them."""

    def __init__(self) -> None:
        self.published: dict[Key, F] = {}
        self._rendered: bytes | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)

    @abstractmethod
    def figures(self, body: Mapping[str, Any]) -> F:
        """Return what is published of an object."""

    def object_changed(self, event_type: str | None, body: Mapping[str, Any]) -> None:
        """Take in a watch event of an object of the kind."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        if event_type == "DELETED":
            self.published.pop(key, None)
        else:
            self.published[key] = self.figures(body)
        self._rendered = None

    def forget(self, is_gone: Callable[[Key], bool]) -> None:
        """Take in that objects are gone."""
        for key in filter(is_gone, tuple(self.published)):
            del self.published[key]
            self._rendered = None

    def render(self) -> bytes:
        """Return the text for Prometheus; the same bytes as long as no object changes."""
        if self._rendered is None:
            self._rendered = generate_latest(self._registry)
        return self._rendered
