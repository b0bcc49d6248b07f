"""The sshd_config(5) of a managed target, from the typed knobs and the author's extra directives."""

import re
from collections.abc import Iterator

from sshload_operator.api.sshd import TARGETS_DIRECTIVES, Sshd, settings

_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def sshd_config(sshd: Sshd, user: str = "load") -> str:
    """Return the text of sshd_config, without Port, PidFile and the places of keys, which the target adds.

    An extra directive replaces ours of the same name; it also stands first, because sshd takes the first value that
    it meets, which settles directives that have two names. Raises ValueError for a directive that is reserved, or that
    would break out of its line.
    """
    extra = {keyword.lower() for keyword in sshd.extra_config}
    lines = [_extra_line(keyword, value) for keyword, value in sorted(sshd.extra_config.items())]
    lines += [_line(keyword, value) for keyword, value in _directives(sshd, user) if keyword.lower() not in extra]
    return "".join(f"{line}\n" for line in lines)


def _directives(sshd: Sshd, user: str) -> Iterator[tuple[str, str]]:
    yield "AllowUsers", user
    yield "PubkeyAuthentication", "yes"
    yield "PasswordAuthentication", "no"
    yield "KbdInteractiveAuthentication", "no"
    yield "UsePAM", "no"
    yield "StrictModes", "yes"
    yield from settings(sshd)


def _extra_line(keyword: str, value: str) -> str:
    if _KEYWORD.fullmatch(keyword) is None:
        raise ValueError(f"{keyword!r} is not the name of an sshd_config directive")
    if keyword.lower() in TARGETS_DIRECTIVES:
        raise ValueError(f"the directive {keyword} belongs to the target and cannot be set")
    return _line(keyword, value)


def _line(keyword: str, value: str) -> str:
    if not value.strip():
        raise ValueError(f"the directive {keyword} has no value")
    if _CONTROL_CHARACTER.search(value):
        raise ValueError(f"the value of {keyword} holds a control character or a line break")
    return f"{keyword} {value}"
