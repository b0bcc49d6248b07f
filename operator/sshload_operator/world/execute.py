"""Carries out a decision, in the one order that may be interrupted anywhere.

The children are applied before the status names the run, so a status never claims what was not done. Deletions follow
the status, so what a status names did exist. A cluster, a local run and the simulated cluster of the tests are worlds:
the same code carries out the same decisions in each.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.decision.load_test.decide import TestDecision
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Announcement, Manifest

Status = Mapping[str, Any]


class World(Protocol):
    """Where a test is run. Each operation is idempotent."""

    async def discard_results(self, run_ids: Sequence[str]) -> None:
        """Delete the stored results of these runs, which a new run replaces."""

    async def start(self, plan: Plan) -> None:
        """Make all children of a run."""

    async def store(self, results: Manifest, status: Status) -> Status:
        """Store the results, and return the status, which does not name them if they could not be stored."""

    async def write_status(self, status: Status) -> bool:
        """Write the status, and return whether the test is still there."""

    async def sweep(self, run_ids: Sequence[str]) -> None:
        """Delete the children of these runs."""

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Publish announcements, in a cluster as Events."""

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
