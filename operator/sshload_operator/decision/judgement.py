"""The verdict on a summary, by the rules about it."""

from dataclasses import dataclass
from typing import TypeAlias

from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.status.load_test import BaselineStatus
from sshload_operator.state import Reason

Conclusion: TypeAlias = tuple[Verdict, Reason, str]
"""The verdict of one rule, its reason, and a message for people."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a summary. `baseline` is the test that it was compared with, None if it depends on none."""

    verdict: Verdict
    reason: Reason
    message: str
    thresholds: tuple[ThresholdResult, ...]
    baseline: BaselineStatus | None = None
