"""TrialOrder: which trial of a run comes next, and how much load it is."""

from dataclasses import dataclass, replace

from sshload_contract.capacity import load_at
from sshload_contract.run_config import RunConfig


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """One trial. `number` counts those of a search from 1; a run that searches nothing is one trial, of number 0.

    `amount` is that of the load (contract capacity.py), for number 0 as it is configured.
    """

    number: int
    amount: float

    def config(self, run: RunConfig) -> RunConfig:
        """Return what this trial is to be: the run, but for the amount of its load."""
        return replace(run, load=load_at(run.load, self.amount)) if self.number else run
