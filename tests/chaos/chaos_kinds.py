"""What is run under faults: one object of each kind, when it has come to its end, and what the masters find."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from live_cluster import load_test
from played_namespace import PlayedNamespace

Manifest = Mapping[str, Any]
LONGEST_S = 60
"""The deadline of the test that each kind runs."""

_ONCE = {"startTimeout": "30s", "deadline": f"{LONGEST_S}s"}


@dataclass(frozen=True, slots=True)
class Kind:
    """What is applied, and when it is over. `within_s` is the time until which each of its tests is over.

    `status` is written after the creation, as an operator would have left it.
    """

    name: str
    manifest: Manifest
    is_over: Callable[[PlayedNamespace], bool]
    within_s: float
    status: Manifest | None = None


def _test_is_gone(namespace: PlayedNamespace) -> bool:
    """Tell whether a test with a time to live came and went, with everything that it had."""
    return bool(namespace.history) and not namespace.objects


TEST = Kind(
    name="test",
    manifest=load_test("run", ttlAfterFinished={"passed": "1s", "failed": "1s"}, **_ONCE),
    is_over=_test_is_gone,
    within_s=LONGEST_S,
)
KINDS = {kind.name: kind for kind in (TEST,)}
