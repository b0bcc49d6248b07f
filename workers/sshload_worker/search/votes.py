"""The evidence of the trials about each load, counted as votes."""

from dataclasses import dataclass, field

from sshload_contract.thresholds import GIVEN_UP_AFTER, unjudged

_NEVER_JUDGED_AFTER = 3


@dataclass(slots=True)
class Votes:
    """The trials of one rung. `completed` is the lowest rate that a failed one completed, None where none is known.

    Trials that are invalid because of steal are `stolen`, the others `invalid`.
    """

    passes: int = 0
    fails: int = 0
    invalid: int = 0
    stolen: int = 0
    completed: float | None = None

    @property
    def lead(self) -> int:
        """Return by how many the passes outnumber the fails."""
        return self.passes - self.fails

    @property
    def unjudged(self) -> float:
        """Return by how many the invalid trials outnumber those that were judged."""
        return unjudged(self.invalid, self.stolen, self.passes + self.fails)


@dataclass(slots=True)
class VotesByRung:
    """The votes by rung. More load is no easier: a pass speaks for the rungs below too, a fail for those above."""

    by_rung: dict[int, Votes] = field(default_factory=dict)

    def count(self, rung: int, *, passed: bool | None, stolen: bool, completed: float | None) -> None:
        """Count one trial; `passed` is None where it was invalid, and `stolen` tells whether because of steal."""
        votes = self.by_rung.setdefault(rung, Votes())
        if passed is None and stolen:
            votes.stolen += 1
        elif passed is None:
            votes.invalid += 1
        elif passed:
            votes.passes += 1
        else:
            votes.fails += 1
            votes.completed = min((rate for rate in (votes.completed, completed) if rate), default=None)

    def first_given_up(self) -> int | None:
        """Return the lowest rung that was given up, as the generator could not make it again and again."""
        return min((rung for rung, votes in self.by_rung.items() if votes.unjudged >= GIVEN_UP_AFTER), default=None)

    def is_given_up(self, rung: int) -> bool:
        """Return whether there is no more use in trying this rung."""
        return self.by_rung[rung].unjudged >= _NEVER_JUDGED_AFTER

    def lead(self, rung: int) -> int:
        """Return by how many the passes of a rung outnumber its fails."""
        return self.by_rung[rung].lead if rung in self.by_rung else 0

    def judged(self, rung: int) -> int:
        """Return the number of a rung's trials that passed or failed."""
        votes = self.by_rung.get(rung, Votes())
        return votes.passes + votes.fails

    def lowest_failing(self, *, above: int, below: int) -> int | None:
        """Return the lowest rung between the two of which most trials failed."""
        failing = (rung for rung, votes in self.by_rung.items() if above < rung < below and votes.lead < 0)
        return min(failing, default=None)

    def highest_passing(self, below: int) -> int | None:
        """Return the highest rung under `below` of which most trials passed."""
        return max((rung for rung, votes in self.by_rung.items() if rung < below and votes.lead > 0), default=None)

    def undecided(self, below: int) -> int | None:
        """Return the lowest rung under `below` that was tried and is neither judged nor given up: it is tried again."""
        return min(
            (
                rung
                for rung, votes in self.by_rung.items()
                if rung < below and votes.lead == 0 and votes.unjudged < GIVEN_UP_AFTER
            ),
            default=None,
        )

    def passes_at_or_above(self, rung: int) -> int:
        """Return the number of trials by which the rung passes."""
        return sum(votes.passes for other, votes in self.by_rung.items() if other >= rung)

    def fails_at_or_below(self, rung: int) -> int:
        """Return the number of trials by which the rung fails."""
        return sum(votes.fails for other, votes in self.by_rung.items() if other <= rung)
