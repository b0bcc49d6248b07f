"""What became of a load."""

from dataclasses import dataclass

from sshload_contract.bounds import Amount, Count


@dataclass(frozen=True, slots=True)
class LoadStats:
    """The load in the measured window, in iterations and iterations per second.

    `held_most` and `held_least` are how many sessions were held at once, after the ramp; None for any load but hold.

    `offered` is what the load model asked for, and `achieved` what was begun, of what was due in the window.
    `completed` is what ended well in the window, whenever it was due.
    """

    duration_s: Amount
    scheduled: Count
    started: Count
    succeeded: Count
    failed: Count
    late: Count
    dropped: Count
    offered_rate: Amount
    achieved_rate: Amount
    completed_rate: Amount
    held_most: Count | None
    held_least: Count | None
