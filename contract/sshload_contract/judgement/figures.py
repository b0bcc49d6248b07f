"""Figures of a summary that more than one rule asks for."""

from sshload_contract.run_summary import RunSummary, StepStats
from sshload_contract.vocabulary import Step, Window


def client_logins(summary: RunSummary) -> int:
    """Return how many logins the workers count over the whole run: of iterations, of kept sessions and of held ones.

    Each login says once what it has negotiated, whoever it is for and in whatever window it falls.
    """
    return sum(one.count for one in summary.negotiated)


def accepted_logins(summary: RunSummary) -> int | None:
    """Return how many logins the managed target counts over the whole run, None where its counts are not known."""
    if summary.target_before is None or summary.target_after is None:
        return None
    return summary.target_after.accepted - summary.target_before.accepted


def total_step(summary: RunSummary, window: Window) -> StepStats | None:
    """Return the figures of whole iterations in a window."""
    return find_step(summary, Step.TOTAL, window)


def find_step(summary: RunSummary, name: str, window: Window) -> StepStats | None:
    """Return the figures of a step in a window, None where it was never begun there."""
    return next((step for step in summary.steps if step.step == name and step.window is window), None)
