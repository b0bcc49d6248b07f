"""How the workers use a target: they log in by SSH, or they send requests to what logs in for them."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from sshload_contract.vocabulary import Outcome

from sshload_operator.state import Reason

MADE_BY_THE_RUN: Final = "the run, which sshload made: somebody has changed it"
"""Whose credentials are wrong where the author of a test names none."""


class Meaning(NamedTuple):
    """What the outcome of a first login or request means, and what to change."""

    reason: Reason
    words: str
    advice: str


class Access:
    """By SSH. What the workers do is a login: it is measured, and what sshd counts are these logins."""

    speaks_ssh: ClassVar[bool] = True
    does: ClassVar[str] = "log in"
    takes: ClassVar[str] = "logins"

    def meanings(self, server: str, field: str) -> Mapping[Outcome, Meaning]:
        """Return what outcomes mean that are other ones, or mean something else, than those of a login by SSH.

        `server` is the server in words, `field` its path in the spec.
        """
        del server, field
        return {}

    def advice_on_made(self, outcome: Outcome | None) -> str:
        """Return what to change if the run itself made the server that has this outcome."""
        if outcome is Outcome.KEX_FAILED:
            return "Give spec.target.managed.sshd an algorithm that the client has, or set another spec.client.library"
        if outcome is Outcome.KEY_REVOKED:
            return "Set spec.loginBeforeLoad to false to measure how revoked keys are refused"
        if outcome is Outcome.TOO_MANY_AUTH_FAILURES:
            return (
                "Give spec.target.managed.sshd.maxAuthTries more than spec.client.extraKeys (sshd's own is 6), or set"
                " spec.loginBeforeLoad to false to measure how it refuses"
            )
        return "The run made this server: check whether spec.target.managed keeps its user from logging in"

    def all_refused(self, count: int, said: str, fields: Sequence[str]) -> str:
        """Return in a sentence that all credentials were refused; `fields` name their Secrets, if the author made them.

        `said` is what a server said of it, in parentheses.
        """
        return (
            f"every one of the {count} logins was refused for its credentials{said}. "
            f"Check the user and the Secret of {' or '.join(fields) or MADE_BY_THE_RUN}"
        )


SSH: Final = Access()
