"""Authentication: what a login answers its server, how long each part of it took, and what the server said.

It has no connection. The client libraries tell it what happens, and it decides, in the same way for all of them. What a
server asks and says is hostile: how much of it is looked at is bounded.
"""

import re
from collections.abc import Sequence
from time import monotonic_ns
from typing import Final

from sshload_contract.client import Answer, Auth, Prompt, timing_of
from sshload_contract.shortened import printable, shortened
from sshload_contract.vocabulary import PROMPTS, Outcome, Timing

from sshload_worker.clients.rejections import method_of, rejection
from sshload_worker.login.login import Credentials
from sshload_worker.outcomes import StepFailure

KEYBOARD_INTERACTIVE: Final = "keyboard-interactive"
MOST_PROMPTS: Final = 16
"""How many prompts one request of a server may have."""

_MOST_REQUESTS = 32
_MOST_PROMPT_BYTES = 1_024
_MOST_WORDS_BYTES = 1_024
_SHOWN_CHARACTERS = 160
_HIDDEN = "***"
_PASSWORD_FIRST = Prompt(match="", answer=Answer.PASSWORD, text="")
_NEW_PASSWORD = re.compile(
    r"(?i)change your password|password expired|password has expired|new password|new unix password"
    r"|\(current\) unix password"
)
"""How PAM asks for a new password: pam_unix(8), and pam_get_authtok(3) for all other modules."""

_KNOWN_WORDS = (
    (_NEW_PASSWORD, Outcome.PASSWORD_EXPIRED),
    (re.compile(r"(?i)account has expired"), Outcome.ACCOUNT_EXPIRED),  # pam_unix(8)
    (re.compile(r"(?i)account is locked"), Outcome.ACCOUNT_LOCKED),  # pam_faillock(8)
    (re.compile(r"(?i)not permitted to log in"), Outcome.NO_LOGIN),  # systemd-user-sessions(8), for pam_nologin(8)
)

Part = tuple[Timing, int, int]
"""A part of an authentication: when it began, and when it ended; 0 if it failed."""


class Authentication:
    """One login's authentication by its credentials. `parts` are known only of a login that may have several."""

    __slots__ = (
        "_begun_ns",
        "_code_was_sent",
        "_prompts",
        "_requests",
        "_secrets",
        "_since_ns",
        "_words",
        "credentials",
        "parts",
    )

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.parts: list[Part] = []
        self._begun_ns = self._since_ns = monotonic_ns()
        self._requests = self._prompts = 0
        self._words: list[str] = []
        self._secrets = {credentials.password, " ".join(credentials.password.split())} - {""}
        self._code_was_sent: bool | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the login goes on by keyboard-interactive when the server has accepted its first method."""
        return bool(self.credentials.prompts) and self.credentials.auth is not Auth.KEYBOARD_INTERACTIVE

    def accepted(self, offered: Sequence[str]) -> None:
        """Go on after the server has accepted the first method; raises StepFailure if it does not ask for prompts."""
        if not self.goes_on or self.parts or KEYBOARD_INTERACTIVE not in offered:
            raise self.refused(offered, accepted=True)
        now_ns = monotonic_ns()
        self.parts.append((timing_of(self.credentials.auth), self._begun_ns, now_ns))
        self._begun_ns = self._since_ns = now_ns

    def answer(self, instruction: bytes, prompts: Sequence[bytes]) -> list[bytes]:
        """Return an answer to each prompt of a request; raises StepFailure if one is not to be answered."""
        self._requests += 1
        self.says(instruction)
        if self._requests > _MOST_REQUESTS:
            raise self._unexpected(f"the server asked more than {_MOST_REQUESTS} times in one login")
        if not prompts:
            return []
        if len(prompts) > MOST_PROMPTS:
            raise self.too_many_prompts(f"{len(prompts):,}")
        self._prompt_has_come()
        return [self._answer_to(prompt[:_MOST_PROMPT_BYTES].decode("utf-8", "replace")) for prompt in prompts]

    @staticmethod
    def too_many_prompts(count: str) -> StepFailure:
        """Return the failure of a login in which the server asks for too much at once."""
        return Authentication._unexpected(f"the server has {count} prompts at once, and {MOST_PROMPTS} are answered")

    @staticmethod
    def _unexpected(what: str) -> StepFailure:
        return StepFailure(Outcome.PROMPT_UNEXPECTED, f"{what}: nothing was sent")

    def says(self, text: bytes) -> None:
        """Take a text of the server: a banner, or the instruction of a request."""
        said = printable(" ".join(text[:_MOST_WORDS_BYTES].decode("utf-8", "replace").split()))
        if said and said not in self._words:
            self._words = [*self._words[-3:], said]

    def asked_for_new_password(self) -> StepFailure:
        """Return the failure of a login whose password has expired (RFC 4252 section 8)."""
        self.end(is_accepted=False)
        return StepFailure(Outcome.PASSWORD_EXPIRED, f"the server asks for a new password{self._said}")

    def end(self, *, is_accepted: bool) -> None:
        """End what goes on: the first method, or keyboard-interactive with its last part. Once is enough."""
        if not self._begun_ns:
            return
        end_ns = monotonic_ns() if is_accepted else 0
        if self._prompts or self._first_is_done or self.credentials.auth is Auth.KEYBOARD_INTERACTIVE:
            self.parts.append((Timing.AUTH_KEYBOARD_INTERACTIVE, self._begun_ns, end_ns))
            self.parts.append((Timing.AUTH_VERDICT, self._since_ns, end_ns))
        elif self.goes_on or self.credentials.auth is Auth.GSSAPI:
            self.parts.append((timing_of(self.credentials.auth), self._begun_ns, end_ns))
        self._begun_ns = 0

    def refused(self, offered: Sequence[str], *, accepted: bool = False) -> StepFailure:
        """Return the failure of a login that the server refused; the others are as in `rejection`."""
        self.end(is_accepted=accepted)
        offered = [self._hidden(name) for name in offered]
        method = KEYBOARD_INTERACTIVE if self._first_is_done else method_of(self.credentials.auth)
        known = self._by_words()
        if known is not None and not accepted:
            return StepFailure(known, f"the server refused {method}{self._said}")
        if self._code_was_sent is not None and not accepted:
            reused = self._reused()
            if reused is not None:
                return reused
        said = rejection(method, offered, accepted=accepted, first=self._first_method).message
        return StepFailure(Outcome.AUTH_REJECTED, said + self._said + self._on_codes(accepted=accepted))

    def failed(self, failure: StepFailure) -> StepFailure:
        """Return the failure of a login that ended without the server's verdict; what the server said may explain it.

        Where the server closed the connection after it had sent a text, that is how sshd refuses an account.
        """
        self.end(is_accepted=False)
        message = self._hidden(failure.message)
        if failure.outcome is not Outcome.DISCONNECTED or not self._words:
            return StepFailure(failure.outcome, message)
        return StepFailure(self._by_words() or Outcome.NO_LOGIN, f"{message}{self._said}")

    @property
    def _first_is_done(self) -> bool:
        return bool(self.parts) and self.parts[0][2] > 0 and self.goes_on

    @property
    def _first_method(self) -> str:
        return method_of(self.credentials.auth) if self._first_is_done else ""

    @property
    def _said(self) -> str:
        shown = shortened(self._hidden(" / ".join(self._words)), _SHOWN_CHARACTERS)
        return f"; it said: {shown}" if shown else ""

    def _by_words(self) -> Outcome | None:
        text = "\n".join(self._words)
        return next((outcome for pattern, outcome in _KNOWN_WORDS if pattern.search(text)), None)

    def _prompt_has_come(self) -> None:
        now_ns = monotonic_ns()
        if self._prompts < len(PROMPTS):
            self.parts.append((PROMPTS[self._prompts], self._since_ns, now_ns))
            self._since_ns = now_ns
        self._prompts += 1

    def _hidden(self, text: str) -> str:
        """Return a text of the server without what it was sent: a password or code that it echoes is still one."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text

    def _answer_to(self, prompt: str) -> bytes:
        shown = shortened(printable(self._hidden(prompt).strip()), _SHOWN_CHARACTERS)
        if _NEW_PASSWORD.search(prompt):
            self.says(prompt.encode())
            raise self.asked_for_new_password()
        found = self._match(prompt)
        if found is None:
            advice = "no entry of client.prompts matches it"
            raise self._unexpected(f'the server asks "{shown}", and {advice}')
        return self._given_for(found)

    def _match(self, prompt: str) -> Prompt | None:
        if not self.credentials.prompts:
            return _PASSWORD_FIRST if self._prompts == 1 else None
        from sshload_worker.expression import expression_of  # noqa: PLC0415 - RE2 takes 4 MB

        asked = prompt.encode()
        return next((one for one in self.credentials.prompts if expression_of(one.match).is_in(asked)), None)

    def _given_for(self, prompt: Prompt) -> bytes:
        second_factor = self.credentials.second_factor
        if prompt.answer is Answer.TOTP and second_factor is not None:
            code, was_sent = second_factor.take()
            self._code_was_sent = was_sent or bool(self._code_was_sent)
            self._secrets.add(code)
            return code.encode()
        return (prompt.text if prompt.answer is Answer.TEXT else self.credentials.password).encode()

    def _reused(self) -> StepFailure | None:
        second_factor = self.credentials.second_factor
        if second_factor is None:
            return None
        lasts = f"a code lasts {second_factor.settings.period_s:g} s and is taken once"
        if self._code_was_sent:
            text = f"the server refused a code that this worker had sent before as this user: {lasts}"
        elif second_factor.is_shared:
            text = f"the server refused a code that another worker may have sent before as this user: {lasts}"
        else:
            return None
        return StepFailure(Outcome.SECOND_FACTOR_REUSED, text + self._said)

    def _on_codes(self, *, accepted: bool) -> str:
        """Return what may be wrong with a code that was refused."""
        if self._code_was_sent is None or accepted:
            return ""
        return "; a code was sent: compare the TOTP secret, client.totp, and the clocks"
