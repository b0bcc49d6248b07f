"""The exit codes of the commands, and the messages of a command that cannot go on."""

import errno
import sys
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sshload_operator.api.inert_text import inert_output, printable

if TYPE_CHECKING:
    from sshload_contract.vocabulary import Verdict

    from sshload_operator.api.status.comparison import ComparisonVerdict


_NOT_THERE: Final = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class ExitCode(IntEnum):
    """A code for each verdict; ERROR is also the code of a test that could not be started.

    A comparison that is CONCLUSIVE has passed, whatever it found. USAGE is EX_USAGE of sysexits.h. INTERRUPTED and
    PIPE_CLOSED are a shell's codes for SIGINT and SIGPIPE.
    """

    PASSED = 0
    CONCLUSIVE = PASSED
    FAILED = 1
    INCONCLUSIVE = 2
    INVALID = 3
    ERROR = 4
    ABORTED = 5
    USAGE = 64
    INTERRUPTED = 130
    PIPE_CLOSED = 141


_WORST_FIRST: Final = (
    ExitCode.INTERRUPTED,
    ExitCode.FAILED,
    ExitCode.ERROR,
    ExitCode.INVALID,
    ExitCode.ABORTED,
    ExitCode.INCONCLUSIVE,
    ExitCode.PASSED,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code of several results, PASSED where there are none.

    FAILED comes first, because a broken threshold was measured. Then come results that could not be measured: first
    those that need a fix before another run, last those that only need more samples.
    """
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.PASSED)


def exit_code(verdict: "Verdict | ComparisonVerdict | None") -> ExitCode:
    """Return the code of a verdict. A finished object whose verdict this version does not know is an ERROR."""
    return ExitCode.ERROR if verdict is None else ExitCode[verdict.name]


def complain(text: str) -> None:
    """Print a problem, or a note, to standard error."""
    sys.stderr.write(inert_output(f"sshload: {printable(text)}\n"))


def failed(text: str) -> ExitCode:
    """Say why a command cannot go on, and return the code for that."""
    complain(text)
    return ExitCode.ERROR


def failed_on(path: Path, error: Exception) -> ExitCode:
    """Say why a command cannot go on with a file, and return the code for that."""
    if isinstance(error, OSError) and error.strerror:
        return failed(f"{error.filename or path}: {error.strerror}. {_advice(path, error)}")
    return failed(f"{path}: {error}")


def not_kept(path: Path, error: OSError) -> None:
    """Say why a file was not written. The result stays the same."""
    complain(f"{error.filename or path}: {error.strerror or error}. It was not written; the result stands")


def _advice(path: Path, error: OSError) -> str:
    is_that_file = str(error.filename or path) == str(path)
    if error.errno in _NOT_THERE or (is_that_file and error.errno in _FORBIDDEN):
        return "Give the path of a file that can be read"
    if error.errno in _FORBIDDEN:
        return "Give this user the right to it, or another path"
    return "Make room there" if error.errno in _FULL else "Try another place"
