"""What is measured, in words: whether sshd runs as root, and with PAM, who answers for accounts, the distribution."""

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SWITCH: Final = Path("/etc/nsswitch.conf")
_SERVICES: Final = re.compile(r"^\s*passwd:(.*)$", re.MULTILINE)
_SERVICE: Final = re.compile(r"[a-z][a-z0-9_]{0,30}")
_ANSWER_WITHIN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The facts of a TargetStats that do not change while sshd runs, by the names of its fields."""

    as_root: bool | None = None
    pam: bool | None = None
    accounts: str = ""
    distribution: str = ""


def read_facts(effective: str, user: str) -> ServerFacts:
    """Return the facts of an sshd whose configuration `effective` is (`sshd -T`), and that logs in `user`."""
    return ServerFacts(
        as_root=os.geteuid() == 0,
        pam="usepam yes" in effective.split("\n"),  # splitlines would find lines within a value
        accounts=_who_answers_for(user),
        distribution=_distribution(),
    )


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return ""


def _who_answers_for(user: str) -> str:
    """Return the first service of nsswitch.conf(5) that knows the user, empty if none says so."""
    try:
        stated = _SERVICES.search(_SWITCH.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    services = _SERVICE.findall(stated[1].partition("#")[0]) if stated is not None else ()
    return next((service for service in services if _knows(service, user)), "")


def _knows(service: str, user: str) -> bool:
    try:
        asked = subprocess.run(  # noqa: S603 - getent(1), and words of the machine's own file
            ["/usr/bin/getent", "-s", service, "passwd", "--", user],
            capture_output=True,
            check=False,
            timeout=_ANSWER_WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0
