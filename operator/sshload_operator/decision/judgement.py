"""What the rules about a summary say: the verdict on it."""

from dataclasses import dataclass
from typing import TypeAlias

from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Verdict

from sshload_operator.api.status.load_test import BaselineStatus
from sshload_operator.state import Reason

Conclusion: TypeAlias = tuple[Verdict, Reason, str]
"""The verdict that one rule comes to, its reason, and a message for people."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a summary. `baseline` is the test that had a say in it, None if none had."""

    verdict: Verdict
    reason: Reason
    message: str
    thresholds: tuple[ThresholdResult, ...]
    baseline: BaselineStatus | None = None
