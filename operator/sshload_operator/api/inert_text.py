"""Text of servers, pods and specs, so that nothing that shows it acts on it: terminals, Markdown and its sites, CI."""

import re
from collections.abc import Iterable
from typing import Final

_NO_SPACE: Final = "&#8203;"
"""A zero-width space. It splits what a site would turn into a mention or a link, which it also does in escaped text."""
_PARTED: Final = re.compile(r"@|#(?=\d)|!(?=\d)|\bGH(?=-\d)|:(?=//)|w(?=ww\.)|(?<=mailto):|(?<=xmpp):", re.IGNORECASE)
_MARKED: Final = re.compile(r"[\\`*_\[\]{}<>|#&~!]")
_OBEYED_BY_CI: Final = re.compile(r"^[^\S\n]*:(?=:)|#(?=#[a-z]*\[)", re.IGNORECASE | re.MULTILINE)
_BEGINS_A_BLOCK: Final = re.compile(r"[-+=/:]|\d+[.)]")


def printable(text: str) -> str:
    """Return `text` in one line and without control characters, so that no server can control the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def parted(text: str, by: str = "\u200b") -> str:
    """Return text with a zero-width space in each beginning of a mention or a link."""
    return _PARTED.sub(rf"\g<0>{by}", text)


def inert_markdown(text: str) -> str:
    """Return text in one line that Markdown shows unchanged, and that mentions nobody and links nowhere."""
    return _MARKED.sub(r"\\\g<0>", parted(printable(text), "\x00")).replace("$", "&#36;").replace("\x00", _NO_SPACE)


def inert_paragraph(text: str) -> str:
    """Return text as `inert_markdown`, for the beginning of a line: no list, no heading, no command (`/close`)."""
    inert = inert_markdown(text).lstrip()
    return f"{_NO_SPACE}{inert}" if _BEGINS_A_BLOCK.match(inert) else inert


def inert_table(head: Iterable[str], rule: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown; `rule` has for each column `---`, or `--:` for numbers."""
    lines = (map(inert_markdown, head), rule, *(map(inert_markdown, row) for row in rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def inert_output(text: str) -> str:
    """Return lines with a space within what a CI system would take out of a job's output and obey.

    GitHub obeys `::add-mask::` after the blanks at the beginning of a line, also of one that was wrapped, and
    `##[add-mask]` anywhere. Azure Pipelines and TeamCity have the like.
    """
    return _OBEYED_BY_CI.sub(r"\g<0> ", text)
