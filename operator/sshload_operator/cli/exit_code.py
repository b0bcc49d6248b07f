"""What the commands' exit codes mean, and what is said where a command cannot go on."""

import errno
import sys
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sshload_operator.cli.view.text import printable

if TYPE_CHECKING:
    from sshload_contract.vocabulary import Verdict

    from sshload_operator.api.status.comparison import ComparisonVerdict


_NOT_THERE: Final = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class ExitCode(IntEnum):
    """A code for each verdict; ERROR is also that of a test that could not be begun.

    A comparison that is CONCLUSIVE has passed, whatever it found. USAGE is sysexits.h's EX_USAGE, INTERRUPTED what a
    shell says of SIGINT, and PIPE_CLOSED what it says of SIGPIPE.
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

    A broken threshold was measured, so it comes before whatever could not be measured; of that comes first what has to
    be mended before it is run again, and last what more samples would settle.
    """
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.PASSED)


def exit_code(verdict: "Verdict | ComparisonVerdict | None") -> ExitCode:
    """Return the code of a verdict. A finished object whose verdict this version does not know is an ERROR."""
    return ExitCode.ERROR if verdict is None else ExitCode[verdict.name]


def complain(text: str) -> None:
    """Say on standard error what is wrong, or what should be known."""
    sys.stderr.write(f"sshload: {printable(text)}\n")


def failed(text: str) -> ExitCode:
    """Say why a command cannot go on, and return the code of that."""
    complain(text)
    return ExitCode.ERROR


def failed_on(path: Path, error: Exception) -> ExitCode:
    """Say why a command cannot go on with a file, and return the code of that."""
    if isinstance(error, OSError) and error.strerror:
        return failed(f"{error.filename or path}: {error.strerror}. {_advice(path, error)}")
    return failed(f"{path}: {error}")


def not_kept(path: Path, error: OSError) -> None:
    """Say why a file was not written, which changes nothing of a result."""
    complain(f"{error.filename or path}: {error.strerror or error}. It was not written; the result stands")


def _advice(path: Path, error: OSError) -> str:
    is_that_file = str(error.filename or path) == str(path)
    if error.errno in _NOT_THERE or (is_that_file and error.errno in _FORBIDDEN):
        return "Give the path of a file that can be read"
    if error.errno in _FORBIDDEN:
        return "Give this user the right to it, or another path"
    return "Make room there" if error.errno in _FULL else "Try another place"
