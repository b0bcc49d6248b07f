"""An sshd whose logins take long, however fast the machine is: what depends on that does not depend on the machine."""

CLIENT = {"auth": "certificate"}
"""The spec's client for whom it does: a key that AuthorizedKeysFile has is let in before any command is asked."""


def slow_logins(seconds: float, user: str) -> dict[str, str]:
    """Return the directives with which each login of a user by a certificate takes so long at least."""
    command = f'/bin/sh -c "sleep {seconds:g}; echo {user}"'
    return {"AuthorizedPrincipalsCommand": command, "AuthorizedPrincipalsCommandUser": user}
