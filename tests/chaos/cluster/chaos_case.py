"""A case of a table of faults, and what was found when it was played."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from chaos_stage import Stage
from cluster_oracles import Ended


@dataclass(frozen=True, slots=True)
class Found:
    """How the tests of a case ended, what was wrong, and what else is worth a line (`notes`)."""

    ends: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    statuses: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, *ends: Ended) -> Self:
        """Return what was found of tests that have ended."""
        return cls(
            tuple(str(end) for end in ends),
            tuple(problem for end in ends for problem in end.problems),
            statuses=tuple(end.status for end in ends),
        )

    def with_problems(self, *problems: str) -> Self:
        """Return it with further problems."""
        return replace(self, problems=(*self.problems, *problems))

    def saying(self, *words: str) -> Self:
        """Return it with something that is worth a line."""
        return replace(self, notes=(*self.notes, *words))

    @property
    def lagging(self) -> Mapping[str, Any]:
        """The status of a test that is Invalid, if one is."""
        return next((status for status in self.statuses if status.get("verdict") == "Invalid"), {})


@dataclass(frozen=True, slots=True)
class Case:
    """One fault on the cluster, with the tests that it befalls. `play` may be called again with new namespaces."""

    name: str
    play: Callable[[Stage], Found]
