"""Who is logged in with a browser: a session stands for the bearer token that was pasted into the form.

The browser keeps a random name only, so that the token is in no cookie, which others at the same host name may get. The
tokens are in the operator's memory: of a bounded number of sessions, each for a working day at most.
"""

import secrets
import time
from collections.abc import Callable
from typing import Final

COOKIE: Final = "__Host-sshload-ui"
SESSION_KEEPS_S: Final = 8 * 3600.0
MOST_SESSIONS: Final = 200
_NAME_BYTES: Final = 32


class Sessions:
    """The sessions by their names. Where there are too many, the oldest one ends."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._known: dict[str, tuple[float, str]] = {}

    def begin(self, token: str) -> str:
        """Return the name of a new session with this token."""
        name = secrets.token_urlsafe(_NAME_BYTES)
        self._known[name] = (self._clock_s() + SESSION_KEEPS_S, token)
        if len(self._known) > MOST_SESSIONS:
            del self._known[next(iter(self._known))]
        return name

    def token(self, name: str) -> str:
        """Return the token of a session, "" where there is none, or none any more."""
        until_s, token = self._known.get(name, (0.0, ""))
        if token and self._clock_s() >= until_s:
            self.end(name)
            return ""
        return token

    def end(self, name: str) -> None:
        """End a session."""
        self._known.pop(name, None)
