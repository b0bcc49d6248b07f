"""What the commands' exit codes mean."""

from enum import IntEnum, unique

from sshload_contract.vocabulary import Verdict

from sshload_operator.decision.comparison.words import ComparisonVerdict


@unique
class ExitCode(IntEnum):
    """A code for each verdict; ERROR is also that of a test that could not be begun.

    USAGE is sysexits.h's EX_USAGE, INTERRUPTED what a shell says of SIGINT.
    """

    PASSED = 0
    FAILED = 1
    INCONCLUSIVE = 2
    INVALID = 3
    ERROR = 4
    ABORTED = 5
    USAGE = 64
    INTERRUPTED = 130


def exit_code(verdict: str) -> ExitCode:
    """Return the code of a verdict as it stands in a status; raises KeyError for a word that is none."""
    return ExitCode[Verdict(verdict).name]


def comparison_exit_code(verdict: str) -> ExitCode:
    """Return the code of a comparison's verdict: 0 where it is conclusive, whatever it found."""
    word = ComparisonVerdict(verdict)
    return ExitCode.PASSED if word is ComparisonVerdict.CONCLUSIVE else ExitCode[word.name]
