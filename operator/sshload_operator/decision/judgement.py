"""How a run is judged at its end, by its summary or by what ended it before there was one."""

from dataclasses import dataclass
from typing import TypeAlias

from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.run_summary import RunSummary

from sshload_operator.api.status.load_test import BaselineStatus
from sshload_operator.state import ConditionType, Reason

Conclusion: TypeAlias = tuple[Verdict, Reason, str]
"""The verdict of one rule, its reason, and a message for people."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a run. `about` is the condition whose defect ended it, `summary` the result from the master.

    `baseline` is the test that it was compared with, None if it was with none; `other_login` says how the logins of
    that test were others, if they were.
    """

    verdict: Verdict
    reason: Reason
    message: str
    thresholds: tuple[ThresholdResult, ...] = ()
    baseline: BaselineStatus | None = None
    other_login: str = ""
    about: ConditionType | None = None
    summary: RunSummary | None = None
