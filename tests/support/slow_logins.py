"""An sshd whose logins take long, however fast the machine is: what depends on that does not depend on the machine."""


def slow_logins(seconds: float, user: str = "load") -> dict[str, str]:
    """Return the directives with which each login takes so long at least, for the user that sshd's target logs in."""
    return {"AuthorizedKeysCommand": f"/bin/sleep {seconds:g}", "AuthorizedKeysCommandUser": user}
