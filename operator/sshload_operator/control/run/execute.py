"""Carries out a decision, in the one order that is safe to be cut short anywhere.

The children are applied before the status speaks of the run, so a status never claims what was not done. What is taken
away goes after the status, so what a status names was there. A cluster, a local run and the simulated cluster of the
tests are worlds in which the same decisions are carried out by the same code.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.decision.load_test.decide import TestDecision
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Announcement, Manifest

Status = Mapping[str, Any]


class World(Protocol):
    """Where a test is run. Each operation can be repeated: one that was done before changes nothing."""

    async def discard_results(self, run_ids: Sequence[str]) -> None:
        """Take away the stored results of these runs, which a new run replaces."""

    async def start(self, plan: Plan) -> None:
        """Make all children of a run."""

    async def store(self, results: Manifest, status: Status) -> Status:
        """Keep the results, and return the status, which does not point at them if they could not be kept."""

    async def write_status(self, status: Status) -> bool:
        """Write the status, and return whether the test is still there."""

    async def sweep(self, run_ids: Sequence[str]) -> None:
        """Take away the children of these runs."""

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Tell people of what happened, as Events do."""

    async def delete_test(self) -> None:
        """Delete the test itself."""


async def execute(decision: TestDecision, plan: Plan | SpecError, world: World) -> bool:
    """Carry out a decision, and return whether the test is still there. Raises what the world raises."""
    status = decision.status
    if decision.replaced:
        await world.discard_results(decision.replaced)
    if decision.start and isinstance(plan, Plan):
        await world.start(plan)
    if decision.store is not None:
        status = await world.store(decision.store, status or {})
    if status is not None and not await world.write_status(status):
        return False
    if decision.sweep:
        await world.sweep(decision.sweep)
    if decision.announcements:
        await world.announce(decision.announcements)
    if decision.delete_self:
        await world.delete_test()
    return True
