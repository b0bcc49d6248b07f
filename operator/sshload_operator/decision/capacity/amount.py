"""Amounts of load as people read them, each with its unit."""

from sshload_contract.load import Load
from sshload_contract.run_summary import CapacityResult
from sshload_contract.vocabulary import SearchEnd


def digits(amount: float) -> str:
    """Return an amount in six digits at most, which are more than a search tells apart."""
    return f"{amount:.6g}"


def in_words(amount: float, load: Load) -> str:
    """Return an amount with its unit: `118 arrivals/s`."""
    return f"{digits(amount)} {load.unit}"


def capacity_in_words(found: CapacityResult, load: Load) -> str | None:
    """Return what is known of the capacity, in a few words, None where nothing is; a bound never reads as a capacity.

    Only a capacity that was found is a plain amount: `118 arrivals/s`, else `500 arrivals/s or more`.
    """
    lower, upper = found.lower, found.upper
    if lower is not None and found.end is SearchEnd.FOUND:
        return in_words(lower, load)
    if lower is not None and upper is not None:
        return f"{digits(lower)} to {in_words(upper, load)}"
    if lower is not None:
        return f"{in_words(lower, load)} or more"
    return f"below {in_words(upper, load)}" if upper is not None else None
