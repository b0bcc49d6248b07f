"""Whether a limit that a server has for one user has bound the load, by outcomes and by what the server said."""

from collections.abc import Iterator
from typing import Final

from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import RunSummary

_TOO_MANY: Final = "too many logins"
"""Of pam_limits(8), in the session that it refuses: There were too many logins for 'load'."""
_NO_SESSION: Final = "exit code 254"
"""sshd itself exits so where PAM opens no session (do_child in session.c), and says why only in its log."""


def bound_by_one_user(summary: RunSummary) -> Iterator[str]:
    """Yield in a sentence which limit of a user ended sessions, and what to do if all of them were of one user."""
    errors = [error for error in summary.trial.errors if error.window is Window.MEASURED]
    refused = sum(error.count for error in errors if _TOO_MANY in error.first_message.lower())
    ended = sum(error.count for error in errors if _is_without_session(error))
    users = summary.trial.users
    alone = "" if users is not None else ". All logins are of one user: client.users spreads them over many"
    if refused:
        yield (
            f"A limit for each user bound the load: {refused:,} sessions ended because pam_limits allows a user no more"
            f" logins at once (maxlogins){alone}"
        )
    elif ended:
        yield (
            f"A limit for each user may have bound the load: {ended:,} commands ended in exit code 254, which is sshd's"
            f" own where PAM opens no session (maxlogins); its log says why{alone}"
        )


def _is_without_session(error: ErrorCount) -> bool:
    return error.outcome is Outcome.EXIT_CODE and error.first_message.startswith(_NO_SESSION)
